"""Texts that a model is scored on decide nothing about its words: neither which have vectors, nor that of all others."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from lexitree.corpora.named import load_corpus
from lexitree.errors import CheckpointError
from lexitree.learning.checkpoint import CHECKPOINT_FILE, load_checkpoint
from lexitree.lexicon.vector_files import read_vectors
from lexitree.lexicon.vector_npz import write_vectors_npz
from lexitree.lexicon.vector_streams import WordVectors
from lexitree.lexicon.vocabulary import count_words
from lexitree.models.word_table import WordTable
from lexitree.saving.model_folder import VOCABULARY_FILE, WEIGHTS_FILE
from lexitree.saving.model_kinds import save_model
from lexitree.saving.packing import pack_model
from lexitree.saving.pretrained import from_pretrained
from lexitree.tasks.classify import building
from lexitree.tasks.classify.building import build_model
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.run import train
from tests.tiny import SIZES, tiny_recipe, tiny_trees

NUM_FIRST = 6
WORDS = ("wonderful", "zebra", "of", "awful", "", "to", "unheard", "unseen")
"""What the file of vectors has besides the words of the treebank, which come after the first five."""


@pytest.fixture
def recipe(treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    monkeypatch.setattr(building, "NUM_FIRST", NUM_FIRST)
    known = sorted(count_words(tiny_trees(60)))
    gap = WORDS.index("")
    words = (*WORDS[:gap], *known, *WORDS[gap + 1 :])
    numbers = np.random.default_rng(0).normal(size=(len(words), SIZES["word_size"]))
    write_vectors_npz(tmp_path / "v.npz", WordVectors(words, numbers.astype(np.float32), ""))
    training = {"epochs": 1, "averaging": 0.9, "batch_size": 5}
    return dataclasses.replace(tiny_recipe(treebank, **training), vectors=str(tmp_path / "v.npz"))


def held_out(treebank: Path, folder: Path, dev: str, test: str) -> Path:
    """The same training trees with other sentences beside them."""
    folder.mkdir()
    shutil.copy(treebank / "train.txt", folder)
    for split, words in (("dev", dev), ("test", test)):
        first, *rest = words.split()
        (folder / f"{split}.txt").write_text(f"(1 (1 {first}) (0 {' '.join(rest)}))\n")
    return folder


def files_of_run(recipe: Recipe, treebank: Path, folder: Path) -> dict[str, bytes]:
    """Everything about words and weights that a run leaves, and that packing its model leaves."""
    train(dataclasses.replace(recipe, corpus=str(treebank)), folder / "run")
    checkpoint = load_checkpoint(folder / "run" / CHECKPOINT_FILE)
    tensors = {**checkpoint.weights, **checkpoint.best_weights, **checkpoint.optimizer}
    files = {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}
    model = from_pretrained(folder / "run" / "model")
    vectors, trained = read_vectors(Path(recipe.vectors or "")), count_words(load_corpus(treebank).train)
    pack_model(model, trained, vectors=vectors, num_words=14, guess=False)
    save_model(model, folder / "packed", table="int8")
    for name in (WEIGHTS_FILE, VOCABULARY_FILE):
        files |= {
            f"{place}/{name}": (folder / place / name).read_bytes() for place in ("run/model", "packed")
        }
    return files


def test_other_texts_to_score_leave_every_table_as_it_is(
    recipe: Recipe, treebank: Path, tmp_path: Path
) -> None:
    texts = (
        ("awful zebra", "unheard wonderful"),
        ("unheard wonderful", "awful zebra"),
        ("unseen plot", "film strange"),
    )
    first, *others = (
        files_of_run(
            recipe, held_out(treebank, tmp_path / f"bank-{number}", dev, test), tmp_path / str(number)
        )
        for number, (dev, test) in enumerate(texts)
    )
    assert len(first) > 20
    assert all(other == first for other in others)


def test_a_word_that_is_only_tested_has_its_own_vector(
    recipe: Recipe, treebank: Path, tmp_path: Path
) -> None:
    folder = held_out(treebank, tmp_path / "bank", "awful film", "zebra unheard")
    corpus = load_corpus(folder)
    model = build_model(recipe, corpus).eval()
    table = model.lexicon
    assert isinstance(table, WordTable)
    file = read_vectors(Path(recipe.vectors or ""))
    of_file = {word: torch.from_numpy(row) for word, row in zip(file.words, file.vectors, strict=True)}
    rows = torch.from_numpy(table.index(["zebra", "awful", "film", "unheard"]))
    zebra, awful, film, unheard = table(rows)
    assert torch.equal(zebra, of_file["zebra"])
    assert torch.equal(awful, of_file["awful"])
    assert torch.equal(film, of_file["film"])
    # Beyond the first rows of the file, only training words are kept: being tested gives a word no right to a vector.
    assert torch.equal(unheard, table.vectors[0])
    everything = build_model(dataclasses.replace(recipe, all_vectors=True), corpus).lexicon
    assert "unheard" in everything.vocabulary
    assert torch.allclose(everything.vectors[0], torch.from_numpy(file.vectors).mean(0), atol=1e-6)


def test_what_a_run_holds_and_writes_grows_with_training_words_only(
    recipe: Recipe, treebank: Path, tmp_path: Path
) -> None:
    train(recipe, tmp_path / "run")
    checkpoint = load_checkpoint(tmp_path / "run" / CHECKPOINT_FILE)
    num_rows = 1 + len(count_words(load_corpus(treebank).train))
    groups = checkpoint.weights, checkpoint.best_weights, checkpoint.optimizer
    tables = [tensor for group in groups for tensor in group.values() if len(tensor.shape) == 2]
    sizes = {len(tensor) for tensor in tables if tensor.shape[1] == SIZES["word_size"]} - {SIZES["word_size"]}
    assert num_rows in sizes
    assert max(sizes) <= max(num_rows, 5 * SIZES["hidden"])
    assert len(from_pretrained(tmp_path / "run" / "model").lexicon.vectors) == num_rows + 4


def test_other_vectors_of_words_outside_of_training_are_another_run(
    recipe: Recipe, treebank: Path, tmp_path: Path
) -> None:
    train(recipe, tmp_path / "run")
    file = read_vectors(Path(recipe.vectors or ""))
    changed = file.vectors.copy()
    changed[file.words.index("zebra")] = 7
    write_vectors_npz(Path(recipe.vectors or ""), dataclasses.replace(file, vectors=changed))
    with pytest.raises(CheckpointError, match="word vectors"):
        train(recipe, tmp_path / "run", resume=True)
