"""GPU code against cuobjdump: for every library, SASS and PTX per number are what it lists in `.nv_fatbin` and `__nv_relfatbin`.

Usage: audit_gpu.py BUNDLER CUOBJDUMP ROOT

cuobjdump does not see `.cask_resource`, data and read-only data: there our counts may be higher, in the files named below. It drops
suffixes, so numbers alone are compared.
"""

import collections
import json
import re
import subprocess
import sys

# Files with code where cuobjdump does not look.
MORE = ("libcublasLt", "libcudnn_engines_precompiled", "libcusparseLt", "libcufft", "libcusparse", "libcupti", "libnvperf", "libcheckpoint")


def by_cuobjdump(program, path):
    counts = collections.Counter()
    for option, kind in (("-lelf", "sass"), ("-lptx", "ptx")):
        done = subprocess.run([program, "-all", option, path], capture_output=True, text=True, check=False)
        for number in re.findall(r"\.sm_(\d+)[af]?\.", done.stdout):
            counts[kind, int(number)] += 1
    return counts


def by_bundler(library):
    counts = collections.Counter()
    for code in library["code"] + library.get("relocatable_code", []):
        if code["kind"] in ("sass", "ptx"):
            counts[code["kind"], int(re.search(r"_(\d+)", code["name"]).group(1))] += code["entries"]
    return counts


def main():
    bundler, cuobjdump, root = sys.argv[1:]
    done = subprocess.run([bundler, "gpu", root, "--output-format", "json"], capture_output=True, check=False)
    libraries = json.loads(done.stdout)["libraries"]
    compared = differ = more = 0
    for library in libraries:
        theirs, ours = by_cuobjdump(cuobjdump, f"{root}/{library['path']}"), by_bundler(library)
        name = library["path"].rsplit("/", 1)[-1]
        compared += 1
        if ours == theirs:
            continue
        if name.startswith(MORE) and all(ours[k] >= n for k, n in theirs.items()):
            more += 1
            continue
        differ += 1
        print(f"DIFFERENT {library['path']}: bundler {dict(ours - theirs)} more, cuobjdump {dict(theirs - ours)} more")
    print(f"{compared} libraries compared: {compared - differ - more} equal, {more} with more code than cuobjdump looks at, {differ} differ")
    sys.exit(differ > 0 or compared == 0)


main()
