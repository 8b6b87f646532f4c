# A real bundle's audit against other programs: no false alarm, NEEDED and search paths as readelf, GPU code as cuobjdump.
# Sourced by tests/real/run.

# audit BUNDLE: cuobjdump is taken from the bundle's triton, for bundles of this machine's architecture.
audit() {
    local bundle=$1 dir cuobjdump
    dir=$(mktemp -d "${REAL_TMP:-/var/tmp}/bundler-audit.XXXXXX")
    echo "unpacks $bundle"
    zstd -dc "$bundle" | tar -xC "$dir"
    target/release/bundler audit "$bundle" --output-format json >"$dir/report.json" || true
    check "every finding is shown to be true" \
        python3 tests/real/audit_allow.py "$dir/report.json" "$dir/runtime" tests/real/audit_allow.tsv
    check "NEEDED and search paths are readelf's" python3 tests/real/audit_readelf.py "$dir/runtime"
    check "reading every byte finds the same" target/release/bundler audit "$bundle" --full
    cuobjdump=${CUOBJDUMP:-$(echo "$dir"/runtime/python/lib/python3.*/site-packages/triton/backends/nvidia/bin/cuobjdump)}
    if "$cuobjdump" --version >/dev/null 2>&1; then
        check "GPU code is what cuobjdump lists" python3 tests/real/audit_gpu.py target/release/bundler "$cuobjdump" "$dir/runtime"
    else
        skip "GPU code is what cuobjdump lists" "a cuobjdump for this machine (CUOBJDUMP)"
    fi
    rm -rf "$dir"
}
