"""Training over a transformer: what is to move moves at its rate, what is not stays, and a cut run ends the same."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from lexitree.corpora.named import load_corpus
from lexitree.errors import CheckpointError, ConfigError, FileError, LexitreeError
from lexitree.evaluation.accuracy import evaluate
from lexitree.learning.checkpoint import CHECKPOINT_FILE, load_checkpoint
from lexitree.learning.optimizer import LazyAdam
from lexitree.models.classifier import TreeClassifier
from lexitree.models.encoder_files import read_encoder
from lexitree.models.registries import ENCODERS
from lexitree.models.transformer import TransformerLexicon
from lexitree.ops.tree_batch import batch_examples
from lexitree.saving.pretrained import from_pretrained
from lexitree.tasks.classify.building import build_model
from lexitree.tasks.classify.recipe import Recipe, TrainingConfig
from lexitree.tasks.classify.run import train, train_seeds
from lexitree.tasks.classify.steps import PlainStep
from lexitree.tasks.classify.task import PhraseEpochs
from lexitree.trees.brackets import tree_from_brackets
from lexitree_paper.analyses.collins_overlap import unknown_share
from tests.command import files_of
from tests.tiny import tiny_dependencies, tiny_trees


def make_recipe(
    treebank: Path,
    encoder: Path,
    *,
    model: dict[str, Any] | None = None,
    layers: str = "last",
    **training: Any,
) -> Recipe:
    return Recipe(
        corpus=str(treebank),
        encoder={"name": str(encoder), "layers": layers},
        model={"hidden": 6, "output": 5, "dropout": 0.2, **(model or {})},
        training=TrainingConfig(**{"epochs": 2, "learning_rate": 0.01, "encoder_rate": 1e-3, **training}),
    )


def make_model(recipe: Recipe) -> TreeClassifier:
    torch.manual_seed(1)
    return build_model(recipe, load_corpus(recipe.corpus))


def lexicon_of(model: TreeClassifier) -> TransformerLexicon:
    assert isinstance(model.lexicon, TransformerLexicon)
    return model.lexicon


def encoder_weights(folder: Path) -> dict[str, torch.Tensor]:
    return read_encoder(str(folder))[0].state_dict()


READ_CONSTITUENTS = [name for name, encoder in ENCODERS.items() if encoder.tree_kind == "constituency"]


@pytest.mark.parametrize("name", READ_CONSTITUENTS)
def test_every_model_takes_a_step(treebank: Path, encoders: dict[str, Path], name: str) -> None:
    sizes = {"hidden": 16} if ENCODERS[name].words_are_states else {}
    recipe = make_recipe(treebank, encoders["bert"], model={"model": name, **sizes})
    model = make_model(recipe)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    wide = [
        tree_from_brackets("(1 (0 (_ the) (_ xyz) (0 film)) (1 (1 good)))"),
        tree_from_brackets("(1 good)"),
    ]
    PlainStep(model.train(), LazyAdam(model, recipe.training))(model.prepare([*tiny_trees(4), *wide]))
    moved = {key for key, weight in model.state_dict().items() if not torch.equal(weight, before[key])}
    assert {"scorer.label_bias", "lexicon.encoder.embeddings.word_embeddings.weight"} <= moved
    assert all(torch.isfinite(weight).all() for weight in model.parameters())


def test_rntn_needs_states_of_the_transformers_size(treebank: Path, encoders: dict[str, Path]) -> None:
    with pytest.raises(ConfigError, match="the word size is 16 and the state size 6"):
        make_model(make_recipe(treebank, encoders["bert"], model={"model": "rntn"}))


def test_dependency_trees(dependency_bank: Path, encoders: dict[str, Path]) -> None:
    """Words are at inner nodes as well: each gets the vector of its own place in the sentence."""
    recipe = make_recipe(dependency_bank, encoders["bert"], model={"model": "deptree"})
    model = make_model(recipe).eval()
    trees = tiny_dependencies(3)
    batch = batch_examples(model.prepare(trees))
    found = model._word_vectors(batch)
    order = torch.cat([batch.word_index, batch.inner_word_index])
    first = 0
    for tree in trees:
        alone = batch_examples(model.prepare([tree]))
        own = model._word_vectors(alone)[torch.argsort(torch.cat([alone.word_index, alone.inner_word_index]))]
        torch.testing.assert_close(found[torch.argsort(order)][first : first + tree.num_words], own)
        first += tree.num_words
    PlainStep(model.train(), LazyAdam(model, recipe.training))(model.prepare(trees))


@pytest.mark.parametrize("layers", ["last", "mix"])
def test_frozen_transformers_stay_bit_by_bit(
    treebank: Path, encoders: dict[str, Path], tmp_path: Path, layers: str
) -> None:
    recipe = make_recipe(treebank, encoders["bert"], encoder_rate=0.0, layers=layers, averaging=0.9)
    train(recipe, tmp_path / "run")
    loaded = lexicon_of(from_pretrained(tmp_path / "run" / "model"))
    before = encoder_weights(encoders["bert"])
    for name, weight in loaded.encoder.state_dict().items():
        assert torch.equal(weight, before[name]), name
    if loaded.layer_scores is not None:
        assert loaded.layer_scores.abs().min() > 0


@pytest.mark.parametrize(
    ("kind", "epochs", "share"), [("roberta", 12, 0.25), ("bert", 3, 0.95), ("t5", 3, 0.95)]
)
def test_a_trained_transformer_learns(
    treebank: Path, encoders: dict[str, Path], tmp_path: Path, kind: str, epochs: int, share: float
) -> None:
    """That of bytes learns the treebank by heart; the others cut half of its words into letters and need longer."""
    rates = {"learning_rate": 0.02, "encoder_rate": 5e-3, "schedule": "linear", "warm_up": 0.1, "clip": 5.0}
    recipe = make_recipe(
        treebank, encoders[kind], model={"dropout": 0.0}, epochs=epochs, batch_size=5, **rates
    )
    result = train(recipe, tmp_path / "run")
    losses = [record.loss for record in result.training.history]
    assert losses[-1] < share * losses[0]
    assert result.test is not None
    assert kind != "roberta" or result.test.root.accuracy > 0.8
    model = from_pretrained(tmp_path / "run" / "model")
    again = evaluate(model, model.prepare(load_corpus(treebank).test))
    assert again.as_dict() == result.test.as_dict()
    before = encoder_weights(encoders[kind])
    after = lexicon_of(model).encoder.state_dict()
    assert not any(
        torch.equal(before[name], after[name]) for name in after if "layer.1" in name or "block.1" in name
    )
    record = json.loads((tmp_path / "run" / "model" / "config.json").read_text())
    assert record["training"]["encoder"] == f"tiny-{kind}"


def test_pooled_learns(treebank: Path, encoders: dict[str, Path], tmp_path: Path) -> None:
    settings = {"model": "pooled", "dropout": 0.0}
    rates = {"encoder_rate": 5e-3, "epochs": 10, "batch_size": 5}
    recipe = make_recipe(treebank, encoders["roberta"], model=settings, **rates)
    losses = [record.loss for record in train(recipe, tmp_path / "run").training.history]
    assert losses[-1] < 0.7 * losses[0]


def test_static_vectors_are_trained_beside(treebank: Path, encoders: dict[str, Path], tmp_path: Path) -> None:
    vectors = tmp_path / "v.txt"
    vectors.write_text("good 1 2 3\nbad 4 5 6\nthe 7 8 9\nunheard 1 1 1\n")
    recipe = dataclasses.replace(make_recipe(treebank, encoders["bert"]), vectors=str(vectors))
    model = make_model(recipe)
    table = lexicon_of(model).table
    assert table is not None
    assert model.config.word_size == 16 + 3
    assert set(table.vocabulary) == {"good", "bad", "the", "unheard"}
    before = table.vectors.detach().clone()
    tree = tree_from_brackets("(1 (_ the) (1 good))")
    PlainStep(model.train(), LazyAdam(model, recipe.training))(model.prepare([tree]))
    moved = (table.vectors != before).any(1)
    rows = {word: bool(moved[table.index([word])[0]]) for word in ("the", "good", "bad")}
    assert rows == {"the": True, "good": True, "bad": False}
    train(recipe, tmp_path / "run")
    loaded = from_pretrained(tmp_path / "run" / "model")
    saved = lexicon_of(loaded).table
    assert set(saved.vocabulary) == {"good", "bad", "the", "unheard"}
    assert saved.vectors[saved.index(["unheard"])[0]].tolist() == [1, 1, 1]
    frozen = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, train_words=False))
    model = make_model(frozen)
    before = model.state_dict()["lexicon.table.vectors"].clone()
    PlainStep(model.train(), LazyAdam(model, frozen.training))(model.prepare([tree]))
    assert torch.equal(model.state_dict()["lexicon.table.vectors"], before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": {"word_size": 5}}, "follows from the encoder"),
        ({"encoder": {"layers": "mix"}}, "there is no encoder for these settings: layers"),
        ({"encoder": {"name": "x", "colour": 1}}, r"\[encoder\] unknown setting: colour"),
        ({"encoder": {"name": 7}}, "name must be a string, not 7"),
        ({"vector_length": 3.0}, "there are no vectors to be scaled"),
        ({"encoder": {"name": "./nowhere"}}, "there is no such directory"),
        ({"model": {"model": "pooled"}, "vectors": "v.txt"}, "do not stand beside those of phrases"),
        ({"model": {"model": "pooled"}, "encoder": {}}, "reads vectors of phrases"),
    ],
)
def test_wrong_settings(
    treebank: Path, encoders: dict[str, Path], tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    if "vectors" in change:
        (tmp_path / "v.txt").write_text("good 1 2\nbad 3 4\n")
        change = {**change, "vectors": str(tmp_path / "v.txt")}
    with pytest.raises(LexitreeError, match=message):
        train(dataclasses.replace(make_recipe(treebank, encoders["bert"]), **change), tmp_path / "run")


def final_state(folder: Path) -> tuple[dict[str, bytes], list[dict[str, bytes]]]:
    checkpoint = load_checkpoint(folder / CHECKPOINT_FILE)
    groups = (checkpoint.weights, checkpoint.best_weights, checkpoint.optimizer)
    tensors = [{name: each.numpy().tobytes() for name, each in group.items()} for group in groups]
    return files_of(folder / "model"), tensors


class CutError(Exception):
    """A process that ends at once."""


@pytest.mark.parametrize(
    ("kind", "layers", "settings"),
    [
        ("bert", "last", {"schedule": "linear", "warm_up": 0.2, "clip": 1.0, "layer_decay": 0.8}),
        ("roberta", "mix", {"encoder_rate": 0.0, "averaging": 0.9}),
        ("t5", "mix", {"averaging": 0.9}),
    ],
)
def test_a_cut_run_ends_with_the_same_weights(
    treebank: Path,
    encoders: dict[str, Path],
    tmp_path: Path,
    kind: str,
    layers: str,
    settings: dict[str, Any],
) -> None:
    recipe = make_recipe(treebank, encoders[kind], layers=layers, epochs=3, **settings)
    train(recipe, tmp_path / "whole")

    class Cutter:
        def on_batch(self, progress: Any) -> None:
            if (progress.epoch, progress.num_done) == (2, 25):
                raise CutError

        def on_epoch(self, record: Any) -> None: ...

        def close(self) -> None: ...

    with pytest.raises(CutError):
        train(recipe, tmp_path / "cut", observer=Cutter())
    train(recipe, tmp_path / "cut", resume=True)
    assert final_state(tmp_path / "cut") == final_state(tmp_path / "whole")


def test_more_epochs_of_a_schedule_are_another_run(
    treebank: Path, encoders: dict[str, Path], tmp_path: Path
) -> None:
    for number, settings in enumerate(({"schedule": "linear"}, {"warm_up": 0.1})):
        train(make_recipe(treebank, encoders["bert"], epochs=1, **settings), tmp_path / str(number))
        longer = make_recipe(treebank, encoders["bert"], epochs=2, **settings)
        with pytest.raises(CheckpointError, match="epochs of the schedule was 1, is 2"):
            train(longer, tmp_path / str(number), resume=True)
    train(make_recipe(treebank, encoders["bert"], epochs=1), tmp_path / "constant")
    train(make_recipe(treebank, encoders["bert"], epochs=2), tmp_path / "constant", resume=True)


def test_another_transformer_is_another_run(
    treebank: Path, encoders: dict[str, Path], tmp_path: Path
) -> None:
    recipe = make_recipe(treebank, encoders["bert"], epochs=1)
    train(recipe, tmp_path / "run")
    for change, message in (
        ({"name": str(encoders["roberta"])}, "checksum of the word vectors"),
        ({"layers": "mix"}, r"encoder\.layers was 'last', is 'mix'"),
        ({"half_precision": False}, r"encoder\.half_precision was None, is False"),
    ):
        other = dataclasses.replace(recipe, encoder={**recipe.encoder, **change})
        with pytest.raises(CheckpointError, match=message):
            train(other, tmp_path / "run", resume=True)


def test_distinct_phrases_are_told_apart_by_their_words(treebank: Path, encoders: dict[str, Path]) -> None:
    """A transformer has no numbers of words; phrases of one length must not pass for one."""
    model = make_model(make_recipe(treebank, encoders["bert"], model={"model": "bilstm"}))
    trees = tiny_trees(20)
    epochs = PhraseEpochs(model.prepare(trees), distinct=True)
    phrases = {
        (tree.words[start:end], label)
        for tree in trees
        for (start, end), label in zip(tree.spans, tree.labels, strict=True)
        if label
    }
    assert epochs.num_distinct == len(phrases)


@pytest.mark.slow
def test_seeds_side_by_side(treebank: Path, encoders: dict[str, Path], tmp_path: Path) -> None:
    recipe = make_recipe(treebank, encoders["bert"], epochs=1)
    summary = train_seeds(recipe, [1, 2], tmp_path / "seeds", jobs=2)
    assert set(summary.results) == {1, 2}
    train(recipe, tmp_path / "alone")
    assert files_of(tmp_path / "seeds" / "seed-1" / "model") == files_of(tmp_path / "alone" / "model")


@pytest.mark.slow
def test_an_error_of_one_of_several_seeds_is_clear(treebank: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no such directory"):
        train_seeds(make_recipe(treebank, Path("/no/such/encoder")), [1, 2], tmp_path, jobs=1)


def test_words_that_a_transformer_knows_are_not_unknown(treebank: Path, encoders: dict[str, Path]) -> None:
    model = make_model(make_recipe(treebank, encoders["bert"]))
    assert unknown_share(model, tiny_trees(10)) == 0
    assert unknown_share(model, [tree_from_brackets("(1 (_ 日) (1 good))")]) == 0.5
