"""Adds recipes and compiled kernels when the package is built or installed from its sources.

A wheel holds the recipes of classifiers, which have names in every installation.

An editable installation compiles them into the source tree if there is a C compiler, and is complete without. So does
a wheel on Linux, which is then one for systems like this; on other systems wheels are pure Python. LEXITREE_NATIVE
decides otherwise: 0 makes the pure wheel, which runs everywhere, and with 1 it is an error if there is no compiler.

    LEXITREE_NATIVE=0 python -m build --wheel
"""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class AddBuiltFiles(BuildHookInterface[Any]):
    """The hook that hatchling calls before it writes a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_data["force_include"].update(recipes_in_wheel(Path(self.root)))
        asked = os.environ.get("LEXITREE_NATIVE", "")
        if asked == "0" or (version != "editable" and asked != "1" and sys.platform != "linux"):
            return
        compiling = _load_compiling(Path(self.root))
        try:
            library = compiling.compile_library()
        except compiling.CompilerError as error:
            if asked == "1":
                raise
            self.app.display_warning(f"models will run without the kernels: {error}")
            return
        if version != "editable":
            inside = library.relative_to(Path(self.root) / "src").as_posix()
            build_data["force_include"][str(library)] = inside
            build_data["pure_python"] = False
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"py3-none-{platform}"


def recipes_in_wheel(root: Path) -> dict[str, str]:
    """The files of the recipes and their paths in a wheel."""
    return {str(path): f"lexitree/recipes/{path.name}" for path in sorted((root / "recipes").glob("*.toml"))}


def _load_compiling(root: Path) -> ModuleType:
    """The module that compiles, alone: what the package imports is not installed yet."""
    path = root / "src" / "lexitree" / "kernels" / "compiling.py"
    spec = importlib.util.spec_from_file_location("compiling", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
