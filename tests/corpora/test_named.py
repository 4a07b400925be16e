from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lexitree.corpora.named import ALIASES, CORPORA, find_corpus, load_corpus
from lexitree.errors import ConfigError, CorpusNotFoundError, FileError

TREES = "(1 (0 a) (1 b))\n(0 (0 c) (1 d))\n"


def write_sst(folder: Path) -> None:
    folder.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (folder / f"{split}.txt").write_text(TREES, encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["mini-reviews", "MINI-Reviews", "mini-reviews-binary", "mini-reviews-polarity", "mini"]
)
def test_embedded_corpora_need_nothing(no_data: Path, name: str) -> None:
    assert load_corpus(name).name in CORPORA


def test_every_name_leads_somewhere(no_data: Path) -> None:
    assert {"sst-fine", "sst-binary", "trec", "trec-fine", "mini-reviews", "mini-questions"} <= set(CORPORA)
    assert ALIASES["sst"] == "sst-fine"
    assert not set(ALIASES) & set(CORPORA)
    assert set(ALIASES.values()) <= set(CORPORA)


def test_data_wins_over_the_variable_and_that_over_the_cache(
    monkeypatch: pytest.MonkeyPatch, no_data: Path, tmp_path: Path
) -> None:
    write_sst(no_data / "sst")
    assert find_corpus("sst") == no_data / "sst"
    write_sst(tmp_path / "variable" / "sst")
    monkeypatch.setenv("LEXITREE_DATA", str(tmp_path / "variable"))
    assert find_corpus("sst") == tmp_path / "variable" / "sst"
    write_sst(tmp_path / "given" / "trees")
    assert find_corpus("sst", tmp_path / "given") == tmp_path / "given" / "trees"
    assert load_corpus("sst-binary", data=tmp_path / "given").labels == ("negative", "positive")
    assert load_corpus("sst-polarity", data=tmp_path / "given").label_set.trained_ids == tuple("01234")


def test_a_missing_corpus_says_where_it_was_sought_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, no_data: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("LEXITREE_DATA", str(tmp_path))
    with pytest.raises(CorpusNotFoundError) as raised:
        load_corpus("trec-fine", data="/nowhere")
    message = str(raised.value)
    for part in ("/nowhere (--data; no such folder)", f"{tmp_path} ($LEXITREE_DATA)", str(no_data)):
        assert part in message
    assert "lexitree data fetch trec" in message
    assert "set LEXITREE_DATA" in message


def test_unknown_names_are_answered_with_close_ones(no_data: Path) -> None:
    with pytest.raises(CorpusNotFoundError, match="Did you mean sst-binary"):
        load_corpus("sst-binry")
    with pytest.raises(CorpusNotFoundError, match="no corpus, file or folder 'qqq'\nCorpora: sst-fine"):
        load_corpus("qqq")
    with pytest.raises(CorpusNotFoundError, match="qqq"):
        find_corpus("qqq")
    with pytest.raises(FileError, match="no such file or folder"):
        load_corpus("my/treebank.txt")


def test_paths(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TREES * 10, encoding="utf-8")
    corpus = load_corpus(path)
    assert (len(corpus.train), len(corpus.dev), corpus.name) == (18, 2, "a.txt")
    assert len(load_corpus(str(path), hold_out_dev=False).train) == 20
    for split in ("dev", "test"):
        only = load_corpus(path, file_is=split)
        assert {name: len(trees) for name, trees in only.splits.items()} == {split: 20}
    folder = tmp_path / "bank"
    write_sst(folder)
    assert load_corpus(folder).supervision == "all"
    assert load_corpus(folder, supervision="root").supervision == "root"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"encoding": "latin-1"}, "encoding"),
        ({"on_error": "skip"}, "on-error"),
        ({"strip": ["traces"]}, "strip"),
        ({"encoding": "latin-1", "on_error": "skip"}, "encoding and on-error"),
    ],
)
def test_settings_that_a_name_would_drop_are_refused(
    no_data: Path, settings: dict[str, Any], named: str
) -> None:
    with pytest.raises(ConfigError, match=f"^{named} cannot be set for mini-reviews"):
        load_corpus("mini", **settings)
    assert load_corpus("mini", encoding="utf-8", on_error="raise", strip=[]).name == "mini-reviews"


def test_a_name_wins_over_a_folder_of_that_name(
    monkeypatch: pytest.MonkeyPatch, no_data: Path, tmp_path: Path
) -> None:
    write_sst(tmp_path / "work" / "sst")
    monkeypatch.chdir(tmp_path / "work")
    with pytest.raises(CorpusNotFoundError):
        load_corpus("sst")
    assert load_corpus("./sst").labels == ("0", "1")
