"""The scikit-learn classifier: what `check_estimator` tests of others, with texts; and the tools around it."""

from __future__ import annotations

import copy
import csv
import importlib
import io
import pickle
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from lexitree.corpora.named import load_corpus
from lexitree.errors import ConfigError, LabelError, MissingExtraError, TextError
from lexitree.learning.loop import Trainer
from lexitree.pipeline.loading import load
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.run import train
from lexitree.text import detokenize
from tests.command import run_command, set_options
from tests.pipeline.stubs import RightBranching

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.base import clone, is_classifier
from sklearn.exceptions import DataConversionWarning, NotFittedError

from lexitree.sklearn import LexitreeClassifier

TINY = {
    "model.hidden": 8,
    "model.word_size": 8,
    "model.output": 8,
    "model.dropout": 0.0,
    "training.batch_size": 4,
}
ADJECTIVES = {"good": ("good", "great", "fine"), "bad": ("bad", "dull", "poor")}
ROWS = [
    (f"the {noun} is {adjective}", label)
    for noun in ("film", "plot", "cast", "story")
    for label, adjectives in ADJECTIVES.items()
    for adjective in adjectives
]
TEXTS = [text for text, _ in ROWS]
LABELS = [label for _, label in ROWS]
NEW_TEXTS = [
    "a good film",
    "dull",
    "the great plot . the film is bad !",
    "poor cast",
    "the story",
    "fine",
    "a",
]


def tiny_classifier(**params: Any) -> LexitreeClassifier:
    """A classifier that is trained in a fraction of a second."""
    tiny = {
        "epochs": 1,
        "learning_rate": 0.05,
        "validation_fraction": 0.2,
        "settings": TINY,
        "parser": RightBranching(),
    }
    return LexitreeClassifier(**{**tiny, **params})


@pytest.fixture(scope="module")
def fitted() -> LexitreeClassifier:
    """It has learned its texts. Do not fit it again."""
    return tiny_classifier(epochs=5).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def expected() -> npt.NDArray[np.float64]:
    """What a classifier of one epoch answers."""
    return tiny_classifier().fit(TEXTS, LABELS).predict_proba(NEW_TEXTS)


def test_it_learns(fitted: LexitreeClassifier) -> None:
    assert fitted.classes_.tolist() == ["bad", "good"]
    assert fitted.score(TEXTS, LABELS) > 0.9
    assert fitted.n_iter_ == len(fitted.history_) == 5
    assert fitted.history_[-1]["loss"] < fitted.history_[0]["loss"]
    assert fitted.class_prior_.tolist() == [0.5, 0.5]
    assert fitted.pipeline_("the film is good").label == "good"


def test_probabilities_are_those_of_the_classes(fitted: LexitreeClassifier) -> None:
    rows = fitted.predict_proba(NEW_TEXTS)
    assert rows.shape == (7, 2)
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-15)
    assert fitted.predict(NEW_TEXTS).tolist() == fitted.classes_[rows.argmax(axis=1)].tolist()
    for row, document in zip(rows, fitted.pipeline_.stream(NEW_TEXTS), strict=True):
        expected = [document.probabilities[name] for name in ("bad", "good")]
        np.testing.assert_allclose(row, expected, rtol=1e-5)


def test_parameters_and_clones() -> None:
    classifier = tiny_classifier()
    params = classifier.get_params()
    assert {**params, **LexitreeClassifier().get_params()} == LexitreeClassifier().get_params()
    assert clone(classifier).get_params().keys() == params.keys()
    assert clone(classifier).set_params(epochs=7, start="sentiment").epochs == 7
    with pytest.raises(ValueError, match="epoch"):
        classifier.set_params(epoch=7)
    assert is_classifier(classifier)
    assert "learning_rate=0.05" in repr(classifier)


def test_fit_returns_itself_and_changes_no_parameter() -> None:
    settings = dict(TINY)
    classifier = tiny_classifier(settings=settings)
    before = classifier.get_params()
    texts, labels = list(TEXTS), list(LABELS)
    assert classifier.fit(texts, labels) is classifier
    after = classifier.get_params()
    assert all(after[name] is value for name, value in before.items())
    assert (settings, texts, labels) == (TINY, TEXTS, LABELS)
    assert not hasattr(clone(classifier), "classes_")


def test_fitting_again_gives_the_same_model(expected: npt.NDArray[np.float64]) -> None:
    classifier = tiny_classifier(random_state=2).fit(TEXTS, LABELS)
    assert (classifier.predict_proba(NEW_TEXTS) != expected).any()
    classifier.set_params(random_state=1).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(classifier.predict_proba(NEW_TEXTS), expected)


@pytest.mark.slow
def test_a_new_fit_forgets_the_old_classes() -> None:
    classifier = tiny_classifier().fit(TEXTS, LABELS)
    classifier.fit(TEXTS, [1 + (label == "good") for label in LABELS])
    assert classifier.classes_.tolist() == [1, 2]
    with pytest.raises(TextError):
        classifier.fit([1] * len(TEXTS), LABELS)
    assert classifier.classes_.tolist() == [1, 2]


@pytest.mark.slow
def test_seeds_may_come_from_numpy() -> None:
    found = [
        tiny_classifier(random_state=np.random.RandomState(seed)).fit(TEXTS, LABELS).predict_proba(NEW_TEXTS)
        for seed in (3, 3, 4)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()
    tiny_classifier(random_state=None).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    "kinds",
    [(0, 1), (False, True), ("no", "very good (indeed)")],
    ids=str,
)
def test_classes_keep_their_type(kinds: tuple[Any, Any]) -> None:
    y = np.array([kinds[label == "good"] for label in LABELS])
    classifier = tiny_classifier().fit(TEXTS, y)
    assert classifier.classes_.tolist() == sorted(kinds)
    assert classifier.predict(NEW_TEXTS).dtype == y.dtype
    assert set(classifier.predict(NEW_TEXTS).tolist()) <= set(kinds)
    assert 0 <= classifier.score(TEXTS, y) <= 1


def test_inputs_may_be_arrays_or_tuples(expected: npt.NDArray[np.float64]) -> None:
    classifier = tiny_classifier().fit(np.array(TEXTS), np.array(LABELS, dtype=object))
    kinds: list[Callable[[list[str]], Any]] = [tuple, np.array, lambda texts: np.array(texts, dtype=object)]
    for kind in kinds:
        np.testing.assert_array_equal(classifier.predict_proba(kind(NEW_TEXTS)), expected)


def test_columns_of_pandas(expected: npt.NDArray[np.float64]) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"text": TEXTS, "kind": LABELS}, index=range(100, 124))
    classifier = tiny_classifier().fit(frame["text"], frame["kind"].astype("category"))
    assert classifier.classes_.tolist() == ["bad", "good"]
    new = pandas.Series(NEW_TEXTS, index=list("gfedcba"), name="text")
    np.testing.assert_array_equal(classifier.predict_proba(new), expected)
    with pytest.raises(TextError, match="DataFrame"):
        classifier.predict(frame[["text"]])
    with pytest.raises(TextError, match="text 2 is not a string but of type float"):
        classifier.predict(pandas.Series(["a", "b", float("nan")], dtype=object))


@pytest.mark.slow
def test_columns_of_polars_and_columns_of_one_column(expected: npt.NDArray[np.float64]) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    classifier = tiny_classifier().fit(polars.Series(TEXTS), polars.Series(LABELS))
    np.testing.assert_array_equal(classifier.predict_proba(polars.Series(NEW_TEXTS)), expected)
    with pytest.warns(DataConversionWarning):
        tiny_classifier().fit(TEXTS, np.array(LABELS).reshape(-1, 1))


@pytest.mark.parametrize(
    "wrong",
    [
        "a text",
        b"bytes",
        3,
        None,
        np.zeros((2, 2)),
        np.array([["a"], ["b"]]),
        [1, 2],
        [b"a"],
        [None],
        [["a"]],
    ],
    ids=repr,
)
def test_what_is_not_one_string_per_row_is_refused(fitted: LexitreeClassifier, wrong: Any) -> None:
    for use in (fitted.predict, fitted.predict_proba, lambda texts: tiny_classifier().fit(texts, LABELS)):
        with pytest.raises(TextError, match=r"string|single text|whole table"):
            use(wrong)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (LABELS[:-1], ValueError, "inconsistent"),
        (None, ValueError, "requires y"),
        (np.linspace(0, 1, 24), ValueError, "continuous"),
        (np.zeros((24, 2)), ValueError, "1d"),
        (["bad"] * 24, LabelError, "all 24 texts have the label 'bad'"),
        ([None, *LABELS[1:]], LabelError, "text 0 is missing"),
        ([*LABELS[:-1], float("nan")], LabelError, "text 23 is missing"),
        (["", *LABELS[1:]], LabelError, "empty"),
        ([" bad", *LABELS[1:]], LabelError, "'bad'"),
    ],
    ids=repr,
)
def test_wrong_classes_are_refused(y: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tiny_classifier().fit(TEXTS, np.array(y, dtype=object) if isinstance(y, list) else y)


def test_wrong_parameters_are_refused_by_fit() -> None:
    for params, message in [
        ({"class_weight": "some"}, "class_weight"),
        ({"epochs": 0}, "epochs"),
        ({"validation_fraction": 1.5}, "dev"),
        ({"settings": {"model.hiden": 3}}, "hiden"),
    ]:
        with pytest.raises(ConfigError, match=message):
            tiny_classifier(**params).fit(TEXTS, LABELS)


def test_before_fit_there_is_no_answer() -> None:
    classifier = tiny_classifier()
    for use in (
        classifier.predict,
        classifier.predict_proba,
        lambda texts: classifier.score(texts, LABELS[:7]),
    ):
        with pytest.raises(NotFittedError):
            use(NEW_TEXTS)


def test_answers_do_not_depend_on_the_order_or_the_company(fitted: LexitreeClassifier) -> None:
    together = fitted.predict_proba(NEW_TEXTS)
    order = [3, 0, 6, 2, 5, 1, 4]
    shuffled = fitted.predict_proba([NEW_TEXTS[place] for place in order])
    np.testing.assert_allclose(shuffled, together[order], atol=1e-6)
    for text, row in zip(NEW_TEXTS, together, strict=True):
        np.testing.assert_allclose(fitted.predict_proba([text])[0], row, atol=1e-6)
    assert fitted.predict([]).shape == (0,)
    assert fitted.predict_proba([]).shape == (0, 2)


def test_texts_without_words(fitted: LexitreeClassifier) -> None:
    for text in ("", " \n\t"):
        np.testing.assert_array_equal(fitted.predict_proba([text])[0], fitted.class_prior_)
    with pytest.warns(UserWarning, match="2 texts without words are left out"):
        classifier = tiny_classifier().fit([*TEXTS, "", " "], [*LABELS, "odd", "bad"])
    assert classifier.classes_.tolist() == ["bad", "good", "odd"]
    assert classifier.predict_proba(NEW_TEXTS)[:, 2].tolist() == [0.0] * 7
    assert classifier.predict_proba([""])[0, 2] == pytest.approx(1 / 26)


def test_a_pickle_has_the_files_of_the_model(fitted: LexitreeClassifier) -> None:
    data = pickle.dumps(fitted)
    assert b"torch" not in data.replace(b"tests.pipeline", b"")
    found = pickle.loads(data)
    np.testing.assert_array_equal(found.predict_proba(NEW_TEXTS), fitted.predict_proba(NEW_TEXTS))
    assert found.history_ == fitted.history_
    assert found.get_params().keys() == fitted.get_params().keys()
    joblib = importlib.import_module("joblib")
    stream = io.BytesIO()
    joblib.dump(found, stream)
    stream.seek(0)
    again = joblib.load(stream)
    np.testing.assert_array_equal(again.predict_proba(NEW_TEXTS), fitted.predict_proba(NEW_TEXTS))


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_model_from_a_gpu_can_be_used_without_one(fitted: LexitreeClassifier) -> None:
    data = pickle.dumps(copy.copy(fitted).set_params(device="cuda"))
    with pytest.warns(UserWarning, match="runs on the CPU"):
        found = pickle.loads(data)
    np.testing.assert_array_equal(found.predict_proba(NEW_TEXTS), fitted.predict_proba(NEW_TEXTS))


def test_an_unfitted_classifier_pickles() -> None:
    found = pickle.loads(pickle.dumps(LexitreeClassifier(epochs=3)))
    assert found.get_params() == LexitreeClassifier(epochs=3).get_params()


def interrupt_in(epoch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run_epoch = Trainer._run_epoch

    def interrupted(trainer: Any, number: int) -> None:
        if number == epoch:
            signal.raise_signal(signal.SIGINT)
        run_epoch(trainer, number)

    monkeypatch.setattr(Trainer, "_run_epoch", interrupted)


def test_an_interrupted_fit_keeps_the_best_epoch(
    expected: npt.NDArray[np.float64], monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_in(2, monkeypatch)
    with pytest.warns(UserWarning, match="interrupted in epoch 2"):
        classifier = tiny_classifier(epochs=9).fit(TEXTS, LABELS)
    assert classifier.n_iter_ == 1
    np.testing.assert_array_equal(classifier.predict_proba(NEW_TEXTS), expected)


def test_a_fit_interrupted_before_an_epoch_was_over_is_no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_in(1, monkeypatch)
    classifier = tiny_classifier()
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(TEXTS, LABELS)
    assert not hasattr(classifier, "classes_")


def test_progress_is_shown_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    tiny_classifier(verbose=True).fit(TEXTS, LABELS)
    assert capsys.readouterr().out.startswith("epoch 1: loss 0.")


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.delitem(sys.modules, "lexitree.sklearn", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[sklearn\]"):
        importlib.import_module("lexitree.sklearn")


def test_scikit_learns_own_checks() -> None:
    """They leave out whatever needs numbers; nothing that is left may fail."""
    checks = importlib.import_module("sklearn.utils.estimator_checks")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks.check_estimator(tiny_classifier())


@pytest.mark.slow
def test_grid_search_with_two_jobs() -> None:
    selection = importlib.import_module("sklearn.model_selection")
    grid = {"epochs": [1, 6], "settings": [TINY, {**TINY, "model.hidden": 6}]}
    search = selection.GridSearchCV(tiny_classifier(), grid, cv=2, n_jobs=2, error_score="raise")
    search.fit(TEXTS, LABELS)
    assert search.best_params_["epochs"] == 6
    assert search.best_estimator_.score(TEXTS, LABELS) > 0.8
    assert search.predict(NEW_TEXTS).shape == (7,)


@pytest.mark.slow
def test_pipelines_and_cross_validation() -> None:
    selection = importlib.import_module("sklearn.model_selection")
    steps = importlib.import_module("sklearn.pipeline")
    preprocessing = importlib.import_module("sklearn.preprocessing")
    lowered = preprocessing.FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipeline = steps.make_pipeline(lowered, tiny_classifier(epochs=6))
    scores = selection.cross_val_score(pipeline, np.array(TEXTS), np.array(LABELS), cv=3)
    assert scores.mean() > 0.7
    losses = selection.cross_val_score(pipeline, TEXTS, LABELS, cv=2, scoring="neg_log_loss")
    assert np.isfinite(losses).all()
    pipeline.set_params(lexitreeclassifier__epochs=1).fit(TEXTS, LABELS)
    assert pipeline[-1].n_iter_ == 1


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_calibration(n_jobs: int) -> None:
    calibration = importlib.import_module("sklearn.calibration")
    calibrated = calibration.CalibratedClassifierCV(tiny_classifier(epochs=6), cv=2, n_jobs=n_jobs)
    calibrated.fit(TEXTS, LABELS)
    assert calibrated.predict_proba(NEW_TEXTS).shape == (7, 2)
    assert calibrated.score(TEXTS, LABELS) > 0.8
    frozen = importlib.import_module("sklearn.frozen")
    prefit = calibration.CalibratedClassifierCV(frozen.FrozenEstimator(tiny_classifier().fit(TEXTS, LABELS)))
    assert prefit.fit(TEXTS, LABELS).predict_proba(NEW_TEXTS).shape == (7, 2)


@pytest.mark.slow
def test_the_command_line_trains_the_same_model(tmp_path: Path) -> None:
    """On the embedded questions, as texts; it labels as many as a model that was trained on their trees."""
    corpus = load_corpus("mini-questions")
    rows = {
        split: [(detokenize(tree.words), tree.label) for tree in corpus.splits[split]]
        for split in ("train", "dev", "test")
    }
    known = [*rows["train"], *rows["dev"]]
    with (tmp_path / "questions.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("text", "label"), *known])
    settings = {"training.epochs": 10, "model.hidden": 50}
    options = set_options({**settings, "table.test": 0.0})
    finished = run_command(
        "train", tmp_path / "questions.csv", "-o", tmp_path / "run", "-q", *options, timeout=300
    )
    assert finished.returncode == 0, finished.stderr

    classifier = LexitreeClassifier(settings=settings, device="cpu").fit(*zip(*known, strict=True))
    texts, labels = zip(*rows["test"], strict=True)
    trained = load(tmp_path / "run" / "model", reads="text", device="cpu")
    found = [
        [document.probabilities[name] for name in classifier.classes_] for document in trained.stream(texts)
    ]
    np.testing.assert_allclose(classifier.predict_proba(texts), found, atol=1e-6)

    on_trees = train(Recipe(corpus="mini-questions").with_values(settings), tmp_path / "trees").test
    assert on_trees is not None
    assert classifier.score(texts, labels) > on_trees.root.accuracy - 0.03
