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
rm -rf "$small_out"
