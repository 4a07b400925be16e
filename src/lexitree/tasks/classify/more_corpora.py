"""Reads the corpora that a recipe lists under `[[more]]` and adds them to its main one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

from lexitree.corpora.corpus import Corpus, SplitName, task_labels
from lexitree.corpora.further import FurtherCorpus, GrainedTrees
from lexitree.corpora.named import find_entry, load_corpus
from lexitree.corpora.text_tables import TableSettings
from lexitree.errors import ConfigError, Place
from lexitree.settings import MAX_COUNT, MAX_STEP, Setting, Settings
from lexitree.tasks.classify.annotated_trees import (
    ANNOTATED_SPLITS,
    AnnotatedTrees,
    WordSpan,
    find_annotated,
    has_annotations,
)
from lexitree.tasks.classify.grained_trees import Grainer
from lexitree.tasks.classify.parsed_corpus import held_out_trees, is_scored, scored_sentences
from lexitree.tasks.parse.data import find_data_path
from lexitree.text import Layout
from lexitree.trees.binarize import Direction
from lexitree.trees.covering import COVER_RULES, CoverRule
from lexitree.trees.tree import NO_LABEL, Tree

SPAN_RULES: Mapping[str, CoverRule] = {"opinion": "phrase", "aspect": "statement", "entity": "statement"}
"""Which phrase the label of a span goes to, by kind; spans of another kind are phrases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusPlan(Settings):
    """A corpus to learn from besides the main one."""

    corpus: Annotated[
        str,
        Setting(
            "Name of a corpus, or path of a folder or file, also below `data`: trees, texts with labels, or texts"
            " with labelled spans (.spans.jsonl)."
        ),
    ]
    name: Annotated[str, Setting("Name under which its scores are reported; default: that of the files.")] = (
        ""
    )
    labels: Annotated[
        Mapping[str, Any],
        Setting(
            "For each label of this corpus, the labels of the main one that it means, by id or name; [] ignores it."
            " Default: the same labels or, on a scale, those on the same side."
        ),
    ] = field(default_factory=dict[str, Any])
    weight: Annotated[
        float,
        Setting("Weight of a sentence's label in the loss.", at_least=0, at_most=MAX_STEP),
    ] = 1.0
    span_weight: Annotated[
        float, Setting("Weight of a span's label in the loss.", at_least=0, at_most=MAX_STEP)
    ] = 1.0
    balanced: Annotated[bool, Setting("Count all labels of this corpus alike, however rare.")] = False
    per_epoch: Annotated[
        int,
        Setting(
            "Trees per epoch, drawn anew for each; 0 takes all. Large corpora do not swamp small ones then.",
            at_least=0,
            at_most=MAX_COUNT,
        ),
    ] = 0
    spans: Annotated[
        Mapping[str, str],
        Setting(
            "By kind of span, the phrase that its label goes to: the smallest that covers it (phrase), or that covers"
            " an adjective, adverb, verb or interjection besides (statement), the whole sentence, or none."
            " Default: statement for aspect and entity, else phrase."
        ),
    ] = field(default_factory=dict[str, str])
    text: Annotated[str | None, Setting("In a table: column of the texts.")] = None
    label: Annotated[str | None, Setting("In a table: column of the labels.")] = None
    layout: Annotated[
        Layout,
        Setting("Texts are running text, or one sentence per line, or one sentence each (text, lines, one)."),
    ] = "text"

    def _check_together(self) -> None:
        for kind, rule in self.spans.items():
            if rule not in COVER_RULES:
                raise ConfigError(f"spans.{kind} must be one of {', '.join(COVER_RULES)}, not {rule!r}")
        for label, meant in self.labels.items():
            if not isinstance(meant, list | tuple) or not all(
                isinstance(name, str) for name in cast(Sequence[object], meant)
            ):
                raise ConfigError(f"labels.{label} must be a list of labels, not {meant!r:.40}")

    @property
    def table(self) -> TableSettings:
        """How its tables are read."""
        return TableSettings(text=self.text, label=self.label, layout=self.layout)

    def rule_for(self, kind: str) -> CoverRule:
        """Which phrase the label of a span goes to."""
        return cast(CoverRule, self.spans.get(kind, SPAN_RULES.get(kind, "phrase")))


class _ReadCorpus(NamedTuple):
    """A corpus as it was read, before its labels are numbered."""

    plan: CorpusPlan
    name: str
    splits: Mapping[SplitName, Sequence[AnnotatedTrees]]


def with_more(
    corpus: Corpus,
    plans: Sequence[CorpusPlan],
    *,
    data: str | Path | None = None,
    parser: str = "",
    direction: Direction = "head",
) -> Corpus:
    """Add the trees of further corpora to the training split, without labels; `Corpus.further` has the labels.

    Training texts with a sentence that occurs in a split that is scored are left out, unless it has at most 3 words.

    Args:
        corpus: The main corpus, which determines the labels that are learned.
        plans: The others.
        data: A folder to search for them.
        parser: Parses texts; by default the built-in one.
        direction: How phrases are binarized.

    Raises:
        InputError: A file has a malformed line, or a label that its plan does not know.
        ConfigError: The labels of a corpus cannot be mapped to those of the main one.
    """
    read = [_read(plan, data, parser) for plan in plans]
    held_out = (tree for each in read for text in each.splits.get("dev", ()) for tree in text.trees)
    scored = scored_sentences(chain(held_out_trees(corpus), held_out))
    told: list[str] = []
    for each in read:
        given = each.splits["train"]
        kept = [text for text in given if not any(is_scored(tree, scored) for tree in text.trees)]
        found = _number(each, kept, corpus, direction)
        corpus = replace(
            corpus,
            splits={**corpus.splits, "train": (*corpus.train, *found.train.trees)},
            further=(*corpus.further, found),
        )
        left_out = f" ({len(given) - len(kept):,} texts left out)" if len(kept) < len(given) else ""
        unlabelled = "" if found.labels else " without labels to learn"
        told.append(f"{found.name} {len(found.train.trees):,}{unlabelled}{left_out}")
    return replace(corpus, inference=f"{corpus.inference}; of the training trees, {', '.join(told)}")


def _read(plan: CorpusPlan, data: str | Path | None, parser: str) -> _ReadCorpus:
    if find_entry(plan.corpus) is not None:
        return _read_treebank(plan, load_corpus(plan.corpus, data=data))
    path = find_data_path(plan.corpus, data)
    if not has_annotations(path, plan.table):
        return _read_treebank(plan, load_corpus(path, hold_out_dev=False))
    files = find_annotated(plan.corpus, data)
    splits: dict[SplitName, list[AnnotatedTrees]] = {
        split: files.read(split, plan.table, parser=parser) for split in files.splits
    }
    return _ReadCorpus(plan, plan.name or files.name, splits)


def _read_treebank(plan: CorpusPlan, corpus: Corpus) -> _ReadCorpus:
    """A treebank as texts of one sentence; its labelled phrases are spans."""
    splits: dict[SplitName, list[AnnotatedTrees]] = {}
    for split in ANNOTATED_SPLITS:
        trees = corpus.scored_trees(split)
        if trees:
            splits[split] = [
                _from_tree(tree, corpus, Place(f"{corpus.name} ({split})", number))
                for number, tree in enumerate(trees, 1)
            ]
    return _ReadCorpus(plan, plan.name or corpus.name, splits)


def _from_tree(tree: Tree, corpus: Corpus, place: Place) -> AnnotatedTrees:
    labels = task_labels(tree, corpus.supervision)
    phrases: dict[tuple[int, int], str] = {}
    for span, label in zip(tree.spans[1:], labels[1:], strict=False):
        # Of a unary chain the topmost label counts, as everywhere.
        phrases.setdefault(span, label)
    spans = tuple(WordSpan(0, *span, label) for span, label in phrases.items() if label != NO_LABEL)
    bare = tree.with_labels([*[NO_LABEL] * len(labels), *tree.labels[len(labels) :]])
    return AnnotatedTrees((bare,), tree.label, spans, place)


def _number(
    read: _ReadCorpus, kept: Sequence[AnnotatedTrees], corpus: Corpus, direction: Direction
) -> FurtherCorpus:
    """Number the labels of a corpus as grains, after those that there are already."""
    plan = read.plan
    used = {label for text in read.splits["train"] for label in _labels_of(text, plan, corpus)}
    try:
        # Without labels there is nothing to map: only a teacher can label the trees.
        groups = corpus.label_set.groups_of(used, plan.labels) if used or plan.labels else {}
    except ConfigError as error:
        raise ConfigError(f"[more] {read.name}: {error.message}", remedy=error.remedy) from error
    empty = FurtherCorpus(
        read.name,
        GrainedTrees(),
        GrainedTrees(),
        groups,
        first_grain=len(corpus.label_set.trained_ids) + sum(len(each.grains) for each in corpus.further),
        first_tree=len(corpus.train),
        weight=plan.weight,
        span_weight=plan.span_weight,
        is_balanced=plan.balanced,
        per_epoch=plan.per_epoch,
    )
    grainer = Grainer(empty, corpus.supervision, direction, plan.rule_for)
    return replace(empty, train=grainer.grained(kept), dev=grainer.grained(read.splits.get("dev", ())))


def _labels_of(text: AnnotatedTrees, plan: CorpusPlan, corpus: Corpus) -> Iterable[str]:
    if text.label != NO_LABEL:
        yield text.label
    if corpus.supervision == "all":
        yield from (span.label for span in text.spans if plan.rule_for(span.kind) != "none")
