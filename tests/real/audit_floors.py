"""Floors of wheels against auditwheel: for every wheel with ELF files, the highest GLIBC, GLIBCXX and CXXABI version is the same.

Usage: audit_floors.py BUNDLER TARGET WHEEL…    (auditwheel must be importable)
"""

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from auditwheel.elfutils import elf_file_filter, elf_find_versioned_symbols


def key(version):
    return [int(part) for part in version.split(".")]


def by_auditwheel(root):
    """The highest numeric version of each family, over all shared objects, as auditwheel reads them."""
    highest = {}
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]
    for _path, elf in elf_file_filter(files):
        for _library, name in elf_find_versioned_symbols(elf):
            family, _, version = name.partition("_")
            if family in ("GLIBC", "GLIBCXX", "CXXABI") and version and version[0].isdigit():
                family = family.lower()
                if family not in highest or key(version) > key(highest[family]):
                    highest[family] = version
    return highest


def main():
    bundler, target, *wheels = sys.argv[1:]
    compared = differ = 0
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            members = [m for m in archive.infolist() if not m.is_dir()]
            if not any(".so" in m.filename for m in members):
                continue
            with tempfile.TemporaryDirectory() as folder:
                root = Path(folder) / "python/lib/python3.12/site-packages"
                archive.extractall(root)
                theirs = by_auditwheel(root)
                done = subprocess.run(
                    [bundler, "audit", folder, "--target", target, "--output-format", "json"],
                    capture_output=True,
                    check=False,
                )
                ours = json.loads(done.stdout)["floor"]
        compared += 1
        if ours != theirs:
            differ += 1
            print(f"DIFFERENT {Path(wheel).name}: bundler {ours}, auditwheel {theirs}")
    print(f"{compared} wheels with ELF files compared, {differ} differ")
    sys.exit(differ > 0 or compared == 0)


main()
