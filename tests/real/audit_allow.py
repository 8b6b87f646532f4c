"""No false alarm: every finding of a bundle stands in the allow file, with a command whose output shows that it is true.

Usage: audit_allow.py REPORT.json ROOT ALLOW.tsv    (ROOT: the unpacked bundle)

A line of the allow file: target, code, path (globs), a command that is given the file as $f, and a pattern of its output.
"""

import fnmatch
import json
import os
import re
import subprocess
import sys


def rules(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                yield line.rstrip("\n").split("\t")


def proof(command, pattern, root, path):
    env = {**os.environ, "f": os.path.join(root, path), "LC_ALL": "C"}
    done = subprocess.run(["bash", "-c", command], cwd=root, env=env, capture_output=True, check=False)
    return re.search(pattern, done.stdout.decode(errors="replace")) is not None


def main():
    report, root, allow = sys.argv[1:]
    with open(report, encoding="utf-8") as file:
        told = json.load(file)
    allowed = list(rules(allow))
    bad = 0
    for finding in told["findings"]:
        code, path = finding["code"], finding["path"]
        fits = [
            rule
            for rule in allowed
            if fnmatch.fnmatch(told["target"], rule[0])
            and rule[1] == code
            and fnmatch.fnmatch(path, rule[2])
        ]
        if not fits:
            bad += 1
            print(f"NOT ALLOWED {code} {path}: {finding['message']}")
        elif not any(proof(rule[3], rule[4], root, path) for rule in fits):
            bad += 1
            print(f"NOT PROVED {code} {path}: {finding['message']}")
    print(f"{told['target']}: {len(told['findings'])} findings, {bad} not shown to be true")
    sys.exit(bad > 0)


main()
