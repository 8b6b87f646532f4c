# Shared by tests/run, tests/real/* and .ci/run: tools, counting, the last line. Sourced by bash.

passed=0
failed=0
skipped=0

# check "sentence" command…: runs the command, counts it, shows its output only when it fails.
check() {
    local name=$1 log
    shift
    log=$(mktemp)
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $name"
    else
        failed=$((failed + 1))
        echo "FAILED  $name"
        sed 's/^/        /' "$log" | tail -n 40
    fi
    rm -f "$log"
}

# skip "sentence" "what is missing": says so and counts it; never a pass.
skip() {
    skipped=$((skipped + 1))
    echo "skipped $1: $2 is missing"
}

# install_packages NAME…: Debian packages that are not there yet. As root they are installed; else what is missing is
# printed.
install_packages() {
    local missing="" package
    for package in "$@"; do
        dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
    else
        echo "missing packages:$missing"
    fi
}

# What the tests call: Debian packages, uv and Python's packaging.
install_tools() {
    install_packages zstd busybox-static libarchive-tools dash zsh ksh shellcheck binutils gcc strace util-linux
    command -v uv >/dev/null || python3 -m pip install --quiet --root-user-action=ignore uv
    python3 -c 'import packaging' 2>/dev/null || python3 -m pip install --quiet --root-user-action=ignore packaging
}

# Runs the cargo tests and adds their counts. Ignored there are those that need real artifacts: tests/real runs them.
run_cargo_tests() {
    local log status=0 ok bad
    log=$(mktemp)
    cargo test --release --no-fail-fast 2>&1 | tee "$log" || status=$?
    while read -r ok bad; do
        passed=$((passed + ok))
        failed=$((failed + bad))
    done < <(sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed;.*/\1 \2/p' "$log")
    if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
        echo "FAILED  the tests did not compile or run"
        failed=$((failed + 1))
    fi
    rm -f "$log"
}

# The last line, and the exit status that fits it.
finish() {
    if [ "$skipped" != 0 ]; then
        echo "$passed passed, $failed failed, $skipped skipped"
    else
        echo "$passed passed, $failed failed"
    fi
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
