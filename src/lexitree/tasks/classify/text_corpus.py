"""Makes a corpus of texts with labels: sentences are found, tokenized and parsed as in prediction.

A text of several sentences has one label. In training, each of its sentences carries that label. A text is scored as
a whole: its probabilities are a mean over its sentences, as those of a `Document` are.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, cast

from lexitree.corpora.assemble import assemble
from lexitree.corpora.corpus import SPLITS, Corpus
from lexitree.corpora.text_files import is_text_table, read_texts
from lexitree.corpora.text_splits import SplitRecord, TextOrigin
from lexitree.corpora.text_tables import LabelledText, LabelledTexts, TableSettings
from lexitree.corpora.treebank import find_split_file
from lexitree.errors import LabelError, OnError, TableError
from lexitree.parsers.adapters import open_parser
from lexitree.parsers.protocol import Parser, gives_arrays
from lexitree.saving.shipped import BUILTIN_PARSER
from lexitree.tasks.classify.parsed_corpus import put_below
from lexitree.text import Layout, split_sentences
from lexitree.trees.tree import Tree

Words = list[str]


class ParsedTexts(NamedTuple):
    """The trees of some texts, each below a node with the label of its text."""

    trees: tuple[Tree, ...]
    sizes: tuple[int, ...]
    """How many trees each text has."""


@contextmanager
def opened_parser(spec: str, **options: Any) -> Generator[Parser]:
    """Open a parser by name, and close it if it has to be."""
    parser = open_parser(spec, **options)
    if isinstance(parser, AbstractContextManager):
        with cast(AbstractContextManager[object], parser):
            yield parser
    else:
        yield parser


def find_tables(
    path: Path, settings: TableSettings | None = None, encoding: str = "utf-8"
) -> dict[str, Path] | None:
    """The tables of texts at a path, by split: a file, or those of a folder; None if it holds something else."""
    if path.is_dir():
        files = {split: find_split_file(path, split) for split in SPLITS}
        found = {split: file for split, file in files.items() if file is not None}
        is_table = "train" in found and is_text_table(found["train"], settings, encoding)
        return found if is_table else None
    return {"train": path} if path.is_file() and is_text_table(path, settings, encoding) else None


def load_text_corpus(
    files: Mapping[str, Path],
    settings: TableSettings,
    *,
    parser: str = "",
    name: str = "",
    encoding: str = "utf-8",
    on_error: OnError = "raise",
) -> Corpus:
    """Read tables and parse their texts; what has no file of its own is drawn from the rows of the training file."""
    tables = {
        split: read_texts(path, settings, encoding=encoding, on_error=on_error)
        for split, path in files.items()
    }
    with opened_parser(parser or BUILTIN_PARSER) as opened:
        corpus = corpus_from_texts(tables, opened, settings, parser_name=parser or BUILTIN_PARSER)
    return replace(
        corpus,
        name=name or corpus.name,
        num_skipped=sum(table.num_skipped for table in tables.values()),
        skipped=tuple(chain.from_iterable(table.skipped for table in tables.values())),
    )


def corpus_from_texts(
    tables: Mapping[str, LabelledTexts], parser: Parser, settings: TableSettings, *, parser_name: str = ""
) -> Corpus:
    """Make a corpus of tables.

    Args:
        tables: The table of each split. If it is the only one, or if only that for testing is given besides, the
            other parts are drawn from the rows of `train`.
        parser: Parses the sentences.
        settings: How sentences are found, and how much is held out.
        parser_name: The name by which the model opens its parser again.

    Raises:
        LabelError: All rows have the same label, or there are too few rows.
    """
    given = tables["train"]
    _refuse_one_label(given)
    record = _draw(tables, settings)
    parts: dict[str, Sequence[LabelledText]] = {split: table.rows for split, table in tables.items()}
    if record is not None:
        drawn = {split: [given.rows[row] for row in rows] for split, rows in record.rows.items()}
        parts = {split: drawn.get(split) or parts[split] for split in SPLITS if split in {*drawn, *parts}}
    order = given.rows if len(tables) == 1 else None
    parsed = _parse_parts(parts, parser, settings.layout, order)
    corpus = assemble(
        given.name,
        {split: part.trees for split, part in parsed.items()},
        supervision="root",
        hold_out_dev=False,
    )
    sizes = ", ".join(f"{len(part.sizes):,} {split}" for split, part in parsed.items())
    held_out = "" if record is None else f", drawn by label with seed {record.seed}"
    origin = TextOrigin(
        parser_name,
        settings.layout,
        (given.text_column, given.label_column),
        {split: part.sizes for split, part in parsed.items()},
        record,
    )
    how = f"{len(corpus.labels)} labels; texts: {sizes}{held_out}"
    return replace(corpus, inference=how, texts=origin)


def _refuse_one_label(texts: LabelledTexts) -> None:
    if len(set(texts.labels)) < 2:
        raise LabelError(
            f"{texts.rows[0].place}: all {len(texts.rows):,} texts have the label {texts.rows[0].label!r},"
            " so there is nothing to learn",
            remedy="Is it the right column? Name it with --label.",
        )


def _draw(tables: Mapping[str, LabelledTexts], settings: TableSettings) -> SplitRecord | None:
    """Draw the parts that have no table of their own; a folder with a development file needs no other part."""
    dev = 0.0 if "dev" in tables else settings.dev
    test = 0.0 if len(tables) > 1 else settings.test
    if len(tables) > 1 and not dev:
        return None
    return SplitRecord.draw(tables["train"], dev=dev, test=test, seed=settings.seed)


def _parse_parts(
    parts: Mapping[str, Sequence[LabelledText]],
    parser: Parser,
    layout: Layout,
    order: Sequence[LabelledText] | None,
) -> dict[str, ParsedTexts]:
    """Parse each part by itself, as its scoring will; a parser that must be called once reads the rows in order."""
    if gives_arrays(parser) or order is None:
        return {split: parse_texts(rows, parser, layout) for split, rows in parts.items()}
    whole = parse_texts(order, parser, layout)
    trees = iter(whole.trees)
    by_row = {id(row): list(islice(trees, size)) for row, size in zip(order, whole.sizes, strict=True)}
    return {
        split: ParsedTexts(
            tuple(tree for row in rows for tree in by_row[id(row)]),
            tuple(len(by_row[id(row)]) for row in rows),
        )
        for split, rows in parts.items()
    }


def parse_texts(texts: Sequence[LabelledText], parser: Parser, layout: Layout) -> ParsedTexts:
    """Find, tokenize and parse the sentences of texts.

    Raises:
        TableError: A text has no words.
    """
    documents = [_sentences(row, layout) for row in texts]
    sentences = [words for document in documents for words in document]
    labels = [row.label for row, document in zip(texts, documents, strict=True) for _ in document]
    trees = [
        put_below(label, Tree(parse.arity, parse.labels, words))
        for label, parse, words in zip(labels, parser.parse_all(sentences), sentences, strict=True)
    ]
    return ParsedTexts(tuple(trees), tuple(map(len, documents)))


def _sentences(row: LabelledText, layout: Layout) -> list[Words]:
    found = [[token.form for token in sentence.tokens] for sentence in split_sentences(row.text, layout)]
    if not found:
        raise TableError(row.place, "the text has no words", remedy="Remove the row.")
    return found
