"""The recurrences as torch modules for models of your own, on a batch of trees.

    import lexitree
    from lexitree import nn

    trees = [lexitree.tree_from_brackets("(X (X not) (X bad))")]
    batch = lexitree.TreeBatch.from_trees(trees)
    h = nn.BottomUpLSTM(word_size=50, hidden=100)(vectors, batch)

`vectors` has a row for each word, tree after tree; `h` has a row for each node, in the batch's up order, which
`lexitree.TreeBatch.split` turns into one tensor per tree.
"""

from lexitree.models.cells import BottomUpLSTM, Cell, Recurrence, SequenceLSTM, TopDownLSTM
from lexitree.models.head_methods import HeadComposer, HeadGate, HeadMixer
from lexitree.models.other_cells import ChildSumLSTM, GatedChildrenLSTM, TensorNetwork
from lexitree.ops.spans import SequenceSchedule, span_means
from lexitree.ops.tree_batch import TreeBatch

__all__ = [
    "BottomUpLSTM",
    "Cell",
    "ChildSumLSTM",
    "GatedChildrenLSTM",
    "HeadComposer",
    "HeadGate",
    "HeadMixer",
    "Recurrence",
    "SequenceLSTM",
    "SequenceSchedule",
    "TensorNetwork",
    "TopDownLSTM",
    "TreeBatch",
    "span_means",
]
