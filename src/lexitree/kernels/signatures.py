"""The arguments of every function of the C sources, and the sizes that its arrays must have.

C reads and writes at plain addresses, as far as the numbers say that it is given. So `checked_calls` compares each
array with these sizes before each call. The C sources compare the indices in arrays themselves (indices.h).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

Shape = tuple[int, ...]
Shapes = Sequence[Shape | None]

_LANES = 16
"""Columns of packed weights are rounded up to no more than this."""
_KEPT = 256
"""How many sizes of packed weights are remembered: those of a few models come again at every call."""


class Signature(NamedTuple):
    """The arguments of a kernel.

    Attributes:
        arguments: Their names in order. `#size` is a whole number, `~epsilon` another number, `children:` an array of
            indices, `leaf=` one that is filled with them, `is_closed!` an array of truth values, and all others are
            arrays in the precision of the kernel. `lean?` may be None.
        shapes: The shape of each array, by the whole numbers in their order; None for one that must be None.
    """

    arguments: str
    shapes: Callable[..., Shapes]


def room_for(*shapes: tuple[int, int]) -> int:
    """How many numbers matrices of so many rows and columns have when they are packed."""
    return sum(rows * -(-columns // _LANES) * _LANES for rows, columns in shapes)


@lru_cache(_KEPT)
def heads_room(size: int) -> int:
    """How many numbers the packed weights of the head gate have."""
    return room_for((2 * size, size), (1, size))


@lru_cache(_KEPT)
def bottom_up_room(hidden: int, word: int, is_lexical: int, has_peepholes: int) -> int:
    """How many numbers the packed weights of the bottom-up tree LSTM have."""
    del is_lexical  # There is room for the forget gates of words in any case.
    of_pairs = (
        [(4 * hidden, 3 * hidden), (2 * hidden, 2 * hidden)] if has_peepholes else [(2 * hidden, 5 * hidden)]
    )
    of_words = [(word, 3 * hidden), (word, hidden)]
    return room_for(*of_words, *of_pairs, (hidden, hidden), (1, 5 * hidden))


@lru_cache(_KEPT)
def top_down_room(hidden: int, word: int, sides: int) -> int:
    """How many numbers the packed weights of the top-down tree LSTM have."""
    of_side = [(2 * hidden, 2 * hidden), (hidden, 2 * hidden), (hidden, hidden)]
    return sides * room_for((word + 1, 4 * hidden)) + 2 * room_for(*of_side)


@lru_cache(_KEPT)
def sequences_room(hidden: int, word: int, has_peepholes: int) -> int:
    """How many numbers the packed weights of one direction of the sequence LSTM have."""
    of_states = [(hidden, 4 * hidden)]
    if has_peepholes:
        of_states = [(2 * hidden, 2 * hidden), (hidden, 2 * hidden), (hidden, hidden)]
    return room_for((word + 1, 4 * hidden), *of_states)


@lru_cache(_KEPT)
def dense_room(size: int, columns: int) -> int:
    """How many numbers the packed weights of a dense layer have."""
    return room_for((size + 1, columns))


@lru_cache(_KEPT)
def lstm_room(size: int, hidden: int) -> int:
    """How many numbers the packed weights of one direction of the parser's LSTM have."""
    return (size + hidden + 1) * (4 * hidden + _LANES)


def _heads_weights(size: int) -> Shapes:
    return [(size, 2 * size), (size,)]


def _levels(leaves: int, levels: int, nodes: int) -> Shapes:
    return [(levels + 1,), (2 * (nodes - leaves),)]


def _heads_pack(size: int) -> Shapes:
    return [*_heads_weights(size), (heads_room(size),)]


def _heads_forward_packed(size: int, leaves: int, levels: int, nodes: int) -> Shapes:
    phrases = nodes - leaves
    return (
        *((leaves, size), (heads_room(size),), (phrases,)),
        *((levels + 1,), (2 * phrases,)),
        *((nodes, size), (phrases, size)),
    )


def _heads_forward(size: int, leaves: int, levels: int, nodes: int) -> Shapes:
    phrases = nodes - leaves
    made = [(nodes, size), (phrases, 2 * size), (phrases, size)]
    return [(leaves, size), *_heads_weights(size), (phrases,), *_levels(leaves, levels, nodes), *made]


def _heads_backward(size: int, leaves: int, levels: int, nodes: int) -> Shapes:
    gate, bias = _heads_weights(size)
    phrases = nodes - leaves
    kept = [(phrases, 2 * size), (phrases, size)]
    return [gate, *_levels(leaves, levels, nodes), *kept, (nodes, size), gate, bias]


def _bottom_up_weights(hidden: int, word: int, is_lexical: int, has_peepholes: int) -> Shapes:
    of_words = ((4 if is_lexical else 3) * hidden, word)
    of_cells = [(3 * hidden, 2 * hidden), (hidden, hidden)] if has_peepholes else [None, None]
    return [of_words, (5 * hidden, 2 * hidden), *of_cells, (5 * hidden,)]


def _bottom_up_pack(hidden: int, word: int, is_lexical: int, has_peepholes: int) -> Shapes:
    room = bottom_up_room(hidden, word, is_lexical, has_peepholes)
    return [*_bottom_up_weights(hidden, word, is_lexical, has_peepholes), (room,)]


def _bottom_up_forward_packed(
    hidden: int, word: int, is_lexical: int, has_peepholes: int, leaves: int, levels: int, nodes: int
) -> Shapes:
    return (
        (nodes if is_lexical else leaves, word),
        (bottom_up_room(hidden, word, is_lexical, has_peepholes),),
        *((levels + 1,), (2 * (nodes - leaves),)),
        (nodes, hidden),
    )


def _bottom_up_kept(hidden: int, has_peepholes: int, leaves: int, nodes: int) -> Shapes:
    phrases, pair = nodes - leaves, (4 if has_peepholes else 2) * hidden
    return [(nodes, hidden), (leaves, 3 * hidden), (phrases, 5 * hidden), (phrases, pair)]


def _bottom_up_forward(
    hidden: int, word: int, is_lexical: int, has_peepholes: int, leaves: int, levels: int, nodes: int
) -> Shapes:
    return [
        (nodes if is_lexical else leaves, word),
        *_bottom_up_weights(hidden, word, is_lexical, has_peepholes),
        *_levels(leaves, levels, nodes),
        (nodes, hidden),
        *_bottom_up_kept(hidden, has_peepholes, leaves, nodes),
    ]


def _bottom_up_backward(
    hidden: int, word: int, is_lexical: int, has_peepholes: int, leaves: int, levels: int, nodes: int
) -> Shapes:
    x = (nodes if is_lexical else leaves, word)
    *weights, bias = _bottom_up_weights(hidden, word, is_lexical, has_peepholes)
    return [
        *(x, *weights),
        *_levels(leaves, levels, nodes),
        *_bottom_up_kept(hidden, has_peepholes, leaves, nodes),
        (nodes, hidden),
        *(x, *weights, bias),
    ]


def _top_down_weights(hidden: int, word: int, sides: int) -> Shapes:
    # There are no more sides, whatever the number says.
    sides = 1 if sides == 1 else 2
    of_states = [(2, 4 * hidden, hidden), (2, 2 * hidden, hidden), (2, hidden, hidden)]
    return [(sides, 4 * hidden, word), *of_states, (sides, 4 * hidden)]


def _depths(roots: int, levels: int, nodes: int) -> Shapes:
    return [(levels + 1,), (nodes,), (nodes,), (nodes - roots,)]


def _top_down_pack(hidden: int, word: int, sides: int) -> Shapes:
    return [*_top_down_weights(hidden, word, sides), (top_down_room(hidden, word, sides),)]


def _top_down_forward_packed(
    hidden: int, word: int, sides: int, rows: int, roots: int, levels: int, nodes: int
) -> Shapes:
    return (
        *((rows, word), (top_down_room(hidden, word, sides),)),
        *((levels + 1,), (nodes,), (nodes,), (nodes - roots,)),
        (nodes, hidden),
    )


def _top_down_kept(hidden: int, roots: int, nodes: int) -> Shapes:
    return [(nodes, 4 * hidden), (nodes, 2 * hidden), ((nodes - roots) // 2, 2 * hidden)]


def _top_down_forward(
    hidden: int, word: int, sides: int, rows: int, roots: int, levels: int, nodes: int
) -> Shapes:
    return [
        *((rows, word), *_top_down_weights(hidden, word, sides)),
        *_depths(roots, levels, nodes),
        (nodes, hidden),
        *_top_down_kept(hidden, roots, nodes),
    ]


def _top_down_backward(
    hidden: int, word: int, sides: int, rows: int, roots: int, levels: int, nodes: int
) -> Shapes:
    *weights, bias = _top_down_weights(hidden, word, sides)
    return [
        *((rows, word), *weights),
        *_depths(roots, levels, nodes),
        *_top_down_kept(hidden, roots, nodes),
        (nodes, hidden),
        *((rows, word), *weights, bias),
    ]


def _sequences_weights(hidden: int, word: int, has_peepholes: int) -> Shapes:
    of_cells = [(2 * hidden, hidden), (hidden, hidden)] if has_peepholes else [None, None]
    return [(4 * hidden, word), (4 * hidden, hidden), *of_cells, (4 * hidden,)]


def _sequences_pack(hidden: int, word: int, has_peepholes: int) -> Shapes:
    return [*_sequences_weights(hidden, word, has_peepholes), (sequences_room(hidden, word, has_peepholes),)]


def _sequences_forward_packed(
    hidden: int, word: int, has_peepholes: int, words: int, steps: int, spans: int, places: int
) -> Shapes:
    return (
        *((words, word), (sequences_room(hidden, word, has_peepholes),)),
        *((steps,), (places,), (spans,)),
        (spans, hidden),
    )


def _sequences_forward(
    hidden: int, word: int, has_peepholes: int, words: int, steps: int, spans: int, places: int
) -> Shapes:
    return [
        *((words, word), *_sequences_weights(hidden, word, has_peepholes)),
        *((steps,), (places,), (spans,)),
        *((spans, hidden), (places, 4 * hidden), (places, 2 * hidden)),
    ]


def _sequences_backward(
    hidden: int, word: int, has_peepholes: int, words: int, steps: int, spans: int, places: int
) -> Shapes:
    *weights, bias = _sequences_weights(hidden, word, has_peepholes)
    return [
        *((words, word), *weights),
        *((steps,), (places,), (spans,)),
        *((places, 4 * hidden), (places, 2 * hidden), (spans, hidden)),
        *((words, word), *weights, bias),
    ]


def _dense_pack(size: int, columns: int) -> Shapes:
    return [(columns, size), (columns,), (dense_room(size, columns),)]


def _dense_forward(rows: int, size: int, columns: int, has_relu: int) -> Shapes:
    del has_relu
    return (rows, size), (dense_room(size, columns),), (rows, columns)


def _lstm_pack(size: int, hidden: int) -> Shapes:
    gates = 4 * hidden
    return [(gates, size), (gates, hidden), (gates,), (gates,), (lstm_room(size, hidden),)]


def _lstm_forward(size: int, hidden: int, places: int, sentences: int, is_backward: int) -> Shapes:
    del is_backward
    states = (places, sentences, 2 * hidden)
    return (places, sentences, size), (lstm_room(size, hidden),), (places,), states


def _num_spans(words: int) -> int:
    return words * (words + 1) // 2


def _span_scores(size: int, labels: int, words: int, sentences: int) -> Shapes:
    ends, scores = (words + 1, sentences, size), (_num_spans(words), sentences, labels)
    return [ends, (size,), (size,), (size,), (labels, size), (labels,), scores]


def _best_trees(words: int, sentences: int, labels: int) -> Shapes:
    found = (_num_spans(words), sentences)
    return [(*found, labels), (sentences,), found, found, found, (sentences,)]


def _find_heads(rule: int, size: int, leaves: int, nodes: int) -> Shapes:
    del rule
    phrases = nodes - leaves
    return (nodes, size), (phrases, size), (phrases,), (2 * phrases,), (nodes,), (nodes,)


def _gather_features(hidden: int, leaves: int, nodes: int, asked: int, has_up: int) -> Shapes:
    del leaves
    down = (nodes, hidden)
    up, num_states = (down, 3) if has_up else (None, 2)
    return up, down, (asked,), (nodes,), (nodes,), (asked, num_states * hidden)


_UP = "#size #leaves #levels #nodes level_offset: children:"
_BOTTOM_UP = "#hidden #word #is_lexical #has_peepholes"
_LEVELS = "#leaves #levels #nodes level_offset: children:"
_TOP_DOWN = "#hidden #word #sides"
_DEPTHS = "#rows #roots #levels #nodes depth_offset: row_of: down_order: parent_of:"
_SPANS = "#words #steps #spans #places step_sizes: word_of: last:"
_WEIGHTS = "weight_x weight_h weight_c peephole"
_CHANGES = "dx? dweight_x dweight_h dweight_c dpeephole dbias"

SIGNATURES = {
    "heads_pack": Signature("gate bias #size packed", _heads_pack),
    "heads_forward_packed": Signature(f"words packed lean? {_UP} x z", _heads_forward_packed),
    "heads_forward": Signature(f"words gate bias lean? {_UP} x pairs z", _heads_forward),
    "heads_backward": Signature(f"gate {_UP} pairs z dx dgate dbias", _heads_backward),
    "bottom_up_pack": Signature(f"{_WEIGHTS} bias {_BOTTOM_UP} packed", _bottom_up_pack),
    "bottom_up_forward_packed": Signature(
        f"x packed {_BOTTOM_UP} {_LEVELS} h",
        _bottom_up_forward_packed,
    ),
    "bottom_up_forward": Signature(
        f"x {_WEIGHTS} bias {_BOTTOM_UP} {_LEVELS} h c leaf_gates gates pairs", _bottom_up_forward
    ),
    "bottom_up_backward": Signature(
        f"x {_WEIGHTS} {_BOTTOM_UP} {_LEVELS} c leaf_gates gates pairs dh {_CHANGES}",
        _bottom_up_backward,
    ),
    "top_down_pack": Signature(f"{_WEIGHTS} bias {_TOP_DOWN} packed", _top_down_pack),
    "top_down_forward_packed": Signature(f"x packed {_TOP_DOWN} {_DEPTHS} h", _top_down_forward_packed),
    "top_down_forward": Signature(
        f"x {_WEIGHTS} bias {_TOP_DOWN} {_DEPTHS} h gates states parent_states",
        _top_down_forward,
    ),
    "top_down_backward": Signature(
        f"x {_WEIGHTS} {_TOP_DOWN} {_DEPTHS} gates states parent_states dh {_CHANGES}",
        _top_down_backward,
    ),
    "sequences_pack": Signature(f"{_WEIGHTS} bias #hidden #word #has_peepholes packed", _sequences_pack),
    "sequences_forward_packed": Signature(
        f"x packed #hidden #word #has_peepholes {_SPANS} out", _sequences_forward_packed
    ),
    "sequences_forward": Signature(
        f"x {_WEIGHTS} bias #hidden #word #has_peepholes {_SPANS} out gates states", _sequences_forward
    ),
    "sequences_backward": Signature(
        f"x {_WEIGHTS} #hidden #word #has_peepholes {_SPANS} gates states dout {_CHANGES}",
        _sequences_backward,
    ),
    "dense_pack": Signature("weight bias #size #columns packed", _dense_pack),
    "dense_forward": Signature("x packed #rows #size #columns #has_relu out", _dense_forward),
    "lstm_pack": Signature("weight_x weight_h bias_x bias_h #size #hidden packed", _lstm_pack),
    "lstm_forward": Signature(
        "x packed #size #hidden #places #sentences #is_backward num_reaching: out", _lstm_forward
    ),
    "span_scores": Signature(
        "ends bias gain shift labels label_bias ~epsilon #size #num_labels #num_words #sentences scores",
        _span_scores,
    ),
    "best_trees": Signature(
        "scores #num_words #sentences #num_labels lengths: splits= labels= is_closed! best_scores",
        _best_trees,
    ),
    "find_heads": Signature("x z lean? #rule #size #leaves #nodes children: leaf= weight", _find_heads),
    "gather_features": Signature(
        "up down #hidden #leaves #nodes #num_asked #has_up asked: start: end: out", _gather_features
    ),
}
"""Every function of the C sources that is compiled for each kind of processor."""
