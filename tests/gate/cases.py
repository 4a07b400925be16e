"""Small models of every kind on trees of every shape, whose gradients are compared."""

from __future__ import annotations

from typing import Any

Case = dict[str, Any]

LABELS = ("0", "1", "2")
_WORDS = [f"w{number}" for number in range(12)]
_TREE_MODELS = (
    "bilstm",
    "bilstm-plain",
    "contree",
    "contree-le",
    "contree-lex",
    "contree-nary",
    "topdown",
    "bicontree",
)
_WITH_HEADS = ("contree-lex", "topdown", "bicontree")


def gradient_cases() -> dict[str, Case]:
    """Every encoder, every head method with every encoder that has heads, and every part of the loss."""
    cases = {name: _case(model=name) for name in _TREE_MODELS}
    cases["rntn"] = _case(model="rntn", word_size=7, output=0)
    cases["deptree"] = {**_case(model="deptree"), "trees": _dependencies()}
    for name in _WITH_HEADS:
        for method in "LRA":
            cases[f"{name}, heads {method}"] = _case(model=name, head_method=method)
        for kind in ("words", "content"):
            cases[f"{name}, heads of {kind}"] = _case(model=name, head_candidates=kind)
        cases[f"{name}, gate of a user"] = {**_case(model=name), "own_gate": True}
    cases["bicontree, inputs apart"] = _case(model="bicontree", share_topdown_inputs=False)
    cases["bicontree, 37 wide"] = _case(model="bicontree", hidden=37, word_size=19, output=0)
    cases["bicontree, sentences only"] = _case(model="bicontree", supervision="root")
    finer = {"--": "0", "-": "0", "o": "", "+": "1", "++": "1"}
    graded = {
        **_case(model="bicontree", labels=("0", "1"), finer_labels=finer),
        "trees": _trees(tuple(finer)),
    }
    cases["bicontree, finer labels"] = graded
    loss = {"root_weight": 3.0, "head_entropy": 0.2}
    cases["bicontree, weighted loss"] = {**_case(model="bicontree"), "loss": loss}
    for name, unit in (("bicontree", "word"), ("pooled", "phrase")):
        cases[f"{name} over a transformer"] = {**_case(model=name, word_size=8), "transformer": unit}
    return cases


def parser_cases() -> dict[str, Case]:
    """The parser's network."""
    settings = {
        "labels": ("S", "NP", "VP", "S+VP"),
        "tags": ("N", "V", "D"),
        "styles": ("one",),
        "vector_size": 6,
        "word_size": 5,
        "affix_size": 4,
        "affix_rows": 16,
        "style_size": 3,
        "hidden": 7,
        "layers": 2,
        "span_size": 8,
        "dropout": 0.0,
    }
    trees = [
        "(S (NP (D w0) (N w1)) (VP (V w2) (NP (D w3) (N w4) (N film))))",
        "(S (NP (N w5)) (VP (V w6) (N w7) (N w8) (N w9) (N w1)))",
        "(S (VP (V w10) (NP (N unseen))))",
        "(NP (N w11))",
    ]
    return {"parser": {"settings": settings, "words": _WORDS, "trees": trees}}


def _case(**settings: Any) -> Case:
    """A model without dropout; `the`, `not` and punctuation are no content words."""
    sizes = {"labels": LABELS, "word_size": 5, "hidden": 7, "output": 4, "dropout": 0.0}
    words = [*_WORDS, "the", "not", "good", "."]
    return {"settings": {**sizes, **settings}, "words": words, "trees": _trees()}


def _trees(labels: tuple[str, ...] = LABELS) -> list[str]:
    """A word, a pair, chains to both sides, a balanced tree, wide and unary phrases, and words that are unknown."""
    names = _Names((*labels, "_"))
    words = [f"({names.next()} {word})" for word in _WORDS]
    balanced = words[:8]
    while len(balanced) > 1:
        balanced = [
            f"({names.next()} {one} {two})" for one, two in zip(balanced[::2], balanced[1::2], strict=True)
        ]
    left, right = words[0], words[0]
    for word in words[1:]:
        left, right = f"({names.next()} {left} {word})", f"({names.next()} {word} {right})"
    # Sentences that are learned from have a label.
    first = labels[0]
    wide = f"({first} {words[1]} {words[2]} ({names.next()} {words[3]} {words[4]} {words[1]} {words[5]}) {words[6]})"
    unary = f"({first} ({first} ({first} {words[7]})))"
    spoken = f"({first} (_ (_ the) (1 w3)) (1 (_ not) (_ (1 good) (_ (_ unseen) (_ .))))))"[:-1]
    if "1" not in labels:
        spoken = spoken.replace("(1 ", f"({labels[-1]} ")
    return [
        _labelled(tree, first)
        for tree in (words[2], f"(_ {words[0]} {words[0]})", *balanced, left, right, wide, unary, spoken)
    ]


def _labelled(tree: str, label: str) -> str:
    """The tree with a label at its root."""
    return tree.replace("(_", f"({label}", 1) if tree.startswith("(_") else tree


class _Names:
    """Labels in turns."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.number = 0

    def next(self) -> str:
        self.number += 1
        return self.names[self.number % len(self.names)]


def _dependencies() -> list[Case]:
    """A word, a chain, a star, and a tree between them; words depend on earlier and on later ones."""
    shapes = ([-1], [1, 2, 3, -1], [2, 2, -1, 2, 2, 2], [1, 4, 1, 2, -1, 7, 7, 4])
    return [
        {
            "words": _WORDS[: len(parents)],
            "parents": parents,
            "labels": [(*LABELS, "")[(word + len(parents)) % 4] for word in range(len(parents))],
        }
        for parents in shapes
    ]
