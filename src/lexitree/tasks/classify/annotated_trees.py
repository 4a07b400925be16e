"""Trees of annotated texts: parsing them, and files of them that travel to other machines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from lexitree.corpora.annotated_texts import (
    SPANS_SUFFIX,
    AnnotatedText,
    annotated_files,
    is_span_file,
    read_annotated,
)
from lexitree.corpora.corpus import SplitName
from lexitree.corpora.locations import cache_folder
from lexitree.corpora.text_files import is_text_table
from lexitree.corpora.text_tables import TableSettings
from lexitree.errors import BracketError, CorpusNotFoundError, Place, TableError, TreeError
from lexitree.files import display_name, read_lines
from lexitree.parsers.adapters import BUILTIN_MODEL
from lexitree.saving.shipped import BUILTIN_PARSER
from lexitree.tasks.classify.text_corpus import opened_parser
from lexitree.tasks.parse.data import find_data_path
from lexitree.text import Layout, split_sentences
from lexitree.text.tokens import TokenizedSentence
from lexitree.trees.brackets import read_trees, tree_from_brackets, written_tree
from lexitree.trees.jsonl import parse_json_line
from lexitree.trees.tree import NO_LABEL, Tree
from lexitree.writing import atomic_write

PARSED_SUFFIX = ".parsed.jsonl"
"""What a file of trees with labels and spans ends with, before .gz."""
_AT_ONCE = 4096
"""Sentences per call of the parser: enough to be batched by length."""


class WordSpan(NamedTuple):
    """A labelled part of a sentence: the words from `start` to before `end`."""

    sentence: int
    """Which sentence of the text."""
    start: int
    end: int
    label: str
    kind: str = ""


class AnnotatedTrees(NamedTuple):
    """The trees of a text, with Penn labels, and what is known about the text."""

    trees: tuple[Tree, ...]
    label: str
    spans: tuple[WordSpan, ...]
    place: Place


def is_parsed_file(path: str | Path) -> bool:
    """Whether the name of a file says that it has trees with labels and spans."""
    return str(path).removesuffix(".gz").endswith(PARSED_SUFFIX)


def parse_annotated(
    texts: Iterable[AnnotatedText], *, parser: str = "", layout: Layout = "text", device: str = "auto"
) -> list[AnnotatedTrees]:
    """Find, tokenize and parse the sentences of texts; the built-in parser's trees are kept in the cache folder.

    Raises:
        TableError: A text has no words, or a span covers none.
    """
    rows = list(texts)
    documents = [_sentences(row, layout) for row in rows]
    words = [[token.form for token in sentence.tokens] for document in documents for sentence in document]
    trees = iter(_parse(words, parser or BUILTIN_PARSER, device))
    return [
        AnnotatedTrees(
            tuple(islice(trees, len(document))),
            row.label,
            tuple(
                _word_span(span.start, span.end, document, row)._replace(label=span.label, kind=span.kind)
                for span in row.spans
            ),
            row.place,
        )
        for row, document in zip(rows, documents, strict=True)
    ]


def _sentences(row: AnnotatedText, layout: Layout) -> list[TokenizedSentence]:
    found = split_sentences(row.text, layout)
    if not found:
        raise TableError(row.place, "the text has no words", remedy="Remove the row.")
    return found


def _word_span(start: int, end: int, document: Sequence[TokenizedSentence], row: AnnotatedText) -> WordSpan:
    """The words that a span of characters touches; of a span over several sentences, those of the first."""
    for number, sentence in enumerate(document):
        words = [
            place for place, token in enumerate(sentence.tokens) if token.start < end and token.end > start
        ]
        if words:
            return WordSpan(number, words[0], words[-1] + 1, NO_LABEL)
    raise TableError(row.place, f"the span from {start} to {end} covers no word")


def _parse(sentences: list[list[str]], parser: str, device: str) -> list[Tree]:
    """Parse sentences, or read their trees from the cache."""
    if parser != BUILTIN_PARSER:
        with opened_parser(parser) as opened:
            return _with_words(opened.parse_all(sentences), sentences)
    path = cache_folder() / "parses" / f"{_checksum(sentences)}.txt.gz"
    if path.exists():
        return _with_words(read_trees(path), sentences)
    with opened_parser(parser, device=device) as opened:
        trees = _with_words(opened.parse_all(sentences), sentences)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        stream.writelines(written_tree(tree) + "\n" for tree in trees)
    return trees


def _with_words(parses: Iterable[Tree], sentences: Sequence[Sequence[str]]) -> list[Tree]:
    return [Tree(parse.arity, parse.labels, words) for parse, words in zip(parses, sentences, strict=True)]


def _checksum(sentences: Iterable[Sequence[str]]) -> str:
    """A checksum of sentences and of the parser of the package, on which their trees depend."""
    sums = hashlib.sha256()
    for path in sorted(BUILTIN_MODEL.iterdir()):
        if path.is_file():
            sums.update(path.read_bytes())
    for words in sentences:
        sums.update(json.dumps(words).encode() + b"\n")
    return sums.hexdigest()[:32]


def write_parsed(texts: Iterable[AnnotatedTrees], path: Path) -> None:
    """Write a file of trees with labels and spans, completely or not at all; `.gz` is compressed."""
    with atomic_write(path) as stream:
        for text in texts:
            record: dict[str, Any] = {"trees": [written_tree(tree) for tree in text.trees]}
            if text.label != NO_LABEL:
                record["label"] = text.label
            if text.spans:
                record["spans"] = [list(span) for span in text.spans]
            stream.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_parsed(path: Path, encoding: str = "utf-8") -> Iterator[AnnotatedTrees]:
    """Read a file of `write_parsed`.

    Raises:
        InputError: A line is malformed.
        FileError: The file cannot be read.
    """
    name = display_name(path)
    for number, line in read_lines(path, encoding):
        if line.strip():
            yield _from_json(parse_json_line(line, number, name), Place(name, number))


def _from_json(values: Mapping[str, Any], place: Place) -> AnnotatedTrees:
    try:
        trees = tuple(tree_from_brackets(tree) for tree in values["trees"])
        spans = tuple(WordSpan(*span) for span in values.get("spans", ()))
        label = values.get("label", NO_LABEL)
        for span in spans:
            if not 0 <= span.start < span.end <= trees[span.sentence].num_words or span.sentence < 0:
                raise ValueError(f"there are no words {span.start} to {span.end}")
        labels: list[object] = [label, *(span.label for span in spans)]
        if not trees or not all(isinstance(each, str) for each in labels):
            raise ValueError("a line has trees, and labels are strings")
    except (KeyError, IndexError, TypeError, ValueError, BracketError, TreeError) as error:
        raise TableError(
            place,
            f"is not a line of parsed texts ({error})",
            remedy="Parse the texts again: lexitree data parse.",
        ) from error
    return AnnotatedTrees(trees, label, spans, place)


class AnnotatedFiles(NamedTuple):
    """The files of a corpus of annotated texts."""

    name: str
    splits: Mapping[SplitName, list[Path]]
    """The files of each split that there is."""

    def read(
        self,
        split: SplitName,
        settings: TableSettings | None = None,
        *,
        parser: str = "",
        encoding: str = "utf-8",
        device: str = "auto",
    ) -> list[AnnotatedTrees]:
        """Read a split; texts that come without trees are parsed."""
        paths = self.splits.get(split, [])
        parsed = [text for path in paths if is_parsed_file(path) for text in read_parsed(path, encoding)]
        rows = read_annotated([path for path in paths if not is_parsed_file(path)], settings, encoding)
        layout = "text" if settings is None else settings.layout
        if not rows:
            return parsed
        return [*parsed, *parse_annotated(rows, parser=parser, layout=layout, device=device)]


def has_annotations(path: Path, settings: TableSettings) -> bool:
    """Whether a file or folder holds annotated texts, and not trees alone."""
    files = (
        [path]
        if path.is_file()
        else [file for split in ANNOTATED_SPLITS for file in _split_files(path, split)]
    )
    return any(is_parsed_file(file) or is_span_file(file) or is_text_table(file, settings) for file in files)


def find_annotated(corpus: str, data: str | Path | None = None) -> AnnotatedFiles:
    """Find a corpus of annotated texts: a file, which is for training, or a folder with train and perhaps dev.

    Args:
        corpus: A path, or a path below a data folder.
        data: A folder to search before the others; see `data_folders`.

    Raises:
        CorpusNotFoundError: There is no such file or folder, or the folder has nothing to train on.
    """
    path = find_data_path(corpus, data)
    if path.is_file():
        return AnnotatedFiles(path.name.partition(".")[0], {"train": [path]})
    files: dict[SplitName, list[Path]] = {split: _split_files(path, split) for split in ANNOTATED_SPLITS}
    if not files["train"]:
        raise CorpusNotFoundError(
            f"{path} has nothing to train on: no train.tsv, train{SPANS_SUFFIX} or train{PARSED_SUFFIX}",
            remedy="Give the folder of one corpus, or a file.",
        )
    return AnnotatedFiles(path.resolve().name, {split: found for split, found in files.items() if found})


ANNOTATED_SPLITS: tuple[SplitName, ...] = ("train", "dev")


def _split_files(folder: Path, split: SplitName) -> list[Path]:
    """The files of a split; trees that were parsed beforehand make the others superfluous."""
    parsed = [folder / f"{split}{PARSED_SUFFIX}{packed}" for packed in ("", ".gz")]
    return [path for path in parsed if path.is_file()] or annotated_files(folder, split)
