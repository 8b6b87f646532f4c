"""Compares this bundle with its own list of files: names every path that was changed, is missing, or was added.

Exit code 0: all as it was made. 1: differences, one a line. 2: the list itself cannot be read."""

import hashlib
import json
import os
import stat
import sys

OWN = {"files.jsonl", "bundle.json", ".complete"}


def digest(path):
    """The sha256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def difference(root, row):
    """What is wrong with the path of one row, or None."""
    path = os.path.join(root, row["path"])
    try:
        found = os.lstat(path)
    except OSError:
        return "missing"
    kind = row["kind"]
    if kind == "symlink":
        if not stat.S_ISLNK(found.st_mode) or os.readlink(path) != row["target"]:
            return "another link"
        return None
    if kind == "dir":
        return None if stat.S_ISDIR(found.st_mode) else "no folder"
    if not stat.S_ISREG(found.st_mode) or found.st_size != row["size"]:
        return "another size or kind"
    # Write permission may be taken away; whether it can be run may not change.
    if bool(found.st_mode & 0o100) != bool(int(row["mode"], 8) & 0o100):
        return "another mode"
    return None if digest(path) == row["sha256"] else "another content"


def added(root, known):
    """Paths that no row names."""
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.relpath(os.path.join(folder, name), root)
            if path not in known:
                yield path


def main():
    """Checks everything and says what differs."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        with open(os.path.join(root, ".complete"), encoding="utf-8") as file:
            stated = dict(line.split(" ", 1) for line in file.read().splitlines() if not line.startswith("layer "))
        if stated["files"] != digest(os.path.join(root, "files.jsonl")):
            print("files.jsonl: another content")
            return 1
        with open(os.path.join(root, "files.jsonl"), encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
    except (OSError, ValueError, KeyError) as error:
        print(f"the list of files cannot be read: {error}", file=sys.stderr)
        return 2
    count = 0
    for row in rows:
        answer = difference(root, row)
        if answer:
            count += 1
            print(f"{row['path']!r}: {answer}")
    for path in sorted(added(root, OWN | {row["path"] for row in rows})):
        count += 1
        print(f"{path!r}: added")
    print(f"{len(rows)} paths compared, {count} differences")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
