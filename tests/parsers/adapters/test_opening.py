from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lexitree.errors import ConfigError, FileError, MissingExtraError
from lexitree.parsers import adapters as opening_module
from lexitree.parsers import saved_parser as saved
from lexitree.parsers.adapters import BracketsParser, CommandParser, CoreNLPParser, open_parser


def test_specs_lead_to_parsers() -> None:
    brackets = open_parser("brackets:C:\\trees.txt", on_refused="flat")
    assert isinstance(brackets, BracketsParser)
    assert (brackets.path, brackets.on_refused) == ("C:\\trees.txt", "flat")
    command = open_parser("command:prog --grammar 'a b' x:y", timeout=3)
    assert isinstance(command, CommandParser)
    assert command.command == ["prog", "--grammar", "a b", "x:y"]
    server = open_parser("corenlp:http://host:9000")
    assert isinstance(server, CoreNLPParser)
    assert "http://host:9000" in server.name


def test_an_opened_parser_parses(tmp_path: Path) -> None:
    (tmp_path / "trees.txt").write_text("(S (NN a) (NN b))")
    assert [
        tree.label for tree in open_parser(f"brackets:{tmp_path / 'trees.txt'}").parse_all([["a", "b"]])
    ] == ["S"]


@pytest.mark.parametrize("package", ["stanza", "benepar"])
@pytest.mark.parametrize("model", ["", ":model"])
def test_packages_that_are_not_there(package: str, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"\[{package}\]"):
        open_parser(package + model)


def test_a_folder_that_is_not_there() -> None:
    with pytest.raises(FileError):
        open_parser("stanford:/no/such/folder")


@pytest.mark.parametrize("spec", ["brackets", "brackets:", "command: ", "stanford", "corenlp"])
def test_what_is_missing_after_the_colon(spec: str) -> None:
    with pytest.raises(ConfigError, match="needs"):
        open_parser(spec)


@pytest.mark.parametrize("spec", ["", "bracket:x", "Stanza", ":", "trees.txt"])
def test_unknown_parsers(spec: str) -> None:
    with pytest.raises(ConfigError, match="unknown parser") as caught:
        open_parser(spec)
    assert "stanford:FOLDER" in str(caught.value)


def test_unknown_options() -> None:
    with pytest.raises(ConfigError, match="no_such_option") as caught:
        open_parser("brackets:x", no_such_option=1)
    assert "on_refused" in str(caught.value)


def test_the_built_in_parser_needs_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening_module, "BUILTIN_MODEL", tmp_path / "none")
    with pytest.raises(ConfigError, match="without a trained parser"):
        open_parser("builtin")
    with pytest.raises(FileError):
        open_parser(f"builtin:{tmp_path}")
    with pytest.raises(ConfigError, match="on_refused"):
        open_parser("builtin", on_refused="flat")


def test_the_built_in_parser_plugs_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str | Path, str, str | None]] = []

    def load(name: str | Path, *, device: str, style: str | None) -> object:
        opened.append((name, device, style))
        return object()

    monkeypatch.setattr(saved, "load_parser", load)
    monkeypatch.setattr(opening_module, "BUILTIN_MODEL", tmp_path)
    open_parser("builtin")
    open_parser("builtin:runs/small", device="cuda", style="wsj")
    assert opened == [(tmp_path, "auto", None), ("runs/small", "cuda", "wsj")]
