# The bundle's tree equals that of `uv pip install --target` for the same lock. Sourced after tests/lib.sh:
# uv_tree TARGET RECIPE BUNDLE.

uv_tree() {
    local target=$1 recipe=$2 bundle=$3 lock work machine
    lock="recipes/$recipe.$target.lock.toml"
    machine=x86_64
    case $target in arm64-*) machine=aarch64 ;; esac
    work=$(mktemp -d "${REAL_TMP:-/var/tmp}/bundler-uv.XXXXXX")
    python3 tests/real/lock_requirements.py "$lock" >"$work/requirements.txt"
    check "uv installs the lock of $target" env UV_PYTHON_DOWNLOADS=never UV_CACHE_DIR="$work/cache" \
        uv pip install --quiet --no-config --no-deps --require-hashes --only-binary :all: --link-mode hardlink \
        --python-version "$(sed -n 's/^python = "\(.*\)"/\1/p' "$lock")" --python-platform "$machine-manylinux_2_28" \
        --target "$work/target" -r "$work/requirements.txt"
    tar --zstd -xf "$bundle" -C "$work"
    check "the tree of $target equals uv's but for the listed differences" \
        python3 tests/real/compare_trees.py "$lock" "$work/runtime" "$work/target"
    python3 tests/real/compare_trees.py "$lock" "$work/runtime" "$work/target" || true
    check "no ELF file of another machine is in $target" no_foreign_elf "$work/runtime" "$machine"
    rm -rf "$work"
}

# Every ELF file's e_machine is that of the target (CUDA device code has its own, 190).
no_foreign_elf() {
    python3 - "$1" "$2" <<'PYTHON'
import os, struct, sys
wanted = {"x86_64": 62, "aarch64": 183}[sys.argv[2]]
seen = wrong = 0
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        path = os.path.join(folder, name)
        if os.path.islink(path):
            continue
        with open(path, "rb") as file:
            head = file.read(20)
        if head[:4] == b"\x7fELF":
            seen += 1
            machine = struct.unpack_from("<H", head, 18)[0]
            if machine not in (wanted, 190):
                wrong += 1
                print(path, machine)
print(seen, "ELF files")
raise SystemExit(wrong > 0 or seen == 0)
PYTHON
}
