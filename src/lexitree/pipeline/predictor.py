"""Trees in, labels with probabilities and head words out: the pipeline a user imports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from lexitree.arrays import FloatArray
from lexitree.batch.examples import Example, example_to_label, make_example
from lexitree.corpora.corpus import Supervision
from lexitree.errors import ConfigError
from lexitree.evaluation.accuracy import Evaluation, evaluate
from lexitree.evaluation.answers import SystemAnswers, collect_answers
from lexitree.models.classifier import TreeClassifier
from lexitree.models.head_shares import HeadWeigher, TreeWeigher
from lexitree.models.inference import AskedNodes, NodeOutputs, run_examples
from lexitree.trees.binarize import unchanged
from lexitree.trees.brackets import surface_form
from lexitree.trees.jsonl import tree_to_json
from lexitree.trees.tree import NO_LABEL, Tree
from lexitree.views.outline import draw_tree, head_notes
from lexitree.views.svg import PictureTree, draw_svg

if TYPE_CHECKING:
    from lexitree.views.explained import ExplainedTree


@dataclass(frozen=True)
class Prediction:
    """What a model says of one tree; all arrays are by node of the tree as it was given."""

    source: Tree
    label_set: tuple[str, ...]
    """The labels, in the order of the columns of `probabilities`."""
    probabilities: FloatArray
    """[nodes, labels]; a single row when only the sentence was asked for."""
    head_index: npt.NDArray[np.int64] | None
    """The word that is each phrase's head, or None for a model without heads."""
    head_weight: FloatArray | None
    """The head word's share of the phrase's head vector, from 0 to 1."""
    label_names: Mapping[str, str] = field(default_factory=dict[str, str])
    """The labels as people read them, where the model has names for them."""
    weigher: TreeWeigher | None = field(default=None, repr=False, compare=False)
    """Whom to ask for the weights of all words; None in a prediction that came from another process."""

    @property
    def label(self) -> str:
        """The label of the sentence."""
        return self.labels[0]

    @property
    def probability(self) -> float:
        """The probability of the sentence's label."""
        return float(self.probabilities[0].max())

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The likeliest label of every node; nodes that were not asked for have none."""
        likeliest: list[int] = self.probabilities.argmax(1).tolist()
        named = [self.label_set[index] for index in likeliest]
        return tuple(named + [NO_LABEL] * (self.source.num_nodes - len(named)))

    @cached_property
    def tree(self) -> Tree:
        """The tree with the predicted labels."""
        return self.source.with_labels(self.labels)

    def head_word(self, node: int = 0) -> str | None:
        """The head word of a phrase."""
        return None if self.head_index is None else self.source.words[int(self.head_index[node])]

    def head_weights(self, node: int = 0) -> tuple[float, ...] | None:
        """The share of each word of a phrase in its head vector, which add up to 1; None for a model without heads.

        They are computed when they are asked for, by the model as it is then.
        """
        if self.head_index is None:
            return None
        if self.weigher is None:
            raise ConfigError(
                "this prediction was sent from another process, without the model that knows its head weights",
                remedy="Ask for them before it is sent, or predict its tree again.",
            )
        return self.weigher.word_weights(node)

    def as_dict(self, *, head_weights: bool = False) -> dict[str, Any]:
        """The prediction as JSON: a tree that `trees.jsonl` reads back, with more to say about each phrase.

        With `head_weights` also the weights of all words of each phrase: of a deep tree, quadratically many.
        """
        values = tree_to_json(self.tree)
        phrases = cast(list[dict[str, Any]], values["phrases"])
        # There are fewer rows than phrases where only the sentence was asked for.
        for node, (phrase, row) in enumerate(zip(phrases, self.probabilities.tolist(), strict=False)):
            phrase["probabilities"] = [round(value, 6) for value in row]
            if self.head_index is not None and self.head_weight is not None:
                phrase["head"] = int(self.head_index[node])
                phrase["head_word"] = self.head_word(node)
                phrase["head_weight"] = round(float(self.head_weight[node]), 6)
            weights = self.head_weights(node) if head_weights else None
            if weights is not None:
                phrase["head_weights"] = [round(weight, 6) for weight in weights]
        return {"label": self.label, "labels": list(self.label_set), **values}

    def notes(self) -> list[str]:
        """What a drawing shows beside every node: its probability and, at a phrase, its head word."""
        shares = [f"{share:.2f}" for share in self.probabilities.max(1).tolist()]
        if self.head_index is not None:
            return head_notes(self.source, self.head_index.tolist(), self.probabilities.max(1).tolist())
        return shares + [""] * (self.source.num_nodes - len(shares))

    def named_tree(self, names: Mapping[str, str]) -> Tree:
        """The tree with its labels as people read them."""
        return self.source.with_labels(names.get(label, label) for label in self.labels)

    def draw(self, names: Mapping[str, str] | None = None) -> Iterator[str]:
        """The tree as lines of text, with labels, probabilities and head words."""
        return draw_tree(self.named_tree(names or {}), notes=self.notes())

    def picture(self) -> PictureTree:
        """What `trees.picture.draw_svg` shows of the prediction, for pictures of several sentences."""
        heads: list[int] | None = None if self.head_index is None else self.head_index.tolist()
        return PictureTree(self.tree, heads, self.probabilities.max(1).tolist())

    def svg(self, names: Mapping[str, str] | None = None) -> str:
        """The tree as an SVG picture: colours for labels, head words, probabilities on hovering."""
        return draw_svg([self.picture()], self.label_set, names)

    def explained(self, words: Sequence[str] | None = None) -> ExplainedTree:
        """What views of HTML show; `words` are those of the text, where they differ from the tree's."""
        from lexitree.views.explained import ExplainedTree

        return ExplainedTree(
            tree=self.tree,
            words=[surface_form(word) for word in self.source.words] if words is None else words,
            label_set=self.label_set,
            probabilities=self.probabilities.tolist(),
            names=self.label_names,
            head_index=None if self.head_index is None else self.head_index.tolist(),
            head_weight=None if self.head_weight is None else self.head_weight.tolist(),
            head_weights=None if self.head_index is None or self.weigher is None else self.head_weights,
        )

    def _repr_html_(self) -> str:
        """How a notebook shows it."""
        from lexitree.views.page import explain_trees, notebook_view

        return notebook_view(explain_trees([self.explained()]))


class Predictor:
    """A model ready for use on trees of any shape."""

    def __init__(self, model: TreeClassifier) -> None:
        self.model = model
        self._weigher = HeadWeigher(model)

    def __reduce__(self) -> tuple[object, ...]:
        """In another process, with a weigher of its own."""
        return type(self), (self.model,)

    def predict(self, tree: Tree, *, nodes: AskedNodes = "all") -> Prediction:
        """Label one tree."""
        return next(self.predict_all([tree], nodes=nodes))

    def predict_all(self, trees: Iterable[Tree], *, nodes: AskedNodes = "all") -> Iterator[Prediction]:
        """Label a stream of trees at constant memory.

        Args:
            trees: The trees; existing labels are ignored.
            nodes: Whether to label all phrases or whole sentences only.

        Returns:
            A prediction for each tree, in their order.
        """
        outputs = run_examples(self.model, map(self._prepare, trees), nodes=nodes, heads=nodes == "all")
        return map(self._prediction, outputs)

    def predict_binary(self, trees: Iterable[Tree]) -> Iterator[Prediction]:
        """Label binary trees as they are: `predict_all` for trees that the caller has binarized and checked."""
        examples = (example_to_label(unchanged(tree), self.model.lexicon) for tree in trees)
        return map(self._prediction, run_examples(self.model, examples, heads=True))

    def evaluate(self, trees: Iterable[Tree], *, supervision: Supervision | None = None) -> Evaluation:
        """Score the model on a stream of trees that carry gold labels; with root supervision on the sentences'."""
        config = self.model.config
        supervision = supervision or config.supervision
        prepare = partial(self._prepare, labels=config.labels, supervision=supervision)
        return evaluate(self.model, map(prepare, trees), supervision=supervision)

    def answers(self, trees: Iterable[Tree], *, name: str = "model") -> SystemAnswers:
        """What the model says of each sentence beside its gold label, to be compared with other systems'."""
        return collect_answers(name, [self.model], trees)

    def _prepare(
        self, tree: Tree, *, labels: tuple[str, ...] | None = None, supervision: Supervision = "all"
    ) -> Example:
        config = self.model.config
        return make_example(
            tree,
            self.model.lexicon,
            labels=labels,
            # What comes without gold labels may well be a parse; if it is not, both split it alike.
            direction=config.binarization if labels else config.parse_binarization,
            supervision=supervision,
            kind=self.model.encoder.tree_kind,
        )

    def _prediction(self, output: NodeOutputs) -> Prediction:
        return Prediction(
            source=output.example.tree,
            label_set=self.model.config.labels,
            probabilities=output.probabilities,
            head_index=output.head_index,
            head_weight=output.head_weight,
            label_names=self.model.config.label_names,
            weigher=self._weigher.about(output.example.binary),
        )
