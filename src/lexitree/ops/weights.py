"""The weights of the operations, stacked so that one product gives all gates, with the paper's names beside them.

Gates stand in the order forget, input, candidate, output: those that see the old cells come first and those that
a leaf has come last, so that each group is one slice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, get_args, runtime_checkable

from lexitree.errors import ConfigError

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

Array = Any
"""A tensor or, where torch is not needed, a NumPy array; all weights of an operation are of one library."""

HeadMethod = Literal["G", "L", "R", "A"]
"""How a phrase gets its head vector: a learned gate (G), the left or right child's (L, R), their mean (A)."""

HeadCandidates = Literal["all", "words", "content"]
"""Which words may be the head of a phrase that has others: all of them; all but punctuation; content words."""

SAME_SIMILARITY = 1e-6
"""Similarities of head vectors that differ by no more are a tie: which is the larger one is a matter of rounding."""

DECIDED = 1e4
"""What is added to the input of a gate that is decided beforehand: its sigmoid is 0 or 1 in every precision."""


@runtime_checkable
class ShareOfLeft(Protocol):
    """A gate of another package: the share of each phrase's head vector that comes from its left part.

    It is [phrases, word] or [phrases, 1], and made from the head vectors of the left and the right parts of some
    phrases, [phrases, word].
    """

    def __call__(self, left: Tensor, right: Tensor, /) -> Tensor: ...


def check_head_method(method: str, weights: object) -> None:
    """Check that a head method exists, and has weights where it needs them.

    Raises:
        ConfigError: If it is unknown, or is the gate and has no weights.
    """
    known = get_args(HeadMethod)
    if method not in known:
        raise ConfigError(f"unknown head method {method!r}", remedy=f"Choose one of: {', '.join(known)}.")
    if method == "G" and weights is None:
        raise ConfigError("the head method G needs the weights of its gate")


class HeadWeights(NamedTuple):
    """Head words by method G: z = sigmoid(W_zx^L x_L + W_zx^R x_R + b_z)."""

    gate: Float[Array, "word two_words"]
    """[W_zx^L W_zx^R]"""
    bias: Float[Array, " word"]
    """b_z"""


class DenseWeights(NamedTuple):
    """A dense layer: W x + b."""

    weight: Float[Array, "columns size"]
    """W"""
    bias: Float[Array, " columns"]
    """b"""


class BottomUpWeights(NamedTuple):
    """The bottom-up tree LSTM; rows are the gates f_L, f_R, i, g, o (for x: f, i, g, o, with one f for both).

    Zhu et al. (2015) let the gates see the cells. The binary N-ary cell of Tai et al. (2015) is the same without:
    `c` and `peephole` are None together.
    """

    x: Float[Array, "x_gates word"]
    """W_xf W_xi W_xg W_xo when words reach every node (+Lex); W_xi W_xg W_xo when they reach the leaves only."""
    h: Float[Array, "5*hidden 2*hidden"]
    """W_h*^L beside W_h*^R"""
    c: Float[Array, "3*hidden 2*hidden"] | None
    """W_c*^L beside W_c*^R, for f_L, f_R, i"""
    peephole: Float[Array, "hidden hidden"] | None
    """W_co, which sees the new cell"""
    bias: Float[Array, " 5*hidden"]
    """b_fl b_fr b_i b_g b_o"""

    @property
    def hidden(self) -> int:
        return self.bias.shape[0] // 5

    @property
    def is_lexical(self) -> bool:
        """Whether inner nodes, too, take a word vector."""
        return self.x.shape[0] == 4 * self.hidden


class ChildSumWeights(NamedTuple):
    """The child-sum tree LSTM of Tai et al. (2015), for any number of children; rows are the gates f, i, g, o."""

    x: Float[Array, "4*hidden word"]
    """W_f W_i W_g W_o; every node has a word"""
    h: Float[Array, "4*hidden hidden"]
    """U_f, which sees one child at a time, and U_i U_g U_o, which see their sum"""
    bias: Float[Array, " 4*hidden"]
    """b_f b_i b_g b_o"""

    @property
    def hidden(self) -> int:
        return self.h.shape[-1]


class TopDownWeights(NamedTuple):
    """The top-down tree LSTM; rows are the gates f, i, g, o, the first dimension is the side (left, right)."""

    x: Float[Array, "sides 4*hidden word"]
    """W_x*; one side when both share it, as in the paper's parameter counts, two as in its equations"""
    h: Float[Array, "2 4*hidden hidden"]
    """W_h*^N"""
    c: Float[Array, "2 2*hidden hidden"]
    """W_c*^N, for f and i"""
    peephole: Float[Array, "2 hidden hidden"]
    """W_co^N, which sees the new cell"""
    bias: Float[Array, "sides 4*hidden"]
    """b_f b_i b_g b_o"""

    @property
    def hidden(self) -> int:
        return self.h.shape[-1]


class GatedChildrenWeights(NamedTuple):
    """The tree LSTM of Le and Zuidema (2015), in which each child has an input gate and a forget gate of its own.

    Both children's gates share their weights: "own" meets the child that the gate is for, "sister" the other one.
    Words enter by weights of their own (x), phrases by those of their states (h) and cells (c).
    """

    x: Float[Array, "hidden word"]
    """W_x, which makes of a word what its label is scored by"""
    x_bias: Float[Array, " hidden"]
    """b_x"""
    own_x: Float[Array, "2*hidden word"]
    """W_f1 W_i1 of a word"""
    sister_x: Float[Array, "2*hidden word"]
    """W_f2 W_i2 of a word"""
    candidate_x: Float[Array, "2 hidden word"]
    """W_c1 W_c2 of a word: by side, since here the order of the children counts"""
    output_x: Float[Array, "2 hidden word"]
    """W_o1 W_o2 of a word, by side"""
    own_h: Float[Array, "2*hidden hidden"]
    """W_f1 W_i1"""
    sister_h: Float[Array, "2*hidden hidden"]
    """W_f2 W_i2"""
    own_c: Float[Array, "2*hidden hidden"]
    """W_cf1 W_ci1"""
    sister_c: Float[Array, "2*hidden hidden"]
    """W_cf2 W_ci2"""
    candidate: Float[Array, "2 hidden hidden"]
    """W_c1 W_c2"""
    output: Float[Array, "hidden 2*hidden"]
    """W_o1 beside W_o2"""
    peephole: Float[Array, "hidden hidden"]
    """W_co, which sees the new cell"""
    bias: Float[Array, " 4*hidden"]
    """b_f b_i b_c b_o"""

    @property
    def hidden(self) -> int:
        return self.peephole.shape[0]


class TensorWeights(NamedTuple):
    """The recursive neural tensor network of Socher et al. (2013)."""

    slices: Float[Array, "hidden 2*hidden 2*hidden"]
    """V, one matrix for each number of the parent's vector"""
    matrix: Float[Array, "hidden 2*hidden"]
    """W"""
    bias: Float[Array, " hidden"]
    """b"""


class SequenceWeights(NamedTuple):
    """One direction of the sequence LSTM; rows are the gates f, i, g, o.

    The paper's has full peepholes. In the plain LSTM `c` and `peephole` are None together.
    """

    x: Float[Array, "4*hidden word"]
    h: Float[Array, "4*hidden hidden"]
    c: Float[Array, "2*hidden hidden"] | None
    """for f and i"""
    peephole: Float[Array, "hidden hidden"] | None
    """W_co, which sees the new cell"""
    bias: Float[Array, " 4*hidden"]

    @property
    def hidden(self) -> int:
        return self.h.shape[-1]
