"""Labels of phrases in, rules out that say in which order their parts are asked for the head.

COLLINS is the table of Michael Collins, Head-Driven Statistical Models for Natural Language Parsing (1999),
appendix A. What it leaves open, because he took punctuation out and never met such labels, is settled here: no
punctuation or trace is a head by default where there is something else; ROOT, TOP and S1 follow the rule of S, for
which they stand once a unary chain is collapsed; NML follows that of NP; under a label that has no rule the first
part is the head.

STANFORD is what the Stanford parser makes of it, as far as the trees of the Stanford Sentiment Treebank show: split
by these heads, they are that treebank's own. It also splits trees whose labels are no categories, and as such trees
are split elsewhere: under a label that has no rule, a part that would be the head of an S is the head, else the last.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Side = Literal["left", "right"]
Step = tuple[Side, str]
"""The end at which a search starts, and the labels that it looks for."""

Default = Literal["left", "right", "last"]
"""Who is the head if nothing was found: the first or the last part that is no punctuation, or just the last."""


class HeadRule(NamedTuple):
    """How the head of one kind of phrase is found among its parts."""

    ranks: dict[str, int]
    """How early each label is looked for."""
    from_right: tuple[bool, ...]
    """For each rank whether the search starts at the right end."""
    default: Default


class HeadRules(NamedTuple):
    """The rules of all phrases."""

    by_category: dict[str, HeadRule]
    fallback: HeadRule
    """The rule of phrases of any other category."""


def _rule(*steps: Step, default: Default) -> HeadRule:
    """A rule of several searches; the labels of one of them are looked for together."""
    ranks = {label: rank for rank, (_, labels) in enumerate(steps) for label in labels.split()}
    return HeadRule(ranks, tuple(side == "right" for side, _ in steps), default)


def _in_turn(side: Side, labels: str) -> tuple[Step, ...]:
    """Searches that all start at one end, for one label after the other."""
    return tuple((side, label) for label in labels.split())


def _named_like_others(rules: dict[str, HeadRule]) -> dict[str, HeadRule]:
    return {
        **rules,
        **dict.fromkeys(("NX", "NML"), rules["NP"]),
        **dict.fromkeys(("ROOT", "TOP", "S1"), rules["S"]),
    }


_COLLINS: dict[str, Step] = {
    "ADJP": ("left", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": ("right", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": ("right", "CC RB IN"),
    "FRAG": ("right", ""),
    "INTJ": ("left", ""),
    "LST": ("right", "LS :"),
    "NAC": ("left", "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": ("right", "IN TO VBG VBN RP FW"),
    "PRN": ("left", ""),
    "PRT": ("right", "RP"),
    "QP": ("left", "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": ("right", "VP NP ADVP ADJP PP"),
    "S": ("left", "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": ("left", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": ("left", "SQ S SINV SBARQ FRAG"),
    "SINV": ("left", "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": ("left", "VBZ VBD VBP VB MD VP SQ"),
    "UCP": ("right", ""),
    "VP": ("left", "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": ("left", "CC WRB JJ ADJP"),
    "WHADVP": ("right", "CC WRB"),
    "WHNP": ("left", "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": ("right", "IN TO FW"),
}
"""For each label the end at which all searches start, and the labels looked for, one after the other."""

_NOUN_PHRASE = _rule(
    # Collins first takes a last word tagged POS, which the search from the right for a POS finds as well.
    ("right", "NN NNP NNPS NNS NX NML POS JJR"),
    ("left", "NP"),
    ("right", "$ ADJP PRN"),
    ("right", "CD"),
    ("right", "JJ JJS RB QP"),
    default="right",
)
"""In noun phrases labels are looked for together, and the searches start at different ends."""

COLLINS = HeadRules(
    _named_like_others(
        {
            **{label: _rule(*_in_turn(*step), default=step[0]) for label, step in _COLLINS.items()},
            "NP": _NOUN_PHRASE,
        }
    ),
    fallback=_rule(default="left"),
)

_STANFORD_SENTENCE = _in_turn("left", "TO VP S FRAG SBAR ADJP UCP NP")

_STANFORD_CHANGES: dict[str, HeadRule] = {
    # Of several adjectives the last one is the head, as the last noun is; adverbs come after them.
    "ADJP": _rule(
        ("left", "$"),
        ("right", "NNS NN JJ QP VBN VBG"),
        ("left", "ADJP"),
        ("right", "JJR JJS DT RB RBR CD IN VBD"),
        *_in_turn("left", "ADVP NP"),
        default="left",
    ),
    "ADVP": _rule(
        *_in_turn("left", "ADVP IN"),
        ("right", "RB RBR RBS JJ JJR JJS"),
        ("right", "RP DT NN CD NP VBN NNP CC FW NNS ADJP"),
        default="right",
    ),
    "PRN": _rule(*_in_turn("left", "VP NP PP SQ S SINV SBAR ADJP ADVP"), default="left"),
    "QP": _rule(*_in_turn("left", "$ IN NNS NN JJ CD PDT DT RB NCD QP JJR JJS"), default="left"),
    "S": _rule(*_STANFORD_SENTENCE, default="left"),
    "VP": _rule(*_in_turn("left", "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS JJ NP NNP"), default="left"),
    "WHADJP": _rule(*_in_turn("left", "WRB WHADVP RB JJ ADJP JJR"), default="left"),
    "X": _rule(*_in_turn("right", "S VP ADJP NP SBAR PP X"), default="right"),
}

STANFORD = HeadRules(
    _named_like_others({**COLLINS.by_category, **_STANFORD_CHANGES}),
    fallback=_rule(*_STANFORD_SENTENCE, default="last"),
)
