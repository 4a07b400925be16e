"""A scikit-learn classifier of texts: `fit` trains a tree model as `lexitree.train_texts` does."""

from __future__ import annotations

import importlib
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin

from lexitree.corpora.text_tables import label_text
from lexitree.errors import BackendError, ConfigError, LabelError, TextError
from lexitree.learning.observers import EpochRecord, SilentObserver
from lexitree.learning.run_folder import MODEL_FOLDER
from lexitree.parsers.protocol import Parser
from lexitree.pipeline.loading import load
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.saving.model_kinds import save_model
from lexitree.saving.shipped import BUILTIN_PARSER
from lexitree.tasks.classify.texts import train_texts
from lexitree.text.columns import column_values, is_null

# These modules have no types.
_validation: Any = importlib.import_module("sklearn.utils.validation")
_multiclass: Any = importlib.import_module("sklearn.utils.multiclass")

_MODEL = "pipeline_"
_CLASS_WEIGHTS = {None: "none", "balanced": "balanced"}
_MAX_DRAWN_SEED = 2**31 - 1


class LexitreeClassifier(ClassifierMixin, BaseEstimator):
    """Classifies texts with a tree model over the parses of their sentences.

        classifier = LexitreeClassifier(start="sentiment").fit(texts, labels)
        classifier.predict(["Not a bad film."])

    X is a list, an array or a column of a data frame with one string per row. A text without words is left out of
    training, and is predicted by the shares of the classes in training.

    If training is interrupted (Ctrl-C) after an epoch, `fit` warns and keeps the best epoch so far.

    Args:
        start: The model to start from: a shipped one such as `sentiment`, a folder, or `owner/name` on the hub; None
            trains a new one.
        epochs: Passes over the training data; None is the default of `train_texts`, as for `learning_rate`.
        learning_rate: The size of updates.
        class_weight: `balanced` lets all classes count alike, however rare; None lets all texts count alike.
        validation_fraction: The share of the texts that chooses the best epoch; with 0, the last one is kept.
        settings: Further settings by dotted name, such as `{"model.hidden": 75, "training.batch_size": 10}`.
        parser: A parser, or the name of one; see `open_parser`.
        device: `cpu`, `cuda`, or `auto` for a GPU if there is one.
        random_state: The seed of the training, a generator of NumPy's to draw it from, or None for any.
        verbose: Whether to print a line after each epoch.

    Attributes:
        classes_: The classes, in the order of the columns of `predict_proba`.
        class_prior_: The share of each class in training.
        pipeline_: The trained `TextPipeline`: `classifier.pipeline_(text)` is a document with all phrases.
        history_: The loss and the scores of each epoch.
        n_iter_: The number of epochs.
    """

    def __init__(
        self,
        *,
        start: str | None = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        class_weight: str | None = None,
        validation_fraction: float = 0.1,
        settings: Mapping[str, Any] | None = None,
        parser: Parser | str = BUILTIN_PARSER,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 1,
        verbose: bool = False,
    ) -> None:
        self.start = start
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.settings = settings
        self.parser = parser
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Train a model on texts and their classes.

        Args:
            X: The texts.
            y: The class of each: strings, whole numbers or truth values.

        Raises:
            TextError: X is not one string per row.
            LabelError: A class is missing, there is only one, or two of them look alike as text.
            ValueError: X and y have different lengths, or y holds no classes.
        """
        texts = _texts(X)
        targets = _targets(y)
        _validation.check_consistent_length(texts, targets)
        classes, counts = np.unique(targets, return_counts=True)
        names = _class_names(classes)
        labels = [names[target] for target in targets.tolist()]
        with_words = [row for row, text in enumerate(texts) if text.strip()]
        if len(with_words) < len(texts):
            warnings.warn(f"{len(texts) - len(with_words)} texts without words are left out", stacklevel=2)
        epochs = _Epochs(is_shown=self.verbose)
        pipeline = self._train(
            [texts[row] for row in with_words], [labels[row] for row in with_words], epochs
        )
        self.classes_ = classes
        self.class_prior_ = counts / counts.sum()
        self.pipeline_ = pipeline
        self.history_ = [record.as_dict() for record in epochs.records]
        self.n_iter_ = len(epochs.records)
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The probability of each class, a row for each text; the columns are in the order of `classes_`.

        Raises:
            NotFittedError: `fit` was not called.
            TextError: X is not one string per row, or a text is beyond a limit.
        """
        _validation.check_is_fitted(self)
        names = _class_names(self.classes_).values()
        found = [
            [document.probabilities.get(name, 0.0) for name in names]
            if document.sentences
            else self.class_prior_
            for document in self.pipeline_.stream(_texts(X))
        ]
        rows = np.array(found, dtype=np.float64).reshape(-1, len(self.classes_))
        # The model's own numbers have seven digits, too few for metrics that want a sum of exactly 1.
        return rows / rows.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of each text; see `predict_proba`."""
        rows = self.predict_proba(X)
        return self.classes_[rows.argmax(axis=1)]

    def _train(self, texts: list[str], labels: list[str], epochs: _Epochs) -> TextPipeline:
        with tempfile.TemporaryDirectory(prefix="lexitree-") as scratch:
            folder = Path(scratch) / "run"
            try:
                train_texts(
                    texts,
                    labels,
                    folder,
                    start=self.start,
                    dev=self.validation_fraction,
                    test=0.0,
                    settings=self._all_settings(),
                    parser=self.parser,
                    device=self.device,
                    observer=epochs,
                )
            except KeyboardInterrupt:
                if not (folder / MODEL_FOLDER).is_dir():
                    raise
                warnings.warn(
                    f"fit was interrupted in epoch {len(epochs.records) + 1}: the best epoch before it is kept",
                    stacklevel=3,
                )
            return self._open(folder / MODEL_FOLDER, self.device)

    def _all_settings(self) -> dict[str, Any]:
        if self.class_weight not in _CLASS_WEIGHTS:
            raise ConfigError(f"class_weight must be None or 'balanced', not {self.class_weight!r:.80}")
        given = {"training.epochs": self.epochs, "training.learning_rate": self.learning_rate}
        seed = self.random_state
        if not isinstance(seed, int):
            seed = int(_validation.check_random_state(seed).randint(_MAX_DRAWN_SEED))
        return {
            "training.seed": seed,
            **({} if self.class_weight is None else {"training.class_weights": self.class_weight}),
            **(self.settings or {}),
            **{name: value for name, value in given.items() if value is not None},
        }

    def _open(self, folder: Path, device: str) -> TextPipeline:
        return load(folder, reads="text", parser=self.parser, device=device)

    def __getstate__(self) -> dict[str, Any]:
        """Pickled with the files of its model: weights as safetensors, and JSON."""
        state = dict(cast(Mapping[str, Any], super().__getstate__()))
        if _MODEL in state:
            with tempfile.TemporaryDirectory(prefix="lexitree-") as scratch:
                folder = save_model(state[_MODEL].predictor.model, Path(scratch) / MODEL_FOLDER)
                state[_MODEL] = dict(_files_in(folder))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: value for name, value in state.items() if name != _MODEL})
        if _MODEL in state:
            with tempfile.TemporaryDirectory(prefix="lexitree-") as scratch:
                for name, content in state[_MODEL].items():
                    path = Path(scratch) / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
                try:
                    self.pipeline_ = self._open(Path(scratch), self.device)
                except BackendError as error:
                    # Trained on a machine with a GPU, and used on one without.
                    warnings.warn(f"the model runs on the CPU: {error.message}", stacklevel=2)
                    self.pipeline_ = self._open(Path(scratch), "cpu")

    def __sklearn_tags__(self) -> Any:
        """For scikit-learn: X holds one string per row, and no numbers."""
        tags = cast(Any, super().__sklearn_tags__())
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


class _Epochs(SilentObserver):
    """Collects the records of all epochs."""

    def __init__(self, *, is_shown: bool) -> None:
        self.records: list[EpochRecord] = []
        self._is_shown = is_shown

    def on_epoch(self, record: EpochRecord) -> None:
        self.records.append(record)
        if self._is_shown:
            score = record.scores["dev_root"]
            accuracy = "" if score is None else f", validation accuracy {score:.1%}"
            print(f"epoch {record.epoch}: loss {record.loss:.3f}{accuracy}")


def _texts(X: Any) -> list[str]:
    if isinstance(X, str):
        raise TextError("is a single text", remedy="Give a list of texts.", subject="X")
    texts = column_values(X)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TextError(f"is not a string but of type {type(text).__name__}", row)
    return texts


def _targets(y: Any) -> npt.NDArray[Any]:
    if y is None:
        raise ValueError("LexitreeClassifier requires y to be passed, but the target y is None")
    targets: npt.NDArray[Any] = _validation.column_or_1d(np.asarray(y), warn=True)
    for row, target in enumerate(targets.tolist()):
        if is_null(target):
            raise LabelError(f"the class of text {row} is missing", remedy="Leave such rows out.")
    _multiclass.check_classification_targets(targets)
    return targets


def _class_names(classes: npt.NDArray[Any]) -> dict[Any, str]:
    """What the model calls each class; in the order of the classes."""
    names = {label: label_text(label) for label in classes.tolist()}
    alike = [name for name, number in Counter(names.values()).items() if number > 1 or not name]
    if alike:
        raise LabelError(
            f"several classes, or an empty one, are written as {alike[0]!r:.80}",
            remedy="Classes must differ as text, without white space around them.",
        )
    return names


def _files_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_bytes()
