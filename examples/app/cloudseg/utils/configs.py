"""Configs: Python files of configs/ that assign a dict named `config`."""

import runpy
from copy import deepcopy
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "configs"
DEFAULT = "pooled_small"
SECTIONS = {"model", "train", "test"}


class ConfigError(ValueError):
    """A config that is not there or not whole."""


def config_names() -> list[str]:
    """Names that `load_config` takes, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.py"))


def load_config(name: str) -> dict[str, Any]:
    """The config of that name in configs/, or of a .py file given by its path."""
    path = Path(name) if name.endswith(".py") else FOLDER / f"{name}.py"
    if not path.is_file():
        raise ConfigError(f"there is no config {name}: choose {', '.join(config_names())} or a .py file")
    # run_path, unlike an import, writes no bytecode beside the file.
    config = runpy.run_path(str(path)).get("config")
    if not isinstance(config, dict) or not config.keys() >= SECTIONS:
        raise ConfigError(f"{path} assigns no dict `config` with {', '.join(sorted(SECTIONS))}")
    return deepcopy(config)
