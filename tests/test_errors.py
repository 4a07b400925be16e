"""Errors, and the import of optional dependencies."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from lexitree.errors import (
    FileError,
    InputError,
    LexitreeError,
    LimitError,
    MissingExtraError,
    Place,
    TextError,
    import_extra,
)
from lexitree.installation import install_command

ARGUMENTS: dict[type[LexitreeError], tuple[Any, ...]] = {
    InputError: (Place("a.txt", 2, 3, "source"), "is wrong"),
    FileError: ("a.txt", "is wrong"),
    TextError: ("is wrong", 4, "excerpt"),
    LimitError: ("words", 30, 20, 4, "excerpt"),
    MissingExtraError: ("package", "extra", "This"),
    LexitreeError: ("is wrong",),
}
"""What the classes are made of, each with its subclasses; the first that fits counts."""


def error_classes() -> list[type[LexitreeError]]:
    found: list[type[LexitreeError]] = [LexitreeError]
    for each in found:
        found.extend(kind for kind in each.__subclasses__() if kind.__module__ == LexitreeError.__module__)
    return found


@pytest.mark.parametrize("kind", error_classes())
def test_an_error_comes_back_from_another_process(kind: type[LexitreeError]) -> None:
    """Whole, with a remedy that was given or added later."""
    made_of = next(ARGUMENTS[each] for each in kind.__mro__ if each in ARGUMENTS)
    has_own_remedy = kind in (LimitError, MissingExtraError)
    error = kind(*made_of) if has_own_remedy else kind(*made_of, remedy="Do this.")
    error.remedy += "\nOr that."
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert vars(copy) == vars(error)
    assert str(copy) == str(error)
    assert str(copy).endswith("\nOr that.")


def test_an_extra_that_is_installed() -> None:
    assert import_extra("json.decoder", extra="none", purpose="This").__name__ == "json.decoder"


@pytest.mark.parametrize("module", ["absent_package", "absent_package.part"])
def test_a_missing_extra_is_named(module: str) -> None:
    with pytest.raises(MissingExtraError, match=r"^This needs the package 'absent-package'") as caught:
        import_extra(module, extra="some", purpose="This", package="absent-package")
    assert caught.value.remedy == f"Install it with: {install_command('some')}"


def test_a_missing_part_of_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json.decoder", None)
    with pytest.raises(MissingExtraError, match="'json'"):
        import_extra("json.decoder", extra="some", purpose="This")


def test_an_extra_that_is_broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "broken_package.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(LexitreeError, match=r"installed but cannot be imported .*no_such_dep") as caught:
        import_extra("broken_package", extra="some", purpose="This")
    assert not isinstance(caught.value, MissingExtraError)
    assert install_command("some", options="--force-reinstall") in caught.value.remedy
