"""Scores a model on a table of texts, or on the part of it that training held out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from lexitree.batch.tree_examples import make_examples
from lexitree.corpora.corpus import SplitName
from lexitree.corpora.named import find_entry, find_path
from lexitree.corpora.text_files import read_texts
from lexitree.corpora.text_splits import SplitRecord
from lexitree.corpora.text_tables import LabelledText, LabelledTexts, TableSettings
from lexitree.errors import ConfigError, CorpusNotFoundError, LabelError, OnError
from lexitree.evaluation.accuracy import Evaluation, evaluate
from lexitree.files import plain_suffix
from lexitree.labels import LabelSet
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.saving import shipped
from lexitree.saving.classifier_entries import READING
from lexitree.saving.model_folder import ModelFolder
from lexitree.tasks.classify.text_corpus import find_tables, parse_texts
from lexitree.text import Layout

ScoredSplit = Literal[SplitName, "all"]
"""A split, or all rows of a table."""


class ScoredTexts(NamedTuple):
    """The scores of a model on texts, and what they were scored on."""

    scores: Evaluation
    table: LabelledTexts
    num_texts: int


def holds_texts(
    model: str, corpus: str, settings: TableSettings, encoding: str = "utf-8", *, is_text_asked: bool = False
) -> bool:
    """Whether a model is to be scored on a table of texts.

    A model that was trained on trees, and has no parser of its own, reads the sentences of `.tsv` as flat trees, as
    in its training.
    """
    if find_entry(corpus) is not None:
        return False
    path = find_path(corpus)
    tables = find_tables(path, settings, encoding)
    if not tables:
        return False
    is_plain = all(plain_suffix(file) == ".tsv" for file in tables.values()) and not settings.names_columns
    return (
        not is_plain
        or is_text_asked
        or shipped.is_shipped(model)
        or READING in ModelFolder.find(model).values
    )


def score_table(
    pipe: TextPipeline,
    path: Path,
    split: ScoredSplit | None = None,
    *,
    settings: TableSettings | None = None,
    run: Path | None = None,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
) -> ScoredTexts:
    """Score a model on a table of texts with labels, exactly as its training does.

    Args:
        pipe: The model and its parser.
        path: The table, or a folder with a table for each split.
        split: The part to score. By default, the test part of the table that the model was trained on, or all rows of
            any other table.
        settings: The columns; by default those that the model was trained on.
        run: The folder of the training run, which remembers the parts of its table.
        encoding: The encoding of the table.
        on_error: Whether to "raise" at a malformed row or to "skip" it.

    Raises:
        FileError: The table has changed since training, or has no such part.
        LabelError: A label is not one of the model's.
    """
    settings = _with_columns(settings or TableSettings(), pipe)
    table, own_split = _read(path, split, settings, encoding, on_error)
    rows = _choose_rows(table, split, own_split, SplitRecord.read(run) if run else None)
    model = pipe.predictor.model
    layout: Layout = "text" if callable(pipe.split) else pipe.split
    parsed = parse_texts(with_label_ids(rows, model.config.label_set), pipe.parser, layout)
    examples = make_examples(
        parsed.trees,
        model.lexicon,
        labels=model.config.labels,
        direction=model.config.parse_binarization,
        supervision="root",
        kind=model.tree_kind,
    )
    return ScoredTexts(evaluate(model, examples, document_sizes=parsed.sizes), table, len(rows))


def _with_columns(settings: TableSettings, pipe: TextPipeline) -> TableSettings:
    """The columns that the model was trained on, where others are not asked for and the table has a header."""
    reading = pipe.predictor.model.reading
    if reading is None or settings.names_columns or not reading.text or reading.text.isdecimal():
        return settings
    return settings.with_values({"text": reading.text, "label": reading.label})


def _read(
    path: Path, split: ScoredSplit | None, settings: TableSettings, encoding: str, on_error: OnError
) -> tuple[LabelledTexts, bool]:
    """The table that holds a split, and whether it holds nothing else."""
    tables = find_tables(path, settings, encoding)
    if not tables:
        raise CorpusNotFoundError(f"{path} is not a table of texts")
    chosen = split or "test"
    has_own = path.is_dir() and chosen in tables and (chosen != "train" or "dev" in tables)
    file = tables.get(chosen) or tables["train"]
    return read_texts(file, settings, encoding=encoding, on_error=on_error), has_own


def _choose_rows(
    table: LabelledTexts, split: ScoredSplit | None, has_own: bool, record: SplitRecord | None
) -> Sequence[LabelledText]:
    if split == "all" or has_own:
        return table.rows
    if record is None:
        if split is None:
            return table.rows
        raise ConfigError(
            f"{table.name} is one table, and no record says which of its rows are the {split} part",
            remedy="Score all rows: --split all. A training run keeps the record beside its model.",
        )
    if split is None and table.digest != record.digest and table.name != record.name:
        return table.rows
    chosen = split or ("test" if "test" in record.rows else "dev")
    return [table.rows[row] for row in record.part_of(table, chosen)]


def with_label_ids(rows: Sequence[LabelledText], labels: LabelSet) -> list[LabelledText]:
    """The rows with the ids of their labels, which may be given by name."""
    ids = {**dict(zip(labels.names, labels.ids, strict=True)), **{label: label for label in labels.ids}}
    for row in rows:
        if row.label not in ids:
            raise LabelError(
                f"{row.place}: the label {row.label!r} is not one of the model's: {', '.join(labels.names)}",
                remedy="Correct it, or remove the row.",
            )
    return [row._replace(label=ids[row.label]) for row in rows]
