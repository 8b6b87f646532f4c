# Go (klauspost/compress), Node 22 and 24 (built in), Python's zstandard, bsdtar and busybox read the same bytes from a
# bundle, as a whole and streamed. Fetches the first three from their registries. Sourced after tests/lib.sh:
# decoders [BUNDLE]; without one, a made-up bundle comes from the offline suite.

same() { # same TEXT command…: the command prints TEXT
    local text=$1 got
    shift
    got=$("$@")
    [ "$got" = "$text" ] || { echo "expected $text, got $got"; return 1; }
}
fails() { ! "$@"; }
decoders() {
    local bundle work want entries version node dir n
    work=$(mktemp -d "${REAL_TMP:-/var/tmp}/bundler-decoders.XXXXXX")
    if [ $# -gt 0 ]; then
        bundle=$(realpath "$1")
    else
        bundle=$work/made.tar.zst
        COPY_OF_SYNTHETIC_BUNDLE=$bundle cargo test --release --quiet --test it -- \
            --exact decoders::zstd_program_reads_the_same_bytes_from_file_and_pipe >/dev/null
    fi
    want=$(zstd -dcq "$bundle" | sha256sum | cut -d' ' -f1)
    entries=$(zstd -dcq "$bundle" | tar -t | wc -l)
    echo "$(basename "$bundle"): $entries entries, tar $want"
    check "bsdtar lists the same entries" same "$entries" sh -c 'bsdtar -tf "$1" | wc -l' sh "$bundle"
    check "busybox tar lists the same entries from a pipe" same "$entries" sh -c 'zstd -dcq "$1" | busybox tar -t | wc -l' sh "$bundle"
    local small=97 piece=1000
    if [ "$(stat -c %s "$bundle")" -gt 500000000 ]; then
        small=65537 piece=20000 # gigabytes in reads of 97 bytes take an hour
    fi
    head -c $(($(stat -c %s "$bundle") / 2)) "$bundle" >"$work/half.zst"

    if command -v go >/dev/null; then
        mkdir "$work/go"
        cp tests/decoders/main.go "$work/go/"
        (
            cd "$work/go"
            go mod init decoders
            go get github.com/klauspost/compress@latest
            go build -o "$work/go-decoder" .
        ) >"$work/go.log" 2>&1 || cat "$work/go.log"
        for n in 1048576 4096 $small; do
            check "Go reads the same in reads of $n bytes" same "$want $entries 0" "$work/go-decoder" "$bundle" "$n"
        done
        check "Go tells half a bundle" fails "$work/go-decoder" "$work/half.zst" 4096
    else
        skip "Go" go
    fi

    if command -v npm >/dev/null; then
        for version in 22 24; do
            dir="$work/node$version"
            mkdir "$dir"
            npm --prefix "$dir" install --silent --no-fund --no-audit "node@$version" >"$dir.log" 2>&1 || cat "$dir.log"
            node="$dir/node_modules/node/bin/node"
            check "Node $version is there: $("$node" --version || true)" "$node" --version
            if [ "$(stat -c %s "$bundle")" -lt 500000000 ]; then
                check "Node $version reads the same as a whole" same "$want" "$node" tests/decoders/read.mjs "$bundle" sync
            fi
            for n in 1048576 65536 $piece; do
                check "Node $version reads the same in pieces of $n bytes" same "$want" "$node" tests/decoders/read.mjs "$bundle" "$n"
            done
            if [ "$version" != 22 ]; then
                check "Node $version tells half a bundle" fails "$node" tests/decoders/read.mjs "$work/half.zst" 65536
            elif "$node" tests/decoders/read.mjs "$work/half.zst" 65536 >/dev/null 2>&1; then
                # Known of this version: its stream ends without an error. `.complete` is what refuses such a tree.
                echo "note    Node 22 takes half a bundle for a whole one"
            fi
        done
    else
        skip "Node" npm
    fi

    if python3 -m venv "$work/venv" && "$work/venv/bin/pip" install --quiet zstandard; then
        cat >"$work/read.py" <<'PY'
import hashlib, sys, tarfile, zstandard
class Tee:
    def __init__(self, source, size):
        self.source, self.size, self.hash = source, size, hashlib.sha256()
    def read(self, size=-1):
        got = self.source.read(self.size if size < 0 else min(size, self.size))
        self.hash.update(got)
        return got
path, size = sys.argv[1], int(sys.argv[2])
with open(path, "rb") as file:
    tee = Tee(zstandard.ZstdDecompressor().stream_reader(file, read_size=size), size)
    with tarfile.open(fileobj=tee, mode="r|", bufsize=512) as tar:
        count = sum(1 for member in tar)
    while tee.read():
        pass
print(tee.hash.hexdigest(), count)
PY
        for n in 1048576 $((small * 8 + 1)); do
            check "Python reads the same in reads of $n bytes" same "$want $entries" "$work/venv/bin/python" "$work/read.py" "$bundle" "$n"
        done
        check "Python tells half a bundle" fails "$work/venv/bin/python" "$work/read.py" "$work/half.zst" 4096
    else
        skip "Python" "the zstandard distribution"
    fi
    rm -rf "$work"
}
