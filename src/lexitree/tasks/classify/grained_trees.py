"""Puts the labels of texts and spans on the nodes of trees, in the form in which a model reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from lexitree.arrays import NO_INDEX, IndexArray
from lexitree.corpora.corpus import Supervision
from lexitree.corpora.further import FurtherCorpus, GrainedTrees
from lexitree.errors import TableError
from lexitree.tasks.classify.annotated_trees import AnnotatedTrees, WordSpan
from lexitree.tasks.classify.parsed_corpus import without_labels
from lexitree.trees.binarize import Direction
from lexitree.trees.covering import CoverRule, find_cover
from lexitree.trees.tree import NO_LABEL, Tree


class Grainer:
    """Numbers the labels of a further corpus, node by node.

    Args:
        corpus: Knows the numbers of its labels; its trees do not matter.
        supervision: Whether the model learns all phrases, or whole sentences: then the spans are not used.
        direction: How phrases are binarized.
        rule_for: Which phrase stands for a span, by its kind.
    """

    def __init__(
        self,
        corpus: FurtherCorpus,
        supervision: Supervision,
        direction: Direction,
        rule_for: Callable[[str], CoverRule],
    ) -> None:
        self.corpus = corpus
        self.supervision: Supervision = supervision
        self.direction: Direction = direction
        self.rule_for = rule_for

    def grained(self, texts: Iterable[AnnotatedTrees]) -> GrainedTrees:
        """The trees of texts with the numbers of their labels.

        Raises:
            TableError: A text has a label that the corpus does not know.
        """
        trees: list[Tree] = []
        numbers: list[IndexArray] = []
        sizes: list[int] = []
        for text in texts:
            self._check_labels(text)
            sizes.append(len(text.trees))
            for number, tree in enumerate(text.trees):
                read = without_labels(tree, self.supervision, self.direction)
                spans = [span for span in text.spans if span.sentence == number and self._uses(span)]
                trees.append(read)
                numbers.append(self._number_nodes(tree, read, text.label, spans))
        return GrainedTrees(tuple(trees), tuple(numbers), tuple(sizes))

    def _check_labels(self, text: AnnotatedTrees) -> None:
        labels = [text.label, *(span.label for span in text.spans if self._uses(span))]
        for label in labels:
            if label not in self.corpus.groups and label != NO_LABEL:
                raise TableError(
                    text.place,
                    f"the label {label!r} is not one of {', '.join(self.corpus.groups)}",
                    remedy=f"Correct it, or say what it means in [[more]]: labels.{label} = [...]; [] ignores it.",
                )

    def _uses(self, span: WordSpan) -> bool:
        return self.supervision == "all" and self.rule_for(span.kind) != "none"

    def _number_nodes(self, tree: Tree, read: Tree, label: str, spans: Sequence[WordSpan]) -> IndexArray:
        """The number of the label of each node of a tree as the model reads it."""
        numbers = np.full(read.num_nodes, NO_INDEX)
        for node, labels in self._labelled_nodes(tree, read, spans).items():
            # Spans that disagree about a phrase say nothing about it.
            if len(labels) == 1:
                numbers[node] = self.corpus.grain_of(*labels, is_span=True)
        if label != NO_LABEL:
            numbers[0] = self.corpus.grain_of(label, is_span=False)
        # The model has yet to binarize the tree of a sentence, which changes the nodes below the root.
        return numbers if self.supervision == "all" else numbers[:1]

    def _labelled_nodes(self, tree: Tree, read: Tree, spans: Sequence[WordSpan]) -> dict[int, set[str]]:
        """The nodes that stand for spans, each with the labels of its spans."""
        found: dict[int, set[str]] = {}
        leaves: list[int] = tree.leaves.tolist() if spans else []
        tags = [tree.labels[leaf] for leaf in leaves]
        for span in spans:
            node = find_cover(read, span.start, span.end, self.rule_for(span.kind), tags)
            if node is not None:
                found.setdefault(node, set()).add(span.label)
        return found
