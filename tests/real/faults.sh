# Faults end to end, with the real program and the numpy recipe: full disks, read-only places, an unknown user, damaged
# caches, and kill -9 at random moments with two makes and a prune at work. Sourced after tests/lib.sh; as root (mounts).

faults_target=amd64-cu130
faults_file=pointcept-runtime-$faults_target.tar.zst

# faults_make CACHE OUT [option…]: one offline make from the mirror.
faults_make() {
    local cache=$1 out=$2
    shift 2
    "$faults/bundler" make "$faults_target" --recipe "$faults/recipes/numpy.toml" --interpreter maven --locked --offline \
        --mirror "$faults/mirror" --cache-dir "$cache" -o "$out" -q --no-progress "$@"
}

# same_bundle OUT: the bundle there is the reference, and nothing half-made lies beside it.
same_bundle() {
    (cd "$1" && sha256sum -c --quiet "$faults/reference.sums") && [ "$(find "$1" -mindepth 1 | wc -l)" = "$faults_files" ]
}

# says WORDS command…: it fails, in at most 6 lines, which hold WORDS; no panic, no half-made bundle in $faults/out.
says() {
    local words=$1 text status=0
    shift
    text=$("$@" 2>&1) || status=$?
    echo "exit $status: $text"
    [ "$status" != 0 ] && [ "$status" -lt 128 ] && grep -qi -- "$words" <<<"$text" && [ "$(wc -l <<<"$text")" -le 6 ] &&
        ! grep -q 'panicked' <<<"$text" && [ ! -e "$faults/out/$faults_file" ]
}

# on_tmpfs SIZE FOLDER command…: with a small file system of its own there.
on_tmpfs() {
    local size=$1 folder=$2 status=0
    shift 2
    mkdir -p "$folder"
    mount -t tmpfs -o "size=$size,mode=1777" tmpfs "$folder" || return 1
    "$@" || status=$?
    umount "$folder"
    return "$status"
}

as_nobody() { setpriv --reuid 61234 --regid 61234 --clear-groups env -i PATH="$PATH" "$@"; }

# Two makes into one cache and a prune; all three are killed after a random part of what a make takes.
killed_once() {
    local cache=$1 moment=$2 pids=""
    faults_make "$cache" "$faults/k1" & pids="$pids $!"
    faults_make "$cache" "$faults/k2" --bytecode unchecked-hash & pids="$pids $!"
    "$faults/bundler" cache prune --cache-dir "$cache" -q & pids="$pids $!"
    sleep "$moment"
    # shellcheck disable=SC2086
    pkill -KILL -P $$ -f "^$faults/bundler" || true
    # shellcheck disable=SC2086
    wait $pids 2>/dev/null
    return 0
}

kills() {
    local rounds=$1 round moment cache=$faults/kcache
    mkdir -p "$faults/k1" "$faults/k2"
    for round in $(seq "$rounds"); do
        [ $((round % 10)) = 1 ] && rm -rf "$cache" # begins from nothing now and then
        moment=$(python3 -c 'import random, sys; random.seed(int(sys.argv[1])); print(f"{random.uniform(0, 1.2) * float(sys.argv[2]):.3f}")' "$round" "$faults_seconds")
        killed_once "$cache" "$moment" >/dev/null 2>&1
        for folder in k1 k2; do
            [ ! -e "$faults/$folder/$faults_file" ] || (cd "$faults/$folder" && sha256sum --quiet -c "$faults/reference.sums") || {
                echo "round $round: a wrong bundle in $folder after $moment s"
                return 1
            }
        done
    done
    rm -rf "$faults/k1" "$faults/k2"
    faults_make "$cache" "$faults/k1" && same_bundle "$faults/k1" && "$faults/bundler" cache verify --cache-dir "$cache"
}

faults() {
    local began ended blob
    faults=$(mktemp -d "${REAL_TMP:-/var/tmp}/bundler-faults.XXXXXX")
    chmod 755 "$faults"
    cp target/release/bundler "$faults/bundler"
    cp -r recipes bundle-layout examples "$faults/"
    check "writes a mirror of the numpy recipe" "$faults/bundler" fetch "$faults_target" --recipe "$faults/recipes/numpy.toml" \
        --interpreter maven -q --no-progress --cache-dir "$faults/fetched" --mirror "$faults/mirror"
    rm -rf "$faults/fetched"
    began=$(date +%s.%N)
    check "makes the reference" faults_make "$faults/cache" "$faults/ref"
    ended=$(date +%s.%N)
    faults_seconds=$(python3 -c 'import sys; print(float(sys.argv[2]) - float(sys.argv[1]))' "$began" "$ended")
    (cd "$faults/ref" && sha256sum ./* >"$faults/reference.sums")
    faults_files=$(find "$faults/ref" -mindepth 1 | wc -l)
    mkdir -p "$faults/out"

    check "a full cache disk is told" says "space" on_tmpfs 12m "$faults/small" faults_make "$faults/small/cache" "$faults/out"
    check "a full output disk is told" says "space" on_tmpfs 8m "$faults/small" faults_make "$faults/cache" "$faults/small/out"
    check "an output that cannot be written is told" says "denied\|writ" as_nobody HOME=/nonexistent "$faults/bundler" make \
        "$faults_target" --recipe "$faults/recipes/numpy.toml" --interpreter maven --locked --offline --mirror "$faults/mirror" \
        --cache-dir /tmp/bundler-faults-cache-$$ -o /root/nowhere -q --no-progress
    check "a cache that cannot be written is told" says "cache" as_nobody HOME=/nonexistent "$faults/bundler" make \
        "$faults_target" --recipe "$faults/recipes/numpy.toml" --interpreter maven --locked --offline --mirror "$faults/mirror" \
        --cache-dir /root/nowhere -o "/tmp/bundler-faults-out-$$" -q --no-progress
    check "no home and no cache folder named: told, with the way out" says "cache-dir" as_nobody "$faults/bundler" make \
        "$faults_target" --recipe "$faults/recipes/numpy.toml" --interpreter maven --locked --offline --mirror "$faults/mirror" \
        -o "/tmp/bundler-faults-out-$$" -q --no-progress
    rm -rf "/tmp/bundler-faults-cache-$$" "/tmp/bundler-faults-out-$$"

    blob=$(find "$faults/cache/components" -name segments -size +100k | head -n 1)
    check "a damaged component is there" test -n "$blob"
    printf 'x' | dd of="$blob" bs=1 seek=50000 conv=notrunc 2>/dev/null
    faults_make "$faults/cache" "$faults/after" >/dev/null 2>&1 || true
    check "after a damaged component the next run gives the right bundle" faults_again "$faults/after"
    cp "$faults/mirror/"numpy*.whl "$faults/kept.whl"
    printf 'x' | dd of="$(ls "$faults/mirror/"numpy*.whl)" bs=1 seek=90000 conv=notrunc 2>/dev/null
    check "a damaged artifact of a mirror is told" says "sha256" faults_make "$faults/cache2" "$faults/out"
    mv "$faults/kept.whl" "$(ls "$faults/mirror/"numpy*.whl)"
    check "and with the right one it finishes" faults_again "$faults/out2" "$faults/cache2"
    check "${FAULT_KILLS:-200} kills of two makes and a prune leave nothing wrong" kills "${FAULT_KILLS:-200}"
    rm -rf "$faults"
}

faults_again() { faults_make "${2:-$faults/cache}" "$1" && same_bundle "$1"; }
