"""NEEDED and search paths against readelf, on every ELF file of an unpacked bundle with facts.jsonl.

Usage: audit_readelf.py ROOT
"""

import json
import os
import re
import subprocess
import sys


def by_readelf(path):
    done = subprocess.run(["readelf", "-dW", path], capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"})
    text = done.stdout.decode(errors="replace")
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    soname = re.findall(r"\(SONAME\).*\[(.*)\]", text)
    paths = {tag: re.findall(rf"\({tag}\).*\[(.*)\]", text) for tag in ("RPATH", "RUNPATH")}
    split = {tag: found[-1].split(":") if found and found[-1] else [] for tag, found in paths.items()}
    return needed, soname[-1] if soname else None, split["RPATH"], split["RUNPATH"]


def main():
    (root,) = sys.argv[1:]
    compared = differ = 0
    with open(f"{root}/facts.jsonl", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            elf = row.get("facts", {}).get("elf")
            if elf is None:
                continue
            path = f"{root}/{row['path']}"
            ours = (elf.get("needed", []), elf.get("soname"), elf.get("rpath", []), elf.get("runpath", []))
            compared += 1
            if ours != by_readelf(path):
                differ += 1
                print(f"DIFFERENT {row['path']}: bundler {ours}, readelf {by_readelf(path)}")
    print(f"{compared} ELF files compared, {differ} differ")
    sys.exit(differ > 0 or compared == 0)


main()
