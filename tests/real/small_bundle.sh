# One small real bundle: numpy on the Maven interpreter, made, moved and used. Sourced by tests/run.

. tests/real/relocate.sh

small_out=$(mktemp -d "${REAL_TMP:-/var/tmp}/bundler-small.XXXXXX")
cargo build --release --quiet
bundler=$PWD/target/release/bundler
check "makes a real bundle of numpy" "$bundler" make amd64-cu130 --recipe numpy --interpreter maven -o "$small_out"
if [ -s "$small_out/pointcept-runtime-amd64-cu130.tar.zst" ]; then
    check "its sha256 is the one beside it" sh -c "cd '$small_out' && sha256sum -c *.sha256"
    check "inspect reads it" "$bundler" inspect "$small_out/pointcept-runtime-amd64-cu130.tar.zst"
    relocate "$small_out/pointcept-runtime-amd64-cu130.tar.zst" numpy numpy.linalg ssl sqlite3 ctypes
fi

# A tree that can be written to, without bytecode, started without env.sh: nothing may be written into it.
bare_start() {
    "$bundler" make amd64-cu130 --recipe numpy --interpreter maven --bytecode none -q -o "$small_out/bare" &&
        tar --zstd -xf "$small_out/bare/pointcept-runtime-amd64-cu130.tar.zst" -C "$small_out/bare" || return 1
    local tree=$small_out/bare/runtime before
    before=$(tree_state "$tree")
    (cd / && env -i "$tree/python/bin/python3" -c 'import ssl, json, numpy') &&
        (cd / && env -i LC_ALL=C "$tree/python/bin/python3" -c 'import numpy.linalg') &&
        test "$before" = "$(tree_state "$tree")"
}
check "without bytecode, a start of python3 itself writes nothing into its tree" bare_start
rm -rf "$small_out"
