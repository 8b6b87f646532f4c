"""Writes tests/it/data/tags.txt: which compatibility tags Python's `packaging` accepts, for every kind of target and a
random choice of tags. Lines: python minor, machine, glibc minor, tag, yes or no. Run it with `packaging` installed."""
import random
import sys
from packaging import tags
from packaging import _manylinux

MACHINES = ("x86_64", "aarch64")


def accepted(minor, machine, glibc):
    _manylinux._get_glibc_version = lambda: (2, glibc)
    _manylinux._have_compatible_abi = lambda *_: True
    platforms = list(_manylinux.platform_tags([machine])) + [f"linux_{machine}"]
    found = set(tags.cpython_tags((3, minor), [f"cp3{minor}"], platforms))
    found |= set(tags.compatible_tags((3, minor), f"cp3{minor}", platforms))
    return {str(tag) for tag in found}


def main(out):
    rng = random.Random(7)
    rows = []
    for minor in (10, 12, 13):
        for machine in MACHINES:
            for glibc in (17, 28, 34):
                good = accepted(minor, machine, glibc)
                chosen = rng.sample(sorted(good), 40)
                pythons = ["py3", "py2", "cp39", "cp312", "cp311", "cp313", "cp310", "py312", "py314", "cp27", "pp310", "cp32", "cp31", "py30", "cp3", "py3_12", "cp0312"]
                abis = ["none", "abi3", "cp312", "cp312t", "cp310", "cp39", "cp313", "abi3t", "cp32mu"]
                platforms = ["any", f"linux_{machine}", f"manylinux_2_{glibc}_{machine}", f"manylinux_2_{glibc + 1}_{machine}",
                             f"manylinux_2_05_{machine}", f"manylinux_2_4_{machine}", f"manylinux_2_12_{machine}", f"manylinux_2_16_{machine}",
                             f"manylinux1_{machine}", f"manylinux2010_{machine}", f"manylinux2014_{machine}", f"manylinux_1_99_{machine}",
                             f"musllinux_1_1_{machine}", "manylinux_2_17_armv7l", "linux_i686", "win_amd64", "macosx_11_0_arm64", f"manylinux_2_{machine}", machine, f"manylinux2014x_{machine}"]
                platforms += [f"manylinux_2_17_{m}" for m in MACHINES]
                for _ in range(60):
                    chosen.append("-".join((rng.choice(pythons), rng.choice(abis), rng.choice(platforms))))
                for platform in platforms:
                    chosen.append(f"cp3{minor}-cp3{minor}-{platform}")
                    chosen.append(f"py3-none-{platform}")
                for tag in sorted(set(chosen)):
                    rows.append(f"{minor} {machine} {glibc} {tag} {'yes' if tag in good else 'no'}")
    with open(out, "w") as file:
        file.write("\n".join(rows) + "\n")
    print(len(rows), sum(r.endswith("yes") for r in rows))


main(sys.argv[1])
