# Bundles in minimal Debian roots: nothing of this machine but the kernel. Sourced after tests/lib.sh.
# `roots BUNDLE` starts it in bullseye, bookworm and trixie of its architecture (another than this machine's under
# qemu-user), as a user without a name, and imports every module of tests/real/modules.txt. As root: makes roots, mounts.

roots_dir=${REAL_ROOTS:-/var/tmp/bundler-roots}

# The package archive that apt uses here.
debian_archive() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -ohE '(https?|file):[^ ]*/debian/?( |$)' | head -n 1 | tr -d ' '
}

# debian_root SUITE ARCH: makes roots_dir/SUITE-ARCH unless it is there.
debian_root() {
    local root="$roots_dir/$1-$2"
    [ -e "$root/.made" ] && return 0
    rm -rf "$root"
    mkdir -p "$root"
    if [ "$2" = "$(dpkg --print-architecture)" ]; then
        debootstrap --variant=minbase "$1" "$root" "$(debian_archive)"
    else
        debootstrap --foreign --arch="$2" --variant=minbase "$1" "$root" "$(debian_archive)" &&
            cp /usr/bin/qemu-aarch64-static "$root/usr/bin/" &&
            chroot "$root" /debootstrap/debootstrap --second-stage
    fi && touch "$root/.made"
}

# Lets the kernel start programs of the other architecture, in roots too (flag F of the registered format).
emulate_arm64() {
    [ -e /proc/sys/fs/binfmt_misc/register ] || mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
    [ -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ] || cat /usr/lib/binfmt.d/qemu-aarch64.conf >/proc/sys/fs/binfmt_misc/register
}

# in_root ROOT TREE command…: the tree is read-only at "/opt/a b/runtime" there; no environment, no home, no name.
in_root() {
    local root=$1 tree=$2
    shift 2
    # shellcheck disable=SC2016
    unshare -m bash -euc '
        root=$1 tree=$2; shift 2
        mkdir -p "$root/opt/a b/runtime"
        mount --bind "$tree" "$root/opt/a b/runtime"
        mount -o remount,bind,ro "$root/opt/a b/runtime"
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        exec chroot --userspec=61234:61234 "$root" env -i "$@"' bash "$root" "$tree" "$@"
}

roots() {
    local bundle=$1 arch=amd64 suite work modules place="/opt/a b/runtime"
    modules=$(tr '\n' ' ' <tests/real/modules.txt)
    case $(basename "$bundle") in
    *arm64-*) arch=arm64 && check "programs of arm64 start by qemu-user" emulate_arm64 ;;
    esac
    case $bundle in *cu126*) modules=${modules//spconv_triton/spconv} ;; esac
    work=$(mktemp -d "${REAL_TMP:-/var/tmp}/bundler-roots-tree.XXXXXX")
    chmod 755 "$work"
    check "$(basename "$bundle") unpacks" tar --zstd -xf "$bundle" -C "$work"
    for suite in bullseye bookworm trixie; do
        check "a minimal $suite for $arch" debian_root "$suite" "$arch"
        # shellcheck disable=SC2086
        check "$arch on $suite: every module imports" in_root "$roots_dir/$suite-$arch" "$work/runtime" \
            "$place/bin/python" -c "import importlib, sys
for name in sys.argv[1:]: importlib.import_module(name)" $modules
        check "$arch on $suite: torch computes" in_root "$roots_dir/$suite-$arch" "$work/runtime" \
            "$place/python/bin/python3" -c 'import torch; assert float((torch.eye(64) * 2).trace()) == 128.0'
        check "$arch on $suite: the host needs are the ones the bundle lists" in_root "$roots_dir/$suite-$arch" "$work/runtime" \
            "$place/python/bin/python3" -c "$(cat tests/real/host_needs.py)" "$place/bundle.json"
    done
    rm -rf "$work"
}
