"""Targets that label texts: tokens, documents, tables, resumed outputs, and pictures and pages of any words."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from itertools import islice, pairwise, product
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import numpy as np

from lexitree.corpora.tables import Row
from lexitree.errors import ConfigError, FileError, LexitreeError
from lexitree.labels import LabelSet
from lexitree.limits import Limits
from lexitree.models.model_config import ModelConfig
from lexitree.pipeline.formats import RecordFormat
from lexitree.pipeline.inputs import Inputs
from lexitree.pipeline.labelling import LabellingJob
from lexitree.pipeline.predictor import Predictor
from lexitree.pipeline.resuming import record_ends
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.pipeline.workers import LabellerSettings
from lexitree.results.document import Document
from lexitree.text import TokenizedText, split_sentences
from lexitree.text.detokenizer import detokenize, detokenize_with_spans
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.jsonl import parse_json_line, tree_from_json, tree_to_json
from lexitree.trees.tree import Tree
from lexitree.views.outline import draw_tree
from lexitree.views.page import explanation_page, notebook_view
from lexitree.views.svg import draw_svg
from tests.fuzz.driver import examples, target, write_case
from tests.fuzz.mutations import TEXTS, Case
from tests.pipeline.stubs import tiny_pipeline
from tests.saving.edited_models import tiny_parser
from tests.strategies import any_text, trees
from tests.views.labelled import labelled
from tests.views.test_page import HOSTILE, check

MAX_CHARACTERS = 200
"""Of a text that is labelled: parsing takes longer than all else."""

PLAIN = (
    "Not a bad film. Mr. Smith (a U.S. critic) said: \u201cIt's 3.5/5 stars...\u201d\n\nSee e.g. http://a.b/c?d=1 :-)",
    "This costs $1,000.50 -- they're\u2028not [4] gonna buy it!!! Visit a@b.de, #1; caf\u00e9 na\u0131\u0308ve.",
    "\u4f60\u597d\u3002 \u0645\u0631\u062d\u0628\u0627 \u061f \U0001f3f4\u200d\u2620\ufe0f good\ttext\r\nbad text",
)


def texts() -> list[Case]:
    drawn = examples(any_text())
    return [{"text.txt": text.encode()} for text in (*PLAIN, *drawn, *HOSTILE)]


def text_of(case: Case) -> str:
    """Any string that Python can hold, half characters included."""
    return case["text.txt"].decode("utf-8", "surrogateescape")


@target("tokens", texts, 60)
def check_tokens(case: Case, folder: Path) -> None:
    text = text_of(case)
    for layout in ("text", "lines", "one"):
        tokens = [token for sentence in split_sentences(text, layout) for token in sentence.tokens]
        assert all(token.text == text[token.start : token.end] != "" for token in tokens)
        assert all(left.end <= right.start for left, right in pairwise(tokens))
        # Nothing but white space is left out.
        assert "".join("".join(token.text for token in tokens).split()) == "".join(text.split())
    # Whatever another tool takes for tokens: here, all pieces between changes of the kind of character.
    places = [
        0,
        *(at for at in range(1, len(text)) if text[at].isalnum() != text[at - 1].isalnum()),
        len(text),
    ]
    given = TokenizedText.from_spans(text, [list(pairwise(places))])
    kept = "".join(token.text for sentence in given.sentences for token in sentence.tokens)
    assert "".join(kept.split()) == "".join(text.split())
    forms = [token.form for token in tokens]
    detokenize(forms)
    assert len(detokenize_with_spans(forms)[1]) == len(forms)


@cache
def pipelines() -> tuple[TextPipeline, ...]:
    plain = tiny_pipeline()
    return plain, TextPipeline(Predictor(plain.predictor.model), tiny_parser())


LIMITS = {
    beyond: Limits(characters=100, words=16, sentence_words=6, token_characters=8, phrases=24, beyond=beyond)
    for beyond in ("refuse", "cut")
}
"""Small enough for plain texts to be beyond them."""


def limited_texts() -> list[Case]:
    return [
        {**case, "=parser": parser, "=limits": limits}
        for case, parser, limits in product(texts(), (b"0", b"1"), (b"none", b"refuse", b"cut"))
    ]


def check_document(document: Document) -> None:
    """All that can be written of a document."""
    values = json.loads(document.to_json())
    assert values["text"] == document.text
    assert all(document.text[row["start"] : row["end"]] == row["text"] for row in document.rows())
    for tree, sentence in zip(document.brackets(), document.sentences, strict=True):
        assert tree_from_brackets(tree).num_words == sentence.source.num_words
    assert not any("\x1b" in line for line in document.draw())
    ElementTree.fromstring(document.svg())
    check(document.html())


def check_limits(document: Document, limits: Limits) -> None:
    """Nothing is beyond the limits, and nothing is left out without a note."""
    lengths = [len(sentence.tokens) for sentence in document.sentences]
    assert not limits.exceeded("words", sum(lengths))
    assert not limits.exceeded("phrases", sum(2 * length - 1 for length in lengths))
    assert not any(limits.exceeded("sentence_words", length) for length in lengths)
    assert not any(limits.exceeded("token_characters", len(token.text)) for token in document.tokens)
    is_whole = "".join(token.text for token in document.tokens) == "".join(document.text.split())
    assert is_whole or any(note.startswith("only the first") for note in document.notes)


@target("pipeline", limited_texts, 12)
def check_pipeline(case: Case, folder: Path) -> None:
    pipe, limits = pipelines()[int(case["=parser"])], LIMITS.get(case["=limits"].decode(), Limits())
    lines = text_of(case)[:MAX_CHARACTERS].split("\n")
    results = list(pipe.stream(lines, on_error="return", batch_size=3, limits=limits))
    assert len(results) == len(lines)
    for document in results:
        if isinstance(document, Document):
            check_document(document)
            check_limits(document, limits)
    pipe(lines[0], one_sentence=True, limits=limits)


class TinyLabeller(LabellerSettings):
    """A model that has learned nothing, and is opened once."""

    def open_pipeline(self) -> TextPipeline:
        return pipelines()[0]

    def open_predictor(self) -> Predictor:
        return pipelines()[0].predictor


CSV = 'id,review,x\r\n1,"the ""film"" is good,\nreally",=1+1\n2,bad,\n3,,@a\n4,the plot is not bad, 5\n'
JSON_LINES = (
    '{"id": 1, "review": "a good film", "x": {"y": [1.5]}}\n{"id": 2, "review": null}\n{"review": "bad"}\n'
)
INPUTS = {"in.csv": CSV, "in.tsv": CSV.replace(",", "\t"), "in.jsonl": JSON_LINES}
TEXT_INPUTS = {"in.txt": PLAIN[0] + "\n" + PLAIN[1] + "\n", "in.mrg": "(0 (1 a) (0 b))\n(1 c)\n"}


def tables() -> list[Case]:
    """Files of texts, tables and trees, each with several ways to label it."""
    columns = [
        (name, content, {"column": column, "phrases": phrases, "on_error": on_error, "suffix": suffix})
        for (name, content), column, phrases, on_error, suffix in product(
            INPUTS.items(), ("review", "x"), (False, True), ("raise", "skip"), (".csv", ".jsonl")
        )
        # Rows of JSON have no header, and stay JSON.
        if (name, suffix) != ("in.jsonl", ".csv")
    ]
    plain = [
        (name, content, {"on_error": "skip", "suffix": suffix})
        for (name, content), suffix in product(TEXT_INPUTS.items(), (".jsonl", ".tsv", ".svg", ".html"))
    ]
    return [
        {name: content.encode(), "=settings": json.dumps(settings).encode()}
        for name, content, settings in columns + plain
    ]


def label(case: Case, folder: Path, kind: type[LabellerSettings], *, resume: bool = False) -> Path:
    """Label the file `in` of a case; the output is `out` if it is resumed."""
    settings = json.loads(case["=settings"])
    source = folder / next(name for name in case if name.startswith("in."))
    output = folder / f"{'out' if resume else 'whole'}{settings.pop('suffix')}"
    inputs = Inputs([source], on_error=settings.pop("on_error"))
    # One by one: the last digits depend on what else is in a batch.
    LabellingJob(inputs, output, kind(batch_size=1), resume=resume, **settings).run()
    return output


def check_records(written: str, suffix: str) -> None:
    """Records are whole, whatever was in the input."""
    if suffix == ".jsonl":
        assert all(isinstance(json.loads(line), dict) for line in written.split("\n")[:-1])
    elif suffix == ".csv":
        assert len({len(row) for row in csv.reader(io.StringIO(written, newline=""))}) <= 1


@target("tables", tables, 20)
def check_table(case: Case, folder: Path) -> None:
    output = label(case, write_case(case, folder), TinyLabeller)
    check_records(output.read_bytes().decode(), output.suffix)


@target("folders of parts", tables, 4)
def check_parts(case: Case, folder: Path) -> None:
    settings = json.loads(case["=settings"])
    del settings["suffix"]
    source = write_case(case, folder) / next(name for name in case if name.startswith("in."))
    inputs = Inputs([source], on_error=settings.pop("on_error"))
    with tempfile.TemporaryDirectory(dir=folder) as output:
        job = LabellingJob(inputs, output, TinyLabeller(batch_size=1), part_rows=2, **settings)
        job.run()
        parts = {path: path.read_bytes() for path in sorted(Path(output).glob("*/part-*"))}
        for path, content in parts.items():
            check_records(content.decode(), path.suffix)
        for path in [*parts][1:2]:
            path.unlink()
        job.run()
        assert {path: path.read_bytes() for path in parts} == parts


class InterruptedLabeller(TinyLabeller):
    """Stops before the third row, as a killed process does."""

    def records(self, pipe: TextPipeline, rows: Iterable[Row], output_format: RecordFormat) -> Iterator[str]:
        yield from islice(super().records(pipe, rows, output_format), 2)
        raise KeyboardInterrupt


def interrupted_outputs() -> list[Case]:
    """What killed runs leave, with all files beside the output."""
    found: list[Case] = []
    for case in tables()[::3]:
        with tempfile.TemporaryDirectory() as name, suppress(LexitreeError):
            try:
                label(case, write_case(case, Path(name)), InterruptedLabeller, resume=True)
            except KeyboardInterrupt:
                files = {path.name: path.read_bytes() for path in Path(name).iterdir()}
                found.append({**files, "=settings": case["=settings"]})
    # Files of somebody else have no settings beside them.
    foreign = [{name: data for name, data in case.items() if ".resume." not in name} for case in found[::3]]
    return found + foreign


@target("resumed outputs", interrupted_outputs, 12)
def check_resumed(case: Case, folder: Path) -> None:
    [output] = [write_case(case, folder) / name for name in case if name.startswith("out.")]
    before = output.read_bytes()
    kept = before[: max(record_ends(output, quoted=output.suffix == ".csv"), default=0)]
    try:
        label(case, folder, TinyLabeller, resume=True)
    except LexitreeError as error:
        after, is_refused = output.read_bytes(), isinstance(error, FileError | ConfigError)
        # Malformed rows are met later, perhaps when others were added.
        assert after == before if is_refused else after.startswith(kept)
        raise
    assert not before or any(".resume." in name for name in case), "a file of somebody else was changed"
    after, whole = output.read_bytes(), label(case, folder, TinyLabeller).read_bytes()
    # Of records that are there already, only what is copied from the input is compared.
    assert after == whole if whole.startswith(kept) else after.startswith(kept)
    assert whole.endswith(after[len(kept) :])


PATTERNS = (
    'NP < (JJ & word=old) !<< negative | "very negative" $ V*',
    'p>0.8 & p(negative)<=.25 & words>=3 . (root, leaf) & head="fil\\"m"',
    '!(text~"not a" | text = bad) >> PRP$ ,, phrase & children=2 .. depth<4',
)


def patterns() -> list[Case]:
    return [{"pattern.txt": pattern.encode()} for pattern in PATTERNS]


@target("patterns", patterns, 60)
def check_patterns(case: Case, folder: Path) -> None:
    document = searched_document()
    nodes = {(each.sentence.start, each.node) for each in document.phrases}
    pattern = case["pattern.txt"].decode("utf-8", "surrogateescape")
    found = {(each.sentence.start, each.node) for each in document.search(pattern)}
    assert found <= nodes
    # What does not match a pattern matches its negation.
    assert {(each.sentence.start, each.node) for each in document.search(f"!({pattern})")} == nodes - found


@cache
def searched_document() -> Document:
    return tiny_pipeline()("Not a bad film. The old man (so he said) did n't like it!")


def shown_trees() -> list[Case]:
    drawn = examples(trees(6, words=any_text().filter(bool), labels=any_text()))
    label_sets = (LabelSet(("0", "1"), {"0": "negative"}), LabelSet(tuple(HOSTILE)), LabelSet(tuple("0123")))
    return [
        {"tree.json": json.dumps({**tree_to_json(tree), **labels.as_dict()}).encode()}
        for tree, labels in product([*drawn, Tree.flat(HOSTILE, "0")], label_sets)
    ]


def mutate_words(case: Case, rng: Random, other: Case) -> Case:
    """Replace some words and labels; the tree stays a tree."""
    values = json.loads(case["tree.json"])
    for _ in range(rng.choice((1, 2, 8))):
        text = "".join(rng.choices(TEXTS, k=rng.choice((1, 1, 3))))
        if rng.random() < 0.2:
            rng.choice(values["phrases"])["label"] = text
        else:
            column = values[rng.choice(("words", "labels"))]
            column[rng.randrange(len(column))] = text
    return {"tree.json": json.dumps(values).encode()}


@target("views", shown_trees, 8, mutate=mutate_words)
def check_views(case: Case, folder: Path) -> None:
    values = parse_json_line(case["tree.json"].decode("utf-8", "replace"), 1, "tree.json")
    tree, names = tree_from_json(values), ("labels", "label_names", "finer_labels")
    labels = ModelConfig.from_dict({name: values[name] for name in names if name in values}).label_set
    rows = np.random.default_rng(tree.num_nodes).dirichlet([0.3] * len(labels), tree.num_nodes)
    shown = labelled(tree, labels, rows, tree.starts.tolist(), [0.5] * tree.num_nodes, lambda node: [0.5])
    picture, page = draw_svg([shown]), explanation_page([shown])
    drawing = "\n".join(draw_tree(shown))
    for view in (picture, page, drawing):
        view.encode()
    for each in (picture, draw_svg(tree)):
        ElementTree.fromstring(each)
    assert len(check(page).scripts) == 2
    check(notebook_view([shown]))
    assert not any(unicodedata.category(character) == "Cc" for character in drawing.replace("\n", ""))
