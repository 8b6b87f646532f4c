"""Records this machine as a host shape for tests/hosts, on standard output: python3 record_host.py NAME "what it is".

Takes what `bundler doctor` reads and nothing that names a person or machine: no host name, user, address or serial number.
"""

import glob
import json
import os
import platform
import re
import subprocess
import sys

FILES = [
    "/etc/os-release",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/arch",
    "/proc/driver/nvidia/version",
    "/sys/module/nvidia/version",
    "/proc/device-tree/compatible",
    "/etc/nv_tegra_release",
    "/etc/ld.so.conf",
    *glob.glob("/etc/ld.so.conf.d/*.conf"),
    *glob.glob("/proc/driver/nvidia/gpus/*/information"),
]
EMPTY = [
    "/.dockerenv",
    "/run/.containerenv",
    "/dev/dxg",
    "/dev/nvidiactl",
    "/dev/nvidia-uvm",
    *glob.glob("/dev/nvidia[0-9]*"),
]
FIELDS = "--query-gpu=name,compute_cap,driver_version,mig.mode.current"
DRIVER = ["libcuda.so.1", "libnvidia-ptxjitcompiler.so.1"]


def text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return re.sub(r"(?m)^(GPU UUID|GPU Firmware|Video BIOS):.*\n", "", file.read())
    except OSError:
        return None


def newest(path: str, prefix: str) -> str | None:
    with open(path, "rb") as file:
        found = set(re.findall(prefix.encode() + rb"_(\d+(?:\.\d+)+)\0", file.read()))
    return max((version.decode() for version in found), key=lambda v: [int(n) for n in v.split(".")], default=None)


def smi(*arguments: str) -> str | None:
    try:
        return subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None


def main() -> None:
    name, about = sys.argv[1:3]
    machine = platform.machine()
    folders = [f"/lib/{machine}-linux-gnu", "/lib64", f"/usr/lib/{machine}-linux-gnu", "/usr/lib64"]
    find = lambda soname: next((f for f in folders if os.path.exists(f"{f}/{soname}")), None)
    libdir = find("libc.so.6") or folders[0]
    out = [f"about = {json.dumps(about)}", f'origin = "recorded: {name}"']
    out.append(f'arch = "{ {"x86_64": "amd64", "aarch64": "arm64"}[machine] }"')
    out.append(f'libdir = "{libdir}"')
    out.append(f'glibc = "{newest(libdir + "/libc.so.6", "GLIBC")}"')
    cxx = f"{libdir}/libstdc++.so.6"
    if os.path.exists(cxx):
        out.append(f'libstdcxx = ["{newest(cxx, "GLIBCXX")}", "{newest(cxx, "CXXABI")}"]')
    out.append("libraries = " + json.dumps([n for n in ("libz.so.1", "libgcc_s.so.1") if find(n)]))
    driver = [n for n in DRIVER if find(n)]
    if driver:
        out.append("driver_libraries = " + json.dumps(driver))
    out += ["", "[expect]", "gpus = []", "", "[expect.verdicts]", "", "[files]"]
    files = {path: text(path) for path in FILES}
    files |= {path: "" for path in EMPTY if os.path.exists(path)}
    files |= {"/bin/sh": "@program", "/proc/self/mounts": "/dev/vda / ext4 rw,relatime 0 0\n", "/home/user/.profile": ""}
    for program in ("/usr/bin/gcc", "/usr/bin/nvidia-modprobe"):
        if os.path.exists(program):
            files[program] = "@program"
    if os.path.exists("/usr/include/stdio.h"):
        files["/usr/include/stdio.h"] = ""
    out += [f"{json.dumps(path)} = {json.dumps(files[path])}" for path in sorted(files) if files[path] is not None]
    out += ["", "[host]", 'environment = { HOME = "/home/user", PATH = "/usr/bin:/bin" }']
    out.append("room = { bytes = 900000000000, inodes = 50000000 }")
    query, listed = smi(FIELDS, "--format=csv,noheader"), smi("-L")
    if query:
        listed = re.sub(r"UUID: [^)]*", "UUID: x", listed or "")
        out += ["", "[host.nvidia_smi]", f"query = {json.dumps(query)}", f"list = {json.dumps(listed)}"]
    print("\n".join(out))


main()
