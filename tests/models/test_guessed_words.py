"""Models with a guesser: an unknown word is read as if the table had its guess, whoever asks and in whatever order."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from lexitree.evaluation.accuracy import evaluate
from lexitree.lexicon.vocabulary import UNK, Vocabulary
from lexitree.models.classifier import TreeClassifier
from lexitree.models.guesses import VectorGuesser
from lexitree.models.inference import find_head_shares
from lexitree.models.word_table import WordTable
from lexitree.pipeline.predictor import Predictor
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.saving.model_kinds import save_model
from lexitree.saving.pretrained import from_pretrained
from lexitree.trees.binarize import unchanged
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import Tree
from tests.pipeline.stubs import RightBranching
from tests.tiny import tiny_dependencies, tiny_model, tiny_trees

UNKNOWN = ("storyline", "not-so-great", "fiiiine", "unheard", "Zzz", "plotty")


def with_guesser(model: TreeClassifier) -> TreeClassifier:
    """A guesser whose guesses are far from row 0, so that it matters which of the two is read."""
    table = model.lexicon
    assert isinstance(table, WordTable)
    generator = torch.Generator().manual_seed(4)
    size = table.word_size
    shapes = ((97, 5), (5, size), (size,))
    table.guesser = VectorGuesser(*(torch.randn(shape, generator=generator) for shape in shapes))
    return model


def with_all_words(model: TreeClassifier) -> TreeClassifier:
    """The same model whose table has the guesses as rows."""
    table = model.lexicon
    assert isinstance(table, WordTable)
    rows = torch.cat([table.vectors.detach(), table.guess(UNKNOWN)])
    complete = TreeClassifier(model.config, WordTable(Vocabulary([*table.vocabulary, *UNKNOWN]), rows))
    weights = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith("lexicon")}
    complete.load_state_dict({**weights, "lexicon.vectors": rows})
    return complete.eval()


def strange(tree: Tree, rng: random.Random) -> Tree:
    """The tree with some unknown words in it."""
    words = [rng.choice(UNKNOWN) if rng.random() < 0.4 else word for word in tree.words]
    if isinstance(tree, DependencyTree):
        return DependencyTree.from_parents(words, tree.word_parents).with_labels(tree.labels)
    return Tree(tree.arity, tree.labels, words)


@pytest.fixture(scope="module")
def model() -> TreeClassifier:
    return with_guesser(tiny_model())


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    rng = random.Random(3)
    return [strange(tree, rng) for tree in tiny_trees(60)]


def probabilities(model: TreeClassifier, trees: list[Tree]) -> list[np.ndarray]:
    return [prediction.node_probabilities for prediction in Predictor(model).predict_all(trees)]


def assert_same(first: list[np.ndarray], second: list[np.ndarray]) -> None:
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-6)


def test_it_is_as_if_the_table_had_the_words(model: TreeClassifier, trees: list[Tree]) -> None:
    assert_same(probabilities(model, trees), probabilities(with_all_words(model), trees))
    heads = [
        [p.head_index.tolist() for p in Predictor(m).predict_all(trees)]
        for m in (model, with_all_words(model))
    ]
    assert heads[0] == heads[1]


def test_also_for_words_within_dependency_trees() -> None:
    rng = random.Random(3)
    model = with_guesser(tiny_model("deptree"))
    trees: list[Tree] = [strange(tree, rng) for tree in tiny_dependencies(40)]
    assert_same(probabilities(model, trees), probabilities(with_all_words(model), trees))


def test_an_unknown_word_is_no_longer_like_all_others(model: TreeClassifier, trees: list[Tree]) -> None:
    plain = tiny_model()
    one, other = (Tree([2, 0, 0], ["", "", ""], ["the", word]) for word in ("unheard", "plotty"))
    assert_same(probabilities(plain, [one]), probabilities(plain, [other]))
    first, second = probabilities(model, [one, other])
    assert abs(first - second).max() > 1e-3


def test_known_words_are_read_as_before(model: TreeClassifier) -> None:
    known = tiny_trees(20)
    before, after = probabilities(tiny_model(), known), probabilities(model, known)
    assert [array.tobytes() for array in before] == [array.tobytes() for array in after]


def test_the_unknown_marker_in_a_text_stays_unknown(model: TreeClassifier) -> None:
    tree = Tree([2, 0, 0], ["", "", ""], ["the", UNK])
    assert_same(probabilities(model, [tree]), probabilities(tiny_model(), [tree]))


def test_the_order_of_trees_does_not_matter(model: TreeClassifier, trees: list[Tree]) -> None:
    order = random.Random(5).sample(range(len(trees)), len(trees))
    shuffled = probabilities(model, [trees[place] for place in order])
    straight = probabilities(model, trees)
    assert_same([straight[place] for place in order], shuffled)
    assert_same(straight, [probabilities(model, [tree])[0] for tree in trees])


def test_threads_share_a_model(model: TreeClassifier, trees: list[Tree]) -> None:
    straight = probabilities(model, trees)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: probabilities(model, trees), range(8)):
            assert_same(straight, found)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_guesses_the_same(trees: list[Tree]) -> None:
    model = with_guesser(tiny_model())
    straight = probabilities(model, trees)
    for one, other in zip(straight, probabilities(model.to("cuda"), trees), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)


def test_scores_and_head_weights_go_by_guesses_too(model: TreeClassifier, trees: list[Tree]) -> None:
    complete = with_all_words(model)
    found, expected = (evaluate(each, each.prepare(trees)).as_dict() for each in (model, complete))
    assert found == expected
    for tree in trees[:10]:
        shares = [find_head_shares(each, unchanged(tree)).from_left for each in (model, complete)]
        np.testing.assert_allclose(shares[0], shares[1], rtol=0, atol=2e-6)


def test_texts_go_by_guesses_too(model: TreeClassifier) -> None:
    text = "The storyline is fiiiine not-so-great plotty Zzz"
    documents = [
        TextPipeline(Predictor(each), RightBranching())(text) for each in (model, with_all_words(model))
    ]
    first, second = ([phrase.probability for phrase in document.phrases] for document in documents)
    np.testing.assert_allclose(first, second, rtol=0, atol=2e-6)


def test_a_guesser_is_saved_and_comes_back(model: TreeClassifier, trees: list[Tree], tmp_path: Path) -> None:
    folder = save_model(model, tmp_path / "model")
    loaded = from_pretrained(folder)
    assert loaded.lexicon.can_guess
    before, after = probabilities(model, trees), probabilities(loaded, trees)
    assert [array.tobytes() for array in before] == [array.tobytes() for array in after]
    again = save_model(loaded, tmp_path / "again")
    assert (again / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()


def test_double_precision(trees: list[Tree]) -> None:
    model = with_guesser(tiny_model()).double()
    assert model.lexicon.guess(UNKNOWN).dtype == torch.float64
    for found, exact in zip(
        probabilities(with_guesser(tiny_model()), trees), probabilities(model, trees), strict=True
    ):
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-5)
