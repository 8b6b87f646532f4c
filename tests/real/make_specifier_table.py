"""Writes tests/it/data/specifiers.txt: what Python's `packaging` says of generated versions against specifiers, and of markers
on each architecture. Lines, with tabs between: `v`, version, specifier, yes or no; `m`, machine, marker, yes or no.
Run it with `packaging` installed."""
import random
import sys
from packaging.markers import Marker
from packaging.specifiers import SpecifierSet

ENVIRONMENT = {
    "implementation_name": "cpython", "implementation_version": "3.12.0", "os_name": "posix",
    "platform_python_implementation": "CPython", "platform_release": "", "platform_system": "Linux",
    "platform_version": "", "python_full_version": "3.12.0", "python_version": "3.12", "sys_platform": "linux", "extra": "",
}


def versions(rng):
    tails = ["", "", "", "a1", "b2", "rc1", ".dev3", ".post1", ".post2.dev1", "rc1.post1"]
    locals_ = ["", "", "", "+cu130", "+cu126", "+cpu", "+1.2", "+ubuntu.1"]
    while True:
        release = ".".join(str(rng.choice([0, 1, 2, 9, 10, 11])) for _ in range(rng.randint(1, 4)))
        epoch = rng.choice(["", "", "", "", "1!"])
        yield epoch + release + rng.choice(tails) + rng.choice(locals_)


def main(out):
    rng = random.Random(11)
    source = versions(rng)
    rows = set()
    while len(rows) < 1600:
        version = next(source)
        parts = []
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            other = rng.choice([version, next(source), next(source)])
            operator = rng.choice(["==", "!=", ">=", "<=", ">", "<", "~=", "==*", "!=*"])
            public = other.split("+")[0]
            if operator.endswith("*"):
                release = public.split(".dev")[0].split(".post")[0]
                release = release.rstrip("0123456789") if any(m in release for m in ("a", "b", "rc")) else release
                release = release.rstrip("abrc")
                parts.append(f"{operator[:2]}{release}.*")
            elif operator in ("==", "!="):
                parts.append(operator + other)
            elif operator == "~=" and "." not in public.split("!")[-1].split(".dev")[0].split(".post")[0]:
                continue
            else:
                parts.append(operator + public)
        if not parts:
            continue
        text = ",".join(parts)
        try:
            verdict = SpecifierSet(text).contains(version, prereleases=True)
        except Exception:
            continue
        rows.add(f"v\t{version}\t{text}\t{'yes' if verdict else 'no'}")
    atoms = [
        "python_version {o} '{v}'", "python_full_version {o} '{v}.0'", "implementation_version {o} '{v}'",
        "sys_platform {e} '{s}'", "platform_system {e} '{p}'", "os_name {e} '{n}'", "platform_machine {e} '{m}'",
        "platform_python_implementation {e} 'CPython'", "implementation_name {e} 'cpython'", "'{s}' in sys_platform",
        "extra {e} 'dev'",
    ]
    markers = set()
    while len(markers) < 600:
        words = []
        for index in range(rng.choice([1, 2, 2, 3])):
            atom = rng.choice(atoms).format(
                o=rng.choice(["==", "!=", ">=", "<=", ">", "<"]), e=rng.choice(["==", "!="]),
                v=rng.choice(["3.8", "3.9", "3.11", "3.12", "3.13", "4.0"]), s=rng.choice(["linux", "win32", "darwin"]),
                p=rng.choice(["Linux", "Windows", "Darwin"]), n=rng.choice(["posix", "nt"]),
                m=rng.choice(["x86_64", "aarch64", "AMD64", "arm64"]))
            words.append(("" if index == 0 else rng.choice([" and ", " or "])) + atom)
        text = "".join(words)
        if text.count(" and ") and text.count(" or "):
            first, second = text.split(" or ", 1)
            text = f"({first}) or ({second})"
        markers.add(text)
    for machine in ("x86_64", "aarch64"):
        for text in markers:
            verdict = Marker(text).evaluate({**ENVIRONMENT, "platform_machine": machine})
            rows.add(f"m\t{machine}\t{text}\t{'yes' if verdict else 'no'}")
    with open(out, "w") as file:
        file.write("\n".join(sorted(rows)) + "\n")
    print(len(rows), sum(r.endswith("yes") for r in rows))


main(sys.argv[1])
