"""Saved classifiers opened as NumPy arrays: they answer as the same models do in torch, and refuse what is damaged."""

from __future__ import annotations

import pickle
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lexitree.errors import BackendError, ModelFileError, NotFiniteError
from lexitree.kernels.library import why_absent
from lexitree.models.array_classifier import ArrayClassifier
from lexitree.models.array_encoders import ARRAY_ENCODERS
from lexitree.models.classifier import TreeClassifier
from lexitree.models.registries import ENCODERS
from lexitree.pipeline.predictor import Predictor
from lexitree.results.labelled_tree import LabelledTree
from lexitree.saving.array_models import open_array_classifier, why_not_arrays
from lexitree.saving.model_folder import WEIGHTS_FILE, ModelFolder
from lexitree.saving.model_kinds import save_model
from lexitree.saving.pretrained import copy_to_torch, from_pretrained
from lexitree.trees.tree import Tree
from tests.models.test_guessed_words import strange, with_guesser
from tests.saving.edited_models import edit_weights, seal
from tests.tiny import FINER_LABELS, chain, tiny_dependencies, tiny_model, tiny_trees

BACKENDS = [
    "numpy",
    pytest.param("native", marks=pytest.mark.skipif(why_absent() is not None, reason=str(why_absent()))),
]
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in ARRAY_ENCODERS},
    **{f"heads {method}": ("contree-lex", {"head_method": method}) for method in "LRA"},
    **{f"candidates {kind}": ("bicontree", {"head_candidates": kind}) for kind in ("words", "content")},
    "own inputs": ("topdown", {"share_topdown_inputs": False}),
    "no output layer": ("bicontree", {"output": 0}),
    "finer labels": ("bicontree", {"finer_labels": FINER_LABELS}),
    "temperature": ("bicontree", {"temperature": 1.7}),
    "odd sizes": ("bicontree", {"hidden": 13, "word_size": 7, "output": 5}),
}


def forest_for(name: str) -> Sequence[Tree]:
    if ENCODERS[name].tree_kind == "dependency":
        return [*tiny_dependencies(12), *tiny_dependencies(3, seed=5)]
    return [*tiny_trees(12), Tree.leaf("good"), chain(30), chain(30, "right"), *tiny_trees(3, seed=5)]


def both(folder: Path, model: TreeClassifier, backend: str, **options: Any) -> tuple[Predictor, Predictor]:
    """The saved model as arrays and as tensors."""
    save_model(model, folder, **options)
    arrays = open_array_classifier(ModelFolder(folder), backend=backend)
    return Predictor(arrays), Predictor(from_pretrained(folder, device="cpu", backend="levelwise"))


def assert_alike(found: LabelledTree, expected: LabelledTree, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(found.node_probabilities, expected.node_probabilities, atol=tolerance)
    assert (found.head_index is None) == (expected.head_index is None)
    if found.head_index is not None and expected.head_index is not None:
        np.testing.assert_array_equal(found.head_index, expected.head_index)
        assert found.head_weight is not None
        assert expected.head_weight is not None
        np.testing.assert_allclose(found.head_weight, expected.head_weight, atol=tolerance)
        node = expected.source.num_nodes // 2
        np.testing.assert_allclose(
            found.head_weights(node) or (), expected.head_weights(node) or (), atol=tolerance
        )


def test_all_built_in_models_of_words_have_arrays() -> None:
    assert set(ARRAY_ENCODERS) == {name for name in ENCODERS.built_in if ENCODERS[name].reads == "word"}
    for name, arrays in ARRAY_ENCODERS.items():
        original = ENCODERS[name]
        assert (arrays.has_heads, arrays.tree_kind, arrays.num_states) == (
            original.has_heads,
            original.tree_kind,
            original.num_states,
        )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_answers_are_those_of_torch(variant: str, backend: str, tmp_path: Path) -> None:
    name, settings = VARIANTS[variant]
    model = tiny_model(name, **settings)
    if backend == "native" and "native" not in model.what_runs.values():
        with pytest.raises(BackendError, match="no native implementation"):
            both(tmp_path / "model", model, backend)
        return
    arrays, tensors = both(tmp_path / "model", model, backend)
    forest = forest_for(name)
    for nodes in ("all", "root"):
        answers = zip(
            arrays.predict_all(forest, nodes=nodes), tensors.predict_all(forest, nodes=nodes), strict=True
        )
        for found, expected in answers:
            assert_alike(found, expected)
    assert set(arrays.model.what_runs) == set(tensors.model.what_runs)


@pytest.mark.parametrize("table", ["float32", "float16", "int8"])
def test_tables_are_read_as_they_are_stored(table: Any, tmp_path: Path) -> None:
    model, rng = with_guesser(tiny_model()), random.Random(1)
    arrays, tensors = both(tmp_path / "model", model, "auto", table=table)
    forest = [strange(tree, rng) for tree in tiny_trees(20)]
    for found, expected in zip(arrays.predict_all(forest), tensors.predict_all(forest), strict=True):
        assert_alike(found, expected)
    words = [word for tree in forest for word in tree.words]
    assert arrays.model.lexicon.count_unknown(words) == tensors.model.lexicon.count_unknown(words) > 0


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save_model(with_guesser(tiny_model()), tmp_path / "model", table="int8")


def test_a_copy_answers_alike(saved: Path) -> None:
    model = open_array_classifier(ModelFolder(saved))
    model.training_record = {"corpus": "mine"}
    copied = pickle.loads(pickle.dumps(Predictor(model)))
    assert isinstance(copied.model, ArrayClassifier)
    assert copied.model.training_record == {"corpus": "mine"}
    for tree in tiny_trees(3):
        assert_alike(copied.predict(tree), Predictor(model).predict(tree), 0)


def test_threads_share_a_model(saved: Path) -> None:
    predictor, forest = Predictor(open_array_classifier(ModelFolder(saved))), tiny_trees(60)
    expected = [predictor.predict(tree) for tree in forest]
    with ThreadPoolExecutor(4) as threads:
        for found, one in zip(threads.map(predictor.predict, forest), expected, strict=True):
            assert_alike(found, one, 0)


def test_it_is_saved_by_way_of_torch(saved: Path, tmp_path: Path) -> None:
    model = open_array_classifier(ModelFolder(saved))
    again = save_model(model, tmp_path / "again", table="int8")
    assert (again / WEIGHTS_FILE).read_bytes() == (saved / WEIGHTS_FILE).read_bytes()
    assert ModelFolder(again).values["model"] == ModelFolder(saved).values["model"]
    copied = copy_to_torch(model)
    for tree in tiny_trees(3):
        assert_alike(Predictor(copied).predict(tree), Predictor(model).predict(tree))


def change_weights(folder: Path, changes: dict[str, torch.Tensor | None]) -> None:
    def change(tensors: dict[str, torch.Tensor]) -> None:
        for name, tensor in changes.items():
            if tensor is None:
                del tensors[name]
            else:
                tensors[name] = tensor

    edit_weights(folder, change)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"encoder.bottom_up.bias": None}, "missing or unknown weights: encoder.bottom_up.bias"),
        ({"scorer.label_bias": torch.zeros(3).half()}, "scorer.label_bias has the shape"),
        ({"encoder.extra": torch.zeros(3).half()}, "missing or unknown weights: encoder.extra"),
        ({"lexicon.extra": torch.zeros(3).half()}, "missing or unknown weights: lexicon.extra"),
        ({"lexicon.guesser.mean": None}, "missing or unknown weights: lexicon.guesser.mean"),
        ({"lexicon.guesser.mean": torch.zeros(3).half()}, "do not fit each other"),
        ({"lexicon.vectors": None, "lexicon.vectors.scale": None}, "do not belong together"),
        ({"lexicon.vectors.scale": None}, "no scale"),
        ({"scorer.label_bias": torch.zeros(2, dtype=torch.int64)}, "numbers of type I64"),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    saved: Path, changes: dict[str, torch.Tensor | None], problem: str
) -> None:
    change_weights(saved, changes)
    with pytest.raises(ModelFileError, match=problem):
        open_array_classifier(ModelFolder(saved))


def test_a_broken_model_is_found_out(saved: Path) -> None:
    change_weights(saved, {"scorer.label_bias": torch.full((2,), torch.nan).half()})
    predictor = Predictor(open_array_classifier(ModelFolder(saved)))
    with pytest.raises(NotFiniteError, match="not finite"):
        predictor.predict(tiny_trees(1)[0])


def test_a_cut_file_is_refused(saved: Path) -> None:
    path = saved / WEIGHTS_FILE
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ModelFileError, match="damaged"):
        open_array_classifier(ModelFolder(saved))
    seal(saved)
    with pytest.raises(ModelFileError, match="damaged or cut off"):
        open_array_classifier(ModelFolder(saved))


def test_what_needs_torch_says_why(saved: Path) -> None:
    folder = ModelFolder(saved)
    assert why_not_arrays(folder) is None
    for changed, why in (
        ({"kind": "parser"}, "it is a parser"),
        ({"encoder": {}}, "it has a transformer"),
        ({"model": {"model": "mean-tree"}}, "its model is of another package"),
        ({"model": {"head_method": "mine"}}, "its head method is of another package"),
    ):
        other = ModelFolder(saved)
        other.values.update(changed)
        assert why_not_arrays(other) == why
    with pytest.raises(BackendError, match="levelwise backend needs torch"):
        open_array_classifier(folder, backend="levelwise")
