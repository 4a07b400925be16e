"""Words cut into pieces: none is lost, none is empty, and none passes for something else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.errors import ConfigError
from lexitree.lexicon.splitting import PieceSplitter
from lexitree.models.encoder_files import read_encoder
from tests.tiny_encoders import KINDS, ROOM

HOSTILE = (
    *("\u200b", "\u200d\u200d", "\x00", "\x07", "\u202e", "\ufeff", "\u00ad", "\u00a0", "\u2028", " ", "\t"),
    *("\U0001f600", "👩‍👩‍👧", "e\u0301", "\u0301", "שלום", "مرحبا", "日本", "ﷺ", "İ", "\ud800", "a\udfffb"),
    *("-LRB-", "-RRB-", "a b", "  x  ", "1\\/2", "``", "''", "n't", "'s", "_", "▁", "▁▁the", "Ġ", "##s"),
    *("[SEP]", "[CLS]", "[PAD]", "[MASK]", "[UNK]", "</s>", "<s>", "<pad>", "<mask>", "<unk>"),
)


@pytest.fixture(scope="module")
def splitters(encoders: dict[str, Path]) -> dict[str, PieceSplitter]:
    return {kind: PieceSplitter(read_encoder(str(folder))[1], None) for kind, folder in encoders.items()}


def tokens(splitter: PieceSplitter, words: list[str]) -> list[list[str]]:
    """The pieces of each word, as they are written."""
    split = splitter.split(words)
    names = [splitter.backend.id_to_token(number) for number in split.ids.tolist()]
    return [names[a:b] for a, b in zip(split.starts.tolist(), split.ends.tolist(), strict=True)]


def check(splitter: PieceSplitter, words: list[str]) -> None:
    split = splitter.split(words)
    assert split.num_words == len(words)
    assert (split.starts < split.ends).all()
    assert (np.diff(split.starts) >= 0).all()
    assert (np.diff(split.ends) >= 0).all()
    assert split.ends[-1] <= len(split.ids)
    special = {*splitter.tokenizer.all_special_ids} - {splitter.unknown}
    assert not special & {*split.ids.tolist()}
    assert split.ids.min() >= 0
    assert split.ids.max() < splitter.num_pieces


word = st.one_of(
    st.sampled_from(HOSTILE),
    st.sampled_from(("the", "film", "great", "not", "is", ",", ".")),
    st.text(min_size=1, max_size=8),
)


@pytest.mark.parametrize("kind", KINDS)
@given(words=st.lists(word, min_size=1, max_size=9))
def test_every_word_has_pieces_whatever_it_is(
    splitters: dict[str, PieceSplitter], kind: str, words: list[str]
) -> None:
    check(splitters[kind], words)


@pytest.mark.parametrize("kind", KINDS)
def test_words_of_absurd_length(splitters: dict[str, PieceSplitter], kind: str) -> None:
    words = ["the", "x" * 10_000, "film", "日" * 10_000, "good"]
    check(splitters[kind], words)
    found = tokens(splitters[kind], words)
    assert found[0] == tokens(splitters[kind], ["the"])[0]
    assert found[4] == tokens(splitters[kind], ["x", "good"])[1]


@pytest.mark.parametrize("kind", KINDS)
@given(words=st.lists(st.sampled_from(("the", "film", "great", "is", "xyz", "日")), min_size=1, max_size=9))
def test_words_apart_are_cut_as_if_alone(
    splitters: dict[str, PieceSplitter], kind: str, words: list[str]
) -> None:
    """A word in a sentence has the pieces that it has after another word."""
    splitter = splitters[kind]
    found = tokens(splitter, ["the", *words])[1:]
    assert found == [tokens(splitter, ["the", each])[1] for each in words]


def test_what_a_word_looks_like_it_is_not(splitters: dict[str, PieceSplitter]) -> None:
    assert tokens(splitters["bert"], ["[SEP]", "x"]) == [["[", "s", "##e", "##p", "]"], ["x"]]
    assert tokens(splitters["roberta"], ["</s>"]) == [["<", "/", "s", ">"]]
    # Here it is a piece like any other, which would win over its letters.
    assert tokens(splitters["t5"], ["</s>"]) == [["▁", "<unk>"]]


def test_words_are_read_as_people_write_them(splitters: dict[str, PieceSplitter]) -> None:
    split = splitters["bert"].split(["does", "n't", "-LRB-"])
    text = "".join(splitters["bert"].backend.id_to_token(number) for number in split.ids.tolist())
    assert text.replace("##", "") == "doesn't("
    # The tokenizer cuts at the apostrophe, the treebank before the n: they share a piece or not, none goes without.
    check(splitters["bert"], ["does", "n't", "-LRB-"])


def test_what_is_dropped_is_unknown(splitters: dict[str, PieceSplitter]) -> None:
    assert tokens(splitters["bert"], ["\x00", "is", "\u200b", "\x07", "a"]) == [
        ["[UNK]"],
        ["i", "##s"],
        ["[UNK]"],
        ["[UNK]"],
        ["a"],
    ]


def test_files_that_ask_for_cutting_and_filling_are_not_obeyed(splitters: dict[str, PieceSplitter]) -> None:
    splitter = splitters["bert"]
    own = splitter.tokenizer.backend_tokenizer
    assert own.truncation["max_length"] == own.padding["length"] == 8
    assert len(splitter.split(["is"] * 40).ids) == 80
    assert len(splitter.split(["the"]).ids) == 1
    # Whoever has the tokenizer still has it as it was.
    assert own.truncation["max_length"] == 8


def test_the_room_is_what_tokenizer_and_positions_leave(encoders: dict[str, Path]) -> None:
    tokenizer = read_encoder(str(encoders["bert"]))[1]
    assert PieceSplitter(tokenizer, None).row_format.max_pieces == ROOM - 2
    assert PieceSplitter(tokenizer, 20).row_format.max_pieces == 18
    tokenizer.model_max_length = int(1e30)
    assert PieceSplitter(tokenizer, None).row_format.max_pieces == 510
    with pytest.raises(ConfigError, match="reads only 3 pieces"):
        PieceSplitter(tokenizer, 3)


def test_a_tokenizer_without_offsets_is_refused() -> None:
    slow: Any = SimpleNamespace(is_fast=False)
    with pytest.raises(ConfigError, match="does not report the offsets"):
        PieceSplitter(slow, None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_phrase_has_the_same_pieces_wherever_it_stands(encoders: dict[str, Path], kind: str) -> None:
    splitter = PieceSplitter(read_encoder(str(encoders[kind]))[1], None, "phrase")
    alone = tokens(splitter, ["film", "is"])
    assert tokens(splitter, ["the", "film", "is"])[1:] == alone
    assert tokens(splitter, ["film", "is", "good"])[:2] == alone
