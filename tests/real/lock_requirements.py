"""Prints the wheels of a lock as pinned, hashed requirements for uv and pip."""

import pathlib
import sys
import tomllib

lock = tomllib.loads(pathlib.Path(sys.argv[1]).read_text())
for wheel in lock["wheel"]:
    print(f"{wheel['name']}=={wheel['version']} --hash=sha256:{wheel['sha256']}")
