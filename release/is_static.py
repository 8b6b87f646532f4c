"""Whether a program needs nothing of a host but its kernel: is_static.py PROGRAM ARCH. Exit 1 with the reason if not."""

import struct
import sys

MACHINES = {"x86_64": 62, "aarch64": 183}
PT_DYNAMIC, PT_INTERP = 2, 3
DT_NEEDED = 1


def fault(program: bytes, arch: str) -> str | None:
    """What keeps an ELF file from being a static program of an architecture."""
    if program[:6] != b"\x7fELF\x02\x01":
        return "no 64-bit little-endian ELF file"
    if struct.unpack_from("<H", program, 18)[0] != MACHINES[arch]:
        return f"not for {arch}"
    (at,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    for number in range(count):
        kind, _, offset, _, _, length, _, _ = struct.unpack_from("<IIQQQQQQ", program, at + number * size)
        if kind == PT_INTERP:
            return "needs a dynamic linker"
        if kind == PT_DYNAMIC:
            tags = struct.iter_unpack("<qQ", program[offset : offset + length - length % 16])
            if any(tag == DT_NEEDED for tag, _ in tags):
                return "needs shared libraries"
    return None


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        why = fault(file.read(), sys.argv[2])
    if why:
        sys.exit(f"{sys.argv[1]}: {why}")
