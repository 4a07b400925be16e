"""Dropout by example: the right share, whatever the batch, its padding and the device."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from lexitree.batch.tree_examples import Example
from lexitree.models.classifier import TreeClassifier
from lexitree.models.dropout import DropoutByRow, derive_keys, drop_by_keys, with_keys
from lexitree.models.model_config import ModelConfig
from lexitree.models.transformer import TransformerConfig, open_transformer
from lexitree.ops.tree_batch import TreeBatch, batch_examples
from tests.tiny import LABELS, tiny_model, tiny_trees
from tests.tiny_encoders import OTHER_KINDS, write_encoder

KEYS = derive_keys(torch.tensor(3), torch.arange(50))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_share_and_the_mean(share: float) -> None:
    x = torch.ones(50, 40, 103)
    dropped = drop_by_keys(x, share, KEYS)
    is_zero = dropped == 0
    assert is_zero.float().mean() == pytest.approx(share, abs=0.005)
    assert dropped[~is_zero].unique().tolist() == pytest.approx([1 / (1 - share)])
    # In no row, place or dimension is the share another one.
    for dims in ((1, 2), (0, 2), (0, 1)):
        shares = is_zero.float().mean(dims)
        deviation = (share * (1 - share) * shares.numel() / x.numel()) ** 0.5
        assert (shares - share).abs().max() < 5 * deviation


def test_neighbours_are_independent() -> None:
    is_kept = drop_by_keys(torch.ones(50, 400), 0.5, KEYS).bool().double() - 0.5
    for first, second in ((is_kept[:, 1:], is_kept[:, :-1]), (is_kept[1:], is_kept[:-1])):
        assert abs(float((first * second).mean() / 0.25)) < 0.03


def test_the_size_of_a_row_does_not_matter() -> None:
    wide, narrow = (drop_by_keys(torch.ones(50, *size), 0.5, KEYS) for size in ((7, 11), (4, 6)))
    assert torch.equal(wide[:, :4, :6], narrow)


def keyed(examples: list[Example], numbers: list[int], update: int = 1) -> TreeBatch:
    return with_keys(batch_examples(examples), 5, update, numbers)


def losses_of(model: TreeClassifier, examples: list[Example], parts: list[list[int]]) -> float:
    return sum(
        float(model.loss(keyed([examples[number] for number in part], part)).detach()) for part in parts
    )


@pytest.mark.parametrize("name", ["bicontree", "bilstm"])
def test_the_loss_of_a_tree_does_not_depend_on_its_batch(name: str) -> None:
    model = tiny_model(name, dropout=0.3, state_dropout=0.3).double().train()
    examples = model.prepare(tiny_trees(6))
    together = losses_of(model, examples, [[0, 1, 2, 3, 4, 5]])
    assert losses_of(model, examples, [[5, 0], [2], [1, 3, 4]]) == pytest.approx(together, abs=1e-12)
    with torch.no_grad():
        assert float(model.loss(keyed(examples, [1, 2, 3, 4, 5, 0]))) != pytest.approx(together)
        plain = float(model.eval().loss(batch_examples(examples)))
        assert float(model.loss(keyed(examples, [0] * 6))) == pytest.approx(plain)


def check_transformer(folder: Path, unit: str = "word") -> None:
    torch.manual_seed(1)
    lexicon = open_transformer(
        TransformerConfig(name=str(folder)), unit="phrase" if unit == "phrase" else "word"
    )
    name = "pooled" if unit == "phrase" else "bicontree"
    config = ModelConfig(
        model=name, labels=LABELS, word_size=lexicon.word_size, hidden=8, output=8, dropout=0.1
    )
    model = TreeClassifier(config, lexicon).double().train()
    examples = model.prepare(tiny_trees(6))
    together = losses_of(model, examples, [[0, 1, 2, 3, 4, 5]])
    assert losses_of(model, examples, [[5, 0], [2], [1, 3, 4]]) == pytest.approx(together, abs=1e-9)
    other = float(model.loss(keyed(examples, [0, 1, 2, 3, 4, 5], update=2)).detach())
    assert other != pytest.approx(together)


def test_a_transformer_goes_by_the_row(encoders: dict[str, Path]) -> None:
    check_transformer(encoders["bert"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["roberta", "t5", *OTHER_KINDS])
def test_other_transformers_go_by_the_row(kind: str, tmp_path: Path) -> None:
    settings = {"albert": {"hidden_dropout_prob": 0.1}, "modernbert": {"mlp_dropout": 0.1}}.get(kind, {})
    check_transformer(write_encoder(tmp_path, kind, **settings))


@pytest.mark.slow
def test_phrases_go_by_the_row(encoders: dict[str, Path]) -> None:
    check_transformer(encoders["bert"], "phrase")


@pytest.mark.parametrize("mask", ["none", "causal", "some", "added"])
def test_attention_is_the_one_of_torch(mask: str) -> None:
    torch.manual_seed(1)
    query, key, value = (torch.randn(3, 2, 5, 4, dtype=torch.float64) for _ in range(3))
    hidden = torch.ones(3, 1, 5, 5, dtype=torch.bool).tril(2)
    attn_mask = {"some": hidden, "added": torch.randn(3, 1, 5, 5, dtype=torch.float64)}.get(mask)
    ids, lengths = torch.ones(3, 5, dtype=torch.int64), torch.full((3,), 5)

    def attend(dropout: float) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=attn_mask, dropout_p=dropout, is_causal=mask == "causal"
        )

    with DropoutByRow(1, ids, lengths):
        # So small a share drops nothing, but takes the way of larger ones.
        assert torch.allclose(attend(1e-9), attend(0.0), atol=1e-8)
        assert not torch.allclose(attend(0.5), attend(0.0))
