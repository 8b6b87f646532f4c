# Locks against the machine's own index: the committed locks come out again, for another user in another folder and locale
# with a uv that is fetched; uv and pip take the exported pylock.toml; how long locking takes beside uv. Sourced by
# tests/real/run. Needs the network, uv and a Python with a pip that reads pylock.toml.

lock_targets="amd64-cu126 amd64-cu130 arm64-cu130"

locks_again() {
    local work=$1 bundler=$2 target
    cp -r recipes "$work/recipes"
    # shellcheck disable=SC2086
    (cd "$work" && "$bundler" lock --recipe registry $lock_targets --no-progress) || return 1
    for target in $lock_targets; do
        cmp "recipes/registry.$target.lock.toml" "$work/recipes/registry.$target.lock.toml" || return 1
    done
}

# Nothing of the first run is known to the second: no lock to keep pins of, no cache, no uv on PATH, another user.
locks_elsewhere() {
    local work=$1 bundler=$2 other target
    other=$work/"it's ü"
    mkdir -p "$other"
    cp "$bundler" "$other/bundler"
    cp -r recipes "$other/recipes"
    chmod 755 "$work"
    chown -R 61234:61234 "$other"
    # shellcheck disable=SC2086,SC2016
    setpriv --reuid 61234 --regid 61234 --clear-groups env -u UV HOME="$other" LC_ALL=tr_TR.UTF-8 TZ=Asia/Kathmandu \
        PATH=/usr/bin:/bin bash -euc 'umask 077; cd "$1"; shift; ./bundler lock --recipe registry "$@" --no-progress' \
        bash "$other" $lock_targets || return 1
    ls "$other"/.cache/pointcept-bundler/tools/uv-* || return 1
    for target in $lock_targets; do
        # The version of uv is told in a lock; the one that is fetched may be another than the machine's.
        diff <(grep -v '^uv = ' "recipes/registry.$target.lock.toml") \
            <(grep -v '^uv = ' "$other/recipes/registry.$target.lock.toml") || return 1
    done
}

exports() {
    (cd "$1" && "$2" lock --recipe numpy amd64-cu130 --export pylock --no-progress) &&
        cmp recipes/numpy.amd64-cu130.lock.toml "$1/recipes/numpy.amd64-cu130.lock.toml"
}

# Two environments on the interpreter of a bundle made here.
python_for_both() {
    (cd "$1" && "$2" make amd64-cu130 --recipe numpy --interpreter maven --bytecode none -q --no-progress) &&
        tar -C "$1" --zstd -xf "$1/pointcept-runtime-amd64-cu130.tar.zst" || return 1
    local name
    for name in venv pip; do
        uv venv --quiet --seed --python "$1/runtime/python/bin/python3" "$1/$name" || return 1
    done
}

uv_takes_it() {
    uv pip sync --preview-features pylock --python "$1/venv/bin/python" "$1/recipes/pylock.amd64-cu130.toml" &&
        "$1/venv/bin/python" -c 'import numpy; assert numpy.__version__ == "2.3.1"'
}

pip_takes_it() {
    "$1/pip/bin/pip" install --quiet --upgrade pip &&
        "$1/pip/bin/pip" install --requirement "$1/recipes/pylock.amd64-cu130.toml" &&
        "$1/pip/bin/python" -c 'import numpy; assert numpy.__version__ == "2.3.1"'
}

# The same question to uv alone and to us, one after the other, everything warm; prints the median of the ratios.
lock_beside_uv() {
    python3 - "$1" "$2" <<'PY'
import pathlib, shutil, statistics, subprocess, sys, time, tomllib
work, bundler = pathlib.Path(sys.argv[1]), sys.argv[2]
recipe = tomllib.loads((work / "recipes/registry.toml").read_text())
target = recipe["target"]["amd64-cu130"]
groups = recipe["packages"] + target.get("packages", [])
lines = [r.replace("{accel}", "cu130").replace("{torch}", target["torch"]) for g in groups for r in g["require"]]
(work / "wanted.in").write_text("\n".join(lines) + "\n")
python = subprocess.run(["uv", "python", "find"], capture_output=True, text=True).stdout.strip()
uv = ["uv", "pip", "compile", "wanted.in", "--no-config", "-q", "--only-binary", ":all:", "--format", "pylock.toml",
      "--python-platform", "x86_64-manylinux_2_28", "--python-version", recipe["python"], "-o", "pylock.uv.toml"]
uv += ["--python", python] if python else []
ours = [bundler, "lock", "--recipe", "registry", "amd64-cu130", "--no-progress", "-q"]
def timed(command):
    began = time.monotonic()
    subprocess.run(command, cwd=work, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began
for command in (uv, ours):
    timed(command)
pairs = [(timed(ours), timed(uv)) for _ in range(5)]
for a, b in pairs:
    print(f"bundler lock {a:.2f} s, uv pip compile {b:.2f} s")
ratio = statistics.median(a / b for a, b in pairs)
print(f"median of the ratios: {ratio:.2f}")
sys.exit(ratio > 1.3)
PY
}

lock_work=$(mktemp -d "${REAL_TMP:-/var/tmp}/bundler-lock.XXXXXX")
lock_bundler=$(command -v "${BUNDLER:-$PWD/target/release/bundler}")
check "the committed locks of registry are what locking gives now" locks_again "$lock_work" "$lock_bundler"
check "another user elsewhere, with a uv that is fetched, gets the same locks" locks_elsewhere "$lock_work" "$lock_bundler"
lock_times=$(lock_beside_uv "$lock_work" "$lock_bundler") && lock_status=0 || lock_status=1
echo "$lock_times"
check "a warm lock takes at most 1.3 times what uv takes" [ "$lock_status" = 0 ]
check "the committed lock of numpy is what locking gives now" exports "$lock_work" "$lock_bundler"
check "a bundle of numpy gives a Python 3.12 to install with" python_for_both "$lock_work" "$lock_bundler"
check "uv installs from the exported pylock.toml" uv_takes_it "$lock_work"
check "pip installs from the exported pylock.toml" pip_takes_it "$lock_work"
rm -rf "$lock_work"
