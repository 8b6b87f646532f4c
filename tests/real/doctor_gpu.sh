#!/usr/bin/env bash
# On a machine with a GPU: what the doctor says of it, as JSON, with the program given (the static one by default).
#   tests/real/doctor_gpu.sh [PROGRAM] [BUNDLE|INDEX|FOLDER]…
# A folder of an unpacked bundle is asked with --deep too. Exit status: 0 if every run gave an answer.
set -u
cd "$(dirname "$0")/../.." || exit 2
program=${1:-dist/out/bundler-$(uname -m)-linux-musl}
[ $# -gt 0 ] && shift
status=0
say() {
    echo "== $*" >&2
    "$@" --output-format json
    local code=$?
    echo "== exit status $code" >&2
    [ "$code" -le 1 ] || status=1
}
say "$program" doctor
for bundle in "$@"; do
    say "$program" doctor "$bundle"
    if [ -d "$bundle" ]; then
        say "$program" doctor --deep "$bundle"
    fi
done
python3 tests/real/record_host.py "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)" "recorded host" >&2 || status=1
exit $status
