"""Errors, and the import of optional dependencies."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lexitree.errors import LexitreeError, MissingExtraError, import_extra


def test_an_extra_that_is_installed() -> None:
    assert import_extra("json.decoder", extra="none", purpose="This").__name__ == "json.decoder"


@pytest.mark.parametrize("module", ["absent_package", "absent_package.part"])
def test_a_missing_extra_is_named(module: str) -> None:
    with pytest.raises(MissingExtraError, match=r"^This needs the package 'absent-package'") as caught:
        import_extra(module, extra="some", purpose="This", package="absent-package")
    assert caught.value.remedy == "Install it with: pip install 'lexitree[some]'"


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
    assert "--force-reinstall 'lexitree[some]'" in caught.value.remedy
