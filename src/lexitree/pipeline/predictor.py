"""Labels trees, many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from lexitree.batch.tree_examples import Example, make_example
from lexitree.corpora.corpus import Supervision
from lexitree.evaluation.accuracy import Evaluation, evaluate
from lexitree.evaluation.answers import SystemAnswers, collect_answers
from lexitree.limits import Check
from lexitree.models.flat_inference import start_flat
from lexitree.models.inference import HeadWeigher, NodeOutputs, run_examples
from lexitree.models.label_model import AskedNodes, LabelModel, NodeArrays
from lexitree.pending import Pending
from lexitree.results.labelled_batch import LabelledBatch
from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.flat_parses import FlatParses
from lexitree.trees.flat_trees import FlatTrees
from lexitree.trees.tree import Tree


class Predictor:
    """A model ready for use on trees of any shape."""

    def __init__(self, model: LabelModel) -> None:
        self.model = model
        self._weigher = HeadWeigher(model)
        self._label_set = model.config.label_set

    def __reduce__(self) -> tuple[object, ...]:
        """In another process, with a weigher of its own."""
        return type(self), (self.model,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({describe_model(self.model)})"

    def predict(self, tree: Tree, *, nodes: AskedNodes = "all") -> LabelledTree:
        """Label one tree; see `predict_all`."""
        return next(self.predict_all([tree], nodes=nodes))

    def predict_all(self, trees: Iterable[Tree], *, nodes: AskedNodes = "all") -> Iterator[LabelledTree]:
        """Label a stream of trees at constant memory.

        Args:
            trees: The trees; existing labels are ignored.
            nodes: Whether to label all phrases or whole sentences only.

        Returns:
            A labelled tree for each tree, in their order.
        """
        outputs = run_examples(self.model, map(self._prepare, trees), nodes=nodes, heads=nodes == "all")
        return map(self._labelled_tree, outputs)

    def start_flat(
        self, parses: FlatParses, trees: FlatTrees, words: Sequence[str], *, nodes: AskedNodes, check: Check
    ) -> Pending[LabelledBatch]:
        """Begin to label many sentences as arrays; on a GPU, this does not wait for the results.

        Args:
            parses: The parses of the sentences.
            trees: The binary trees that were made of them.
            words: The words of all sentences, one sentence after the other.
            nodes: Whether to label all phrases or whole sentences only.
            check: Called before each batch; may raise an error to end the work.
        """

        def labelled(outputs: NodeArrays) -> LabelledBatch:
            return LabelledBatch(self._label_set, parses, trees, *outputs, self._weigher.about_tree)

        return start_flat(self.model, trees, words, nodes=nodes, check=check).then(labelled)

    def evaluate(self, trees: Iterable[Tree], *, supervision: Supervision | None = None) -> Evaluation:
        """Score the model on trees that carry gold labels.

        Args:
            trees: The trees.
            supervision: Whether all phrases count or whole sentences only; by default as the model was trained.
        """
        config = self.model.config
        supervision = supervision or config.supervision
        prepare = partial(self._prepare, labels=config.labels, supervision=supervision)
        return evaluate(self.model, map(prepare, trees), supervision=supervision)

    def answers(self, trees: Iterable[Tree], *, name: str = "model") -> SystemAnswers:
        """The model's answer to each sentence beside its gold label, to be compared with other systems."""
        return collect_answers(name, [self.model], trees)

    def _prepare(
        self, tree: Tree, *, labels: tuple[str, ...] | None = None, supervision: Supervision = "all"
    ) -> Example:
        config = self.model.config
        return make_example(
            tree,
            self.model.lexicon,
            labels=labels,
            # A tree without gold labels may well be a parse; if it is not, both directions split it alike.
            direction=config.binarization if labels else config.parse_binarization,
            supervision=supervision,
            kind=self.model.tree_kind,
        )

    def _labelled_tree(self, output: NodeOutputs) -> LabelledTree:
        return LabelledTree(
            source=output.example.tree,
            label_set=self._label_set,
            node_probabilities=output.probabilities,
            head_index=output.head_index,
            head_weight=output.head_weight,
            weigher=self._weigher.about(output.example.binary),
        )


def describe_model(model: LabelModel) -> str:
    """`bicontree, 5 labels, NumPy on cpu`: a model in a few words."""
    return f"{model.config.model}, {len(model.config.label_set)} labels, {model.library} on {model.device}"
