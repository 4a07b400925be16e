"""Compiles the kernels when the package is built or installed from its sources.

An editable installation compiles them into the source tree if there is a C compiler, and is complete without. A
wheel is pure Python, for every system. With LEXITREE_NATIVE=1 it carries the compiled kernels, for systems like this:

    LEXITREE_NATIVE=1 python -m build --wheel
"""

from __future__ import annotations

import importlib.util
import os
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileKernels(BuildHookInterface[Any]):
    """The hook that hatchling calls before it writes a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        compiling = _load_compiling(Path(self.root))
        if os.environ.get("LEXITREE_NATIVE") == "1":
            # Asked for by name: without a compiler there is no such wheel.
            library = compiling.compile_library()
            inside = library.relative_to(Path(self.root) / "src").as_posix()
            build_data["force_include"][str(library)] = inside
            build_data["pure_python"] = False
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"py3-none-{platform}"
        elif version == "editable":
            try:
                compiling.compile_library()
            except compiling.CompilerError as error:
                self.app.display_warning(f"models will run without the kernels: {error}")


def _load_compiling(root: Path) -> ModuleType:
    """The module that compiles, alone: what the package imports is not installed yet."""
    path = root / "src" / "lexitree" / "kernels" / "compiling.py"
    spec = importlib.util.spec_from_file_location("compiling", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
