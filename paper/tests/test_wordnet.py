"""WordNet's files: forms of a noun, its first sense, and the way up from it."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from lexitree.errors import FileError
from lexitree_paper import wordnet
from lexitree_paper.wordnet import Nouns, find_nouns
from small_wordnet import write_wordnet


@pytest.fixture
def nouns(tmp_path: Path) -> Nouns:
    found = find_nouns(write_wordnet(tmp_path / "dict"))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("word", "lemma"),
    [
        ("city", "city"),
        ("Cities", "city"),
        ("children", "child"),
        ("churches", "church"),
        ("persons", "person"),
        ("souls", "soul"),
        ("s", None),
        ("", None),
        ("unheard", None),
    ],
)
def test_lemma(nouns: Nouns, word: str, lemma: str | None) -> None:
    assert nouns.lemma(word) == lemma


def test_hypernyms_go_from_the_noun_to_the_most_general(nouns: Nouns) -> None:
    assert nouns.hypernyms("children") == ["child.00000600", "person.00000200", "entity.00000100"]
    assert nouns.hypernyms("unheard") == []


def test_the_first_sense_counts_and_a_name_is_of_its_class(nouns: Nouns) -> None:
    assert nouns.hypernyms("Paris")[:2] == ["paris.00000500", "city.00000400"]


def test_a_folder_without_the_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"index\.noun"):
        find_nouns(tmp_path)


def test_the_usual_folders_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordnet, "FOLDERS", (str(tmp_path / "none"), str(write_wordnet(tmp_path / "dict"))))
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    assert find_nouns() is not None
    monkeypatch.setattr(wordnet, "FOLDERS", ())
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path / "dict"))
    assert find_nouns() is not None


@pytest.mark.parametrize("packed", [True, False])
def test_nltks_data_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    data = pytest.importorskip("nltk.data")
    folder = write_wordnet(tmp_path / "corpora" / "wordnet")
    if packed:
        with zipfile.ZipFile(tmp_path / "corpora" / "wordnet.zip", "w") as archive:
            archive.writestr("wordnet/", "")
            for path in sorted(folder.iterdir()):
                archive.write(path, f"wordnet/{path.name}")
                path.unlink()
        folder.rmdir()
    monkeypatch.setattr(wordnet, "FOLDERS", ())
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    monkeypatch.setattr(data, "path", [str(tmp_path)])
    found = find_nouns()
    assert found is not None
    assert found.lemma("cities") == "city"


def test_a_machine_without_wordnet_has_no_nouns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordnet, "FOLDERS", ())
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    monkeypatch.setitem(sys.modules, "nltk.data", None)
    assert find_nouns() is None
