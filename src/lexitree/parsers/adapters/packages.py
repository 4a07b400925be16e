"""The name of an optional package in, the package out, or an error that says how to install it."""

from __future__ import annotations

import importlib
from types import ModuleType

from lexitree.errors import MissingExtraError, ParserError


def import_parser_package(package: str, purpose: str) -> ModuleType:
    """Import a package whose extra has its own name."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        if error.name == package:
            raise MissingExtraError(package, package, purpose) from error
        raise ParserError(
            f"the package '{package}' is installed but cannot be imported ({error})",
            remedy=f"Install it anew with: pip install --force-reinstall 'lexitree[{package}]'",
        ) from error
