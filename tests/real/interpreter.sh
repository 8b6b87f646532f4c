# The real Maven interpreters of both architectures, normalised, moved and run: natively, and for arm64 under
# qemu-aarch64-static in a small Debian root. Sourced after tests/lib.sh.

interpreter_jars=$(mktemp -d "${REAL_TMP:-/var/tmp}/bundler-jars.XXXXXX")
interpreter_artifact=org.bytedeco:cpython:3.12.1-1.5.10

interpreter_fetch() {
    local repository
    repository=$(mvn -q help:evaluate -Dexpression=settings.localRepository -DforceStdout 2>/dev/null)
    [ -d "$repository" ] || repository=${HOME:-/root}/.m2/repository
    mvn -q dependency:get "-Dartifact=$interpreter_artifact:jar:linux-$1" -Dtransitive=false &&
        cp "$repository/org/bytedeco/cpython/3.12.1-1.5.10/cpython-3.12.1-1.5.10-linux-$1.jar" "$interpreter_jars/$1.jar"
}

check "gets the Maven interpreter for x86_64" interpreter_fetch x86_64
check "gets the Maven interpreter for arm64" interpreter_fetch arm64
check "normalised interpreters run, follow their place and compile extensions" \
    env BUNDLER_REAL_JARS="$interpreter_jars" cargo test --release --quiet --test it real_interpreter -- --ignored \
    --skip under_emulation
# A root made by: debootstrap --foreign --arch=arm64 --variant=minbase bookworm DIR
if [ -n "${BUNDLER_REAL_ARM64_ROOT:-}" ]; then
    check "the arm64 interpreter runs under qemu-aarch64-static" \
        env BUNDLER_REAL_JARS="$interpreter_jars" cargo test --release --quiet --test it under_emulation -- --ignored
else
    echo "missing: BUNDLER_REAL_ARM64_ROOT (an arm64 Debian root) is not set, so the arm64 interpreter was not run"
fi
rm -rf "$interpreter_jars"
