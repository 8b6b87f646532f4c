# Locks the numpy recipe against the machine's own index and has uv and pip take the exported pylock.toml; sourced by
# tests/real/run. Needs the network, uv and a Python with a pip that reads pylock.toml.

lock_and_export() {
    local work=$1 bundler=$2
    cp -r recipes "$work/recipes" &&
        (cd "$work" && "$bundler" lock --recipe numpy amd64-cu130 --export pylock) &&
        cmp recipes/numpy.amd64-cu130.lock.toml "$work/recipes/numpy.amd64-cu130.lock.toml"
}

uv_takes_it() {
    uv pip sync --preview-features pylock --dry-run --python "$1/venv/bin/python" "$1/recipes/pylock.amd64-cu130.toml" 2>&1 |
        grep -q 'numpy==2.3.1'
}

pip_takes_it() {
    "$1/venv/bin/pip" install --quiet --upgrade pip &&
        "$1/venv/bin/pip" install --dry-run --requirement "$1/recipes/pylock.amd64-cu130.toml" | grep -q 'Would install .*numpy-2.3.1'
}

lock_work=$(mktemp -d)
check "the committed lock of numpy is what locking gives now" lock_and_export "$lock_work" "$(command -v "${BUNDLER:-$PWD/target/release/bundler}")"
if uv venv --quiet --seed --python 3.12 "$lock_work/venv" 2>/dev/null; then
    check "uv takes the exported pylock.toml" uv_takes_it "$lock_work"
    check "pip takes the exported pylock.toml" pip_takes_it "$lock_work"
else
    skip "uv and pip take the exported pylock.toml" "a Python 3.12"
fi
rm -rf "$lock_work"
