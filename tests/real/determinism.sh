# Two makes of one lock are byte-identical: other user, umask, time zone, locale, home, folders, thread count, cold and
# warm cache. Sourced after tests/lib.sh: `identical TARGET RECIPE WHEELS` takes the artifacts from a mirror folder.

identical() {
    local target=$1 recipe=$2 wheels=$3 work bundler=$PWD/target/release/bundler file
    file=pointcept-runtime-$target.tar.zst
    work=$(mktemp -d "${REAL_TMP:-/var/tmp}/bundler-identical.XXXXXX")
    chmod 755 "$work"
    mkdir -p "$work/one" "$work/a b/it's ü" "$work/cache" "$work/other"
    # Another user may read neither this checkout nor the mirror; it gets its own.
    cp "$bundler" "$work/bundler"
    cp -r recipes bundle-layout examples "$work/other/"
    cp -rl "$wheels" "$work/wheels" 2>/dev/null || cp -r "$wheels" "$work/wheels"
    chmod -R a+rX "$work/wheels"
    chown -R 61234:61234 "$work/a b" "$work/other"
    check "makes $target with two threads and a cold cache" \
        "$bundler" make "$target" --recipe "$recipe" --interpreter maven --locked --offline --mirror "$work/wheels" \
        --cache-dir "$work/cache" -j2 -q --no-progress -o "$work/one"
    (cd "$work/one" && sha256sum "$file"* >"$work/first.sums")
    rm -f "$work/one/$file"*
    check "makes it again with one thread and a warm cache" env TZ=Pacific/Auckland LC_ALL=C.UTF-8 \
        "$bundler" make "$target" --recipe "$recipe" --interpreter maven --locked --offline --mirror "$work/wheels" \
        --cache-dir "$work/cache" -j1 -q --no-progress -o "$work/one"
    check "it is the same bundle, byte for byte, and so is every file beside it" \
        sh -c 'cd "$1" && sha256sum -c --quiet "$2"' sh "$work/one" "$work/first.sums"
    rm -rf "$work/one" "$work/cache"
    # shellcheck disable=SC2016
    check "another user makes it elsewhere with one thread, a cold cache and no network at all" unshare -n setpriv --reuid 61234 --regid 61234 --clear-groups \
        env -i TZ=Asia/Kathmandu LC_ALL=tr_TR.UTF-8 PATH="$PATH" HOME=/nonexistent bash -euc '
            umask 077; cd "$1/other"
            "$1/bundler" make "$2" --recipe "$3" --interpreter maven --locked --offline --mirror "$1/wheels" \
                --cache-dir "$1/a b/cache" -j1 -q --no-progress -o "$1/a b/it'"'"'s ü"' bash "$work" "$target" "$recipe"
    check "it is the same bundle again" \
        sh -c 'cd "$1" && sha256sum -c --quiet "$2"' sh "$work/a b/it's ü" "$work/first.sums"
    rm -rf "$work"
}
