"""A transformer as a lexicon against a slow one: each sentence alone, each word the mean of its pieces' states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.errors import ConfigError
from lexitree.lexicon.pieces import PieceLayout
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.transformer import TransformerLexicon
from lexitree.models.word_table import WordTable
from lexitree.ops.tree_batch import PieceBatch
from lexitree.trees.brackets import tree_from_brackets
from tests.models.slow_vectors import open_lexicon, slow_vectors, states, vectors
from tests.tiny import tiny_trees
from tests.tiny_encoders import KINDS, OTHER_KINDS, write_encoder

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.fixture(scope="module")
def lexicons(encoders: dict[str, Path]) -> dict[str, TransformerLexicon]:
    """By kind; they are read in double precision, so that what is equal shows."""
    return {kind: open_lexicon(folder).double().eval() for kind, folder in encoders.items()}


WORDS = ("the", "film", "great", "not", "n't", "is", "xyz", "日", "\x00", ",", "-LRB-", "a b", "[SEP]")
sentences = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), min_size=1, max_size=5)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(batch=sentences)
def test_a_batch_equals_each_sentence_alone(
    lexicons: dict[str, TransformerLexicon], kind: str, batch: list[list[str]]
) -> None:
    lexicon = lexicons[kind]
    with torch.no_grad():
        expected = torch.cat([slow_vectors(lexicon, words) for words in batch])
        torch.testing.assert_close(vectors(lexicon, batch), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_long_sentences_equal_windows_read_by_hand(
    lexicons: dict[str, TransformerLexicon], kind: str
) -> None:
    lexicon = lexicons[kind]
    words = [*(["the", "film", "is", "not", "great", ",", "xyz"] * 9), "x" * 99, "good"]
    split = lexicon.split(words)
    row_format = split.row_format
    size, last = row_format.max_pieces, len(split.ids) - row_format.max_pieces
    assert last > size
    firsts = sorted({min(first, last) for first in range(0, last + size, size // 2)})
    with torch.no_grad():
        rows = {
            first: states(
                lexicon, [*row_format.before, *split.ids[first : first + size].tolist(), *row_format.after]
            )[len(row_format.before) :]
            for first in firsts
        }
        found = vectors(lexicon, [["is"], words, ["the", "film"]])[1:-2]
    for word, (start, end) in enumerate(zip(split.starts.tolist(), split.ends.tolist(), strict=True)):
        end = min(end, start + row_format.max_word_pieces)
        first = max(firsts, key=lambda first: (min(start - first, first + size - end), -first))
        expected = rows[first][start - first : end - first].mean(0)
        torch.testing.assert_close(found[word], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_order_and_neighbours_do_not_matter(lexicons: dict[str, TransformerLexicon], kind: str) -> None:
    batch = [["the", "film"], ["is"], ["the", "plot", "is", "not", "bad", ",", "xyz"], ["日"] * 4]
    with torch.no_grad():
        found = torch.split(vectors(lexicons[kind], batch), [len(words) for words in batch])
        turned = torch.split(vectors(lexicons[kind], batch[::-1]), [len(words) for words in batch[::-1]])
    for some, others in zip(found, reversed(turned), strict=True):
        torch.testing.assert_close(some, others, rtol=1e-6, atol=1e-7)


def test_context_counts(lexicons: dict[str, TransformerLexicon]) -> None:
    """What all this is for: the same word has another vector in another sentence."""
    with torch.no_grad():
        found = vectors(lexicons["bert"], [["the", "film"], ["great", "film"]])
    assert not torch.allclose(found[1], found[3], atol=1e-3)


def test_only_words_that_are_asked_for(lexicons: dict[str, TransformerLexicon]) -> None:
    lexicon = lexicons["bert"]
    batch = PieceBatch.from_layout(PieceLayout.from_trees([], [lexicon.split(["the", "film", "is"])]))
    with torch.no_grad():
        every = lexicon(torch.arange(3), None, batch)
        assert torch.equal(lexicon(torch.tensor([2, 0, 2]), None, batch), every[[2, 0, 2]])


@pytest.mark.parametrize("kind", KINDS)
def test_phrases_are_read_alone(encoders: dict[str, Path], kind: str) -> None:
    lexicon = open_lexicon(encoders[kind], unit="phrase").double().eval()
    trees = [
        *tiny_trees(4),
        tree_from_brackets("(1 (0 (_ the) (_ plot)) (1 good))"),
        tree_from_brackets("(1 good)"),
    ]
    batch = PieceBatch.from_layout(
        PieceLayout.from_trees(trees, [lexicon.split(tree.words) for tree in trees])
    )
    with torch.no_grad():
        found = lexicon(torch.zeros(0, dtype=torch.int64), None, batch)
        expected = []
        for tree in trees:
            for start, end in tree.spans:
                split = lexicon.split(tree.words[start:end])
                own = split.ids[split.starts[0] : split.ends[-1]].tolist()
                row = [*split.row_format.before, *own, *split.row_format.after]
                expected.append(states(lexicon, row).mean(0))
    torch.testing.assert_close(found, torch.stack(expected), rtol=1e-5, atol=1e-6)
    assert len(batch.count) < len(found)


def test_a_phrase_that_is_longer_than_a_row_is_read_to_its_end(encoders: dict[str, Path]) -> None:
    lexicon = open_lexicon(encoders["bert"], unit="phrase").double().eval()
    words = ["a"] * 29 + ["good", "b"] + ["c"] * 10
    flat = tree_from_brackets("(1 " + " ".join(f"(_ {word})" for word in words) + ")")
    batch = PieceBatch.from_layout(PieceLayout.from_trees([flat], [lexicon.split(words)]))
    with torch.no_grad():
        found = lexicon(torch.zeros(0, dtype=torch.int64), None, batch)[0]
        ids = lexicon.split(words).ids.tolist()
        parts = [states(lexicon, [2, *ids[k : k + 30], 3]) for k in (0, 30)]
    torch.testing.assert_close(found, torch.cat(parts).mean(0), rtol=1e-5, atol=1e-6)


def test_layers_are_mixed_by_learned_shares(encoders: dict[str, Path]) -> None:
    lexicon = open_lexicon(encoders["bert"], layers="mix").double().eval()
    assert lexicon.layer_scores is not None
    words = ["the", "film", "is"]
    with torch.no_grad():
        lexicon.layer_scores.copy_(torch.tensor([1.0, -1.0, 0.5]))
        shares = lexicon.layer_scores.softmax(0)
        layers = torch.stack([slow_vectors(lexicon, words, layer) for layer in (0, 1, 2)])
        expected = (shares[:, None, None] * layers).sum(0)
        torch.testing.assert_close(vectors(lexicon, [words]), expected, rtol=1e-5, atol=1e-6)
    lexicon.choose_trained(words=True, encoder=False)
    vectors(lexicon, [words]).square().sum().backward()
    assert lexicon.layer_scores.grad is not None
    assert lexicon.layer_scores.grad.abs().min() > 0
    assert all(weight.grad is None for weight in lexicon.encoder.parameters())


def tiny_table(word_size: int = 3) -> WordTable:
    return WordTable.random(Vocabulary(["the", "film"]), word_size)


def test_static_vectors_stand_beside(encoders: dict[str, Path]) -> None:
    table = tiny_table()
    lexicon = open_lexicon(encoders["roberta"], table=table).eval()
    assert lexicon.word_size == 19
    batch = [["film", "xyz"], ["the"]]
    found = vectors(lexicon, batch)
    static = table.vectors[torch.from_numpy(table.index(["film", "xyz", "the"]))]
    assert torch.equal(found[:, 16:], static)
    bare = open_lexicon(encoders["roberta"]).eval()
    torch.testing.assert_close(found[:, :16], vectors(bare, batch))
    assert lexicon.lazy_table is table.vectors
    with pytest.raises(ConfigError, match="do not stand beside those of phrases"):
        open_lexicon(encoders["roberta"], table=tiny_table(), unit="phrase")


def test_what_is_trained_can_be_chosen(encoders: dict[str, Path]) -> None:
    lexicon = open_lexicon(encoders["bert"], table=tiny_table(), layers="mix")
    assert lexicon.table is not None
    assert lexicon.layer_scores is not None
    for words in (True, False):
        for encoder in (False, True):
            lexicon.choose_trained(words=words, encoder=encoder)
            assert lexicon.is_frozen is not encoder
            assert {weight.requires_grad for weight in lexicon.encoder.parameters()} == {encoder}
            assert lexicon.table.vectors.requires_grad is words
            assert lexicon.layer_scores.requires_grad
    assert lexicon.was_trained


def test_a_frozen_transformer_drops_nothing_out(encoders: dict[str, Path]) -> None:
    lexicon = open_lexicon(encoders["bert"])
    lexicon.choose_trained(words=True, encoder=True)
    lexicon.train()
    words = [["the", "film"]]
    assert not torch.equal(vectors(lexicon, words), vectors(lexicon, words))
    lexicon.choose_trained(words=True, encoder=False)
    lexicon.train()
    assert torch.equal(vectors(lexicon, words), vectors(lexicon, words))
    assert not vectors(lexicon, words).requires_grad


@pytest.mark.parametrize("kind", KINDS)
def test_depths_are_counted_from_the_top(lexicons: dict[str, TransformerLexicon], kind: str) -> None:
    lexicon = lexicons[kind]
    names = {id(weight): name for name, weight in lexicon.encoder.named_parameters()}
    depths = {names[id(weight)]: depth for weight, depth in lexicon.pretrained_depths()}
    assert depths.keys() == set(names.values())
    layer = {"bert": "encoder.layer.{}.", "roberta": "encoder.layer.{}.", "t5": "encoder.block.{}."}[kind]
    assert {depth for name, depth in depths.items() if name.startswith(layer.format(0))} == {1}
    assert {depth for name, depth in depths.items() if name.startswith(layer.format(1))} == {0}
    embeddings: Any = lexicon.encoder
    assert depths[names[id(embeddings.get_input_embeddings().weight)]] == 2
    assert set(depths.values()) == {0, 1, 2}


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_both_forms_of_the_mask_give_the_same(encoders: dict[str, Path], kind: str) -> None:
    lexicon = open_lexicon(encoders[kind]).eval()
    assert lexicon.takes_whole_mask
    rng = np.random.default_rng(0)
    ids = torch.from_numpy(rng.integers(5, 30, (6, 12)))
    lengths = torch.tensor([12, 1, 2, 11, 3, 7])
    ids[torch.arange(12) >= lengths[:, None]] = lexicon.splitter.row_format.padding
    found = lexicon._run(ids, lengths).last_hidden_state
    assert torch.isfinite(found).all()
    found.square().sum().backward()
    gradients = [weight.grad.clone() for weight in lexicon.encoder.parameters() if weight.grad is not None]
    assert all(torch.isfinite(gradient).all() for gradient in gradients)
    lexicon.zero_grad()
    lexicon.takes_whole_mask = False
    expected = lexicon._run(ids, lengths).last_hidden_state
    is_piece = torch.arange(12) < lengths[:, None]
    torch.testing.assert_close(found[is_piece], expected[is_piece], rtol=1e-4, atol=1e-5)


def test_other_attention_gets_a_mask_by_pieces(lexicons: dict[str, TransformerLexicon]) -> None:
    assert not lexicons["t5"].takes_whole_mask


def test_the_room_of_roberta_begins_after_the_filling_piece(lexicons: dict[str, TransformerLexicon]) -> None:
    """It has two positions that are never used; one piece more than fits would be an error deep inside."""
    lexicon = lexicons["roberta"]
    positions: Any = lexicon.encoder.config
    assert lexicon.splitter.row_format.max_pieces == positions.max_position_embeddings - 2 - 2


def test_unknown_words_are_counted(lexicons: dict[str, TransformerLexicon]) -> None:
    words = ["the", "日", "xyz", "\x00", "日a", "日本"]
    assert lexicons["bert"].count_unknown(words) == 3
    assert lexicons["roberta"].count_unknown(words) == 0


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_other_kinds(tmp_path: Path, kind: str) -> None:
    """What the library calls sizes and layers differs from kind to kind; what is read must not."""
    lexicon = open_lexicon(write_encoder(tmp_path / kind, kind), layers="mix").double().eval()
    assert (lexicon.context_size, lexicon.num_layers) == (16, 2)
    batch = [["the", "film", "is", "great"], ["film"]]
    with torch.no_grad():
        layers = [torch.cat([slow_vectors(lexicon, words, layer) for words in batch]) for layer in range(3)]
        torch.testing.assert_close(vectors(lexicon, batch), torch.stack(layers).mean(0), rtol=1e-4, atol=1e-5)
    depths = [depth for _, depth in lexicon.pretrained_depths()]
    assert min(depths) >= 0
    assert max(depths) == 2


@on_gpu
@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_half_precision_on_a_gpu_is_close(encoders: dict[str, Path], kind: str) -> None:
    batch = [["the", "film"], ["the", "plot", "is", "not", "bad", ",", "xyz"]]
    expected = vectors(open_lexicon(encoders[kind]).eval(), batch)
    for half, tolerance in ((False, 2e-3), (True, 0.1)):
        lexicon = open_lexicon(encoders[kind], half_precision=half).cuda().eval()
        found = vectors(lexicon, batch)
        assert found.dtype == torch.float32
        torch.testing.assert_close(found.cpu(), expected, rtol=tolerance, atol=tolerance)


@on_gpu
def test_a_gpu_does_not_wait(encoders: dict[str, Path]) -> None:
    lexicon = open_lexicon(encoders["bert"]).cuda().train()
    pieces = PieceBatch.from_layout(
        PieceLayout.from_trees([], [lexicon.split(["the", "film"]), lexicon.split(["is"])])
    )
    pieces, index = pieces.to(torch.device("cuda")), torch.arange(3, device="cuda")
    lexicon(index, None, pieces).sum().backward()
    torch.cuda.set_sync_debug_mode("error")
    try:
        lexicon(index, None, pieces).sum().backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")


@on_gpu
def test_attention_on_a_gpu_is_not_planned_anew_for_each_shape(
    encoders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ways to compute it are as they were afterwards."""
    lexicon = open_lexicon(encoders["bert"]).cuda()
    allowed: list[bool] = []
    forward = lexicon.encoder.forward

    def watch(*args: Any, **kwargs: Any) -> Any:
        allowed.append(torch.backends.cuda.cudnn_sdp_enabled())
        return forward(*args, **kwargs)

    monkeypatch.setattr(lexicon.encoder, "forward", watch)
    before = torch.backends.cuda.cudnn_sdp_enabled()
    vectors(lexicon, [["the", "film"]])
    assert allowed == [False]
    assert torch.backends.cuda.cudnn_sdp_enabled() == before
