"""Rewrite treebanks by the bracketing guidelines of the Penn Treebank, where a rule can tell what they ask for.

    python scripts/penn_conventions.py runs/penn treebanks/gum.train.txt treebanks/mctb.forum.txt

Treebanks from other sources differ from the Penn Treebank, and from each other, in relative pronouns, auxiliaries,
infinitives, unary chains and single words. A parser that is trained on all of them learns the contradictions.

Each file is looked for by its path and below $LEXITREE_DATA, and is written under its own name. Words stay; traces,
function tags and ROOT are removed. A table shows how often each rule was applied.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from lexitree.parsers.penn_spans import clean_trees
from lexitree.tasks.parse.data import find_data_file, read_named_trees
from lexitree.trees.brackets import tree_to_brackets, write_trees
from lexitree.trees.tree import Tree
from lexitree.writing import atomic_write


class Node(NamedTuple):
    """A phrase with its parts, or a word with its tag."""

    label: str
    parts: tuple[Node, ...] = ()
    word: str = ""

    @property
    def labels(self) -> list[str]:
        return [part.label for part in self.parts]

    @property
    def is_coordinated(self) -> bool:
        return "CC" in self.labels or "CONJP" in self.labels

    @property
    def is_flat(self) -> bool:
        """Whether all parts are words."""
        return bool(self.parts) and not any(part.parts for part in self.parts)

    @property
    def is_lone(self) -> bool:
        return self.is_flat and len(self.parts) == 1

    def replace(self, place: int, *parts: Node) -> Node:
        return self._replace(parts=(*self.parts[:place], *parts, *self.parts[place + 1 :]))

    def dissolve(self, place: int) -> Node:
        """Put the parts of a part in its place."""
        return self.replace(place, *self.parts[place].parts)

    def enclose(self, start: int, end: int, label: str) -> Node:
        """Make one phrase of some parts."""
        phrase = Node(label, self.parts[start:end])
        return self._replace(parts=(*self.parts[:start], phrase, *self.parts[end:]))


NOUNS = frozenset(("NN", "NNS", "NNP", "NNPS"))
ADJECTIVES = frozenset(("JJ", "JJR", "JJS"))
DETERMINERS = frozenset(("DT", "PRP$", "PDT"))
PREMODIFIERS = DETERMINERS | ADJECTIVES | {"NN", "VBG", "VBN"}
FINITE_VERBS = frozenset(("VBD", "VBP", "VBZ", "MD"))
VERBS = FINITE_VERBS | {"VB", "VBG", "VBN"}
BE = {"be", "been", "being", "am", "are", "is", "was", "were", "'m", "'re", "'s", "’m", "’re", "’s"}
AUXILIARIES = BE | {"have", "has", "had", "having", "'ve", "’ve", "do", "does", "did"}
CLAUSES = frozenset(("S", "SINV", "SQ", "SBARQ"))
PUNCTUATION = frozenset((".", ",", ":", "``", "''"))
WH_TAGS = frozenset(("WDT", "WP", "WP$", "WRB"))
WH_LABELS = {"NP": "WHNP", "PP": "WHPP", "ADVP": "WHADVP", "ADJP": "WHADJP"}
NO_ADVERBS = frozenset(["not", "n't", "n’t", "nt", "yes", "no", "dont"])
LONE_TAGS = {"WHNP": ({"IN", "DT"}, "WDT"), "PRT": ({"IN", "RB"}, "RP"), "INTJ": (NOUNS, "UH")}
MAX_PASSES = 20


def repeated_label(node: Node) -> Node:
    """No phrase is over the same phrase alone; `it` is, as in the Penn Treebank, whose trace after it is removed."""
    first, *others = node.parts
    is_it = first.is_lone and first.parts[0].word.lower() == "it"
    return first if not others and first.parts and first.label == node.label and not is_it else node


def bare_head(node: Node) -> Node:
    """A verb with its auxiliaries, or a preposition, is no phrase without its complements: (VP is (NP junk))."""
    found = node.labels
    place = next((place for place, label in enumerate(found) if label not in ("ADVP", "RB")), 0)
    head = node.parts[place]
    tags = {"VP": VERBS | {"TO", "RB"}, "PP": {"IN", "TO", "VBG", "VBN"}}.get(head.label, set())
    is_list = node.is_coordinated or not {",", ":"}.isdisjoint(found) or found[:2] == ["PP", "PP"]
    is_head = head.label == node.label and head.is_flat and tags.issuperset(head.labels)
    return node.dissolve(place) if is_head and not is_list and place + 1 < len(found) else node


def auxiliary(node: Node) -> Node:
    """What follows an auxiliary is a VP: (VP has (VP evolved))."""
    is_after_auxiliary = False
    for place, part in enumerate(node.parts if node.label == "VP" and not node.is_coordinated else ()):
        if is_after_auxiliary and part.label in VERBS - {"MD"}:
            return node.enclose(place, len(node.parts), "VP")
        if part.label not in ("ADVP", "RB"):
            is_verb = part.label in VERBS and part.word.lower() in AUXILIARIES
            is_after_auxiliary = is_verb or part.label == "MD" or (part.label == "TO" and place == 0)
    return node


def lone_premodifier(node: Node) -> Node:
    """A single adjective before a noun is no ADJP, unless it is coordinated."""
    if node.label in ("NP", "NX", "WHNP") and not node.is_coordinated:
        for place, part in enumerate(node.parts):
            if part.label == "ADJP" and part.is_lone and not NOUNS.isdisjoint(node.labels[place:]):
                return node.dissolve(place)
    return node


def lone_intensifier(node: Node) -> Node:
    """An adverb before its adjective or adverb is no ADVP, nor the latter a phrase; comparatives are."""
    found = node.labels
    if node.label not in ("ADJP", "ADVP") or len(found) == 1 or node.is_coordinated or "," in found:
        return node
    for place, part in enumerate(node.parts):
        is_adverb = part.label == "ADVP" and found[place + 1 : place + 2] in (["JJ"], ["RB"], ["VBN"])
        if part.is_lone and (is_adverb or part.label == node.label) and part.labels[0] in ("RB", "JJ", "VBN"):
            return node.dissolve(place)
    return node


def nested_noun_phrase(node: Node) -> Node:
    """`a green color` is flat: no NP of words at the end of one that begins with a determiner or adjective."""
    *before, last = node.labels
    phrase = node.parts[-1]
    is_nested = node.label == last == "NP" and phrase.is_flat and not phrase.is_coordinated
    if not is_nested or not before or not {"DT", "PRP", "PRP$", "POS"}.isdisjoint(phrase.labels):
        return node
    is_one = before[0] in DETERMINERS | ADJECTIVES and PREMODIFIERS.issuperset(before)
    return node.dissolve(len(before)) if is_one else node


def quantity(node: Node) -> Node:
    """A QP is an amount of several words in an NP: neither a date, nor a number of one word, nor an object."""
    for place, part in enumerate(node.parts):
        if part.label == "QP" and (part.labels == ["NP"] or (part.is_lone and node.label == "NP")):
            return node.dissolve(place)
        if part.label == "QP" and node.label == "PP":
            is_amount = len(part.parts) > 1 and "NNP" not in part.labels
            return node.replace(place, Node("NP", (part,) if is_amount else part.parts))
    return node


def relative_pronoun(node: Node) -> Node:
    """The phrase of a relative or interrogative word before its clause is WHNP, WHPP, WHADVP or WHADJP."""
    if node.label in ("SBAR", "SBARQ") and not CLAUSES.isdisjoint(node.labels):
        for place, part in enumerate(node.parts):
            if part.label in CLAUSES:
                break
            if part.label in WH_LABELS and asks(part):
                return node.replace(place, as_question(part))
    return node


def asks(node: Node) -> bool:
    """Whether a phrase asks or relates, by one of its words or by that of a phrase in it."""
    inner = (part for part in node.parts if part.label.removeprefix("WH") in WH_LABELS)
    return not WH_TAGS.isdisjoint(node.labels) or any(map(asks, inner))


def as_question(node: Node) -> Node:
    is_question = node.label in WH_LABELS and asks(node)
    return Node(WH_LABELS[node.label], tuple(map(as_question, node.parts))) if is_question else node


def verb_tag(node: Node) -> str:
    """The tag of the first word of a VP that is a verb or `to`."""
    for part in node.parts:
        if part.label in VERBS or part.label in ("TO", "VP"):
            return verb_tag(part) if part.label == "VP" else part.label
    return ""


def infinitive(node: Node) -> Node:
    """`to` belongs to the VP of its infinitive, in a clause: (S (VP to (VP win)))."""
    for place, (part, verb) in enumerate(zip(node.parts, node.parts[1:], strict=False)):
        if part.label != "TO" or verb.label != "VP" or verb_tag(verb) != "VB":
            continue
        if node.label == "VP" and {"ADVP", "RB", "``"}.issuperset(node.labels[:place]):
            return node
        if len(node.parts) == 2 and node.label in ("PP", "SBAR"):
            return Node("S", (node._replace(label="VP"),))
        enclosed = node.enclose(place, place + 2, "VP")
        return enclosed if node.label == "S" else enclosed.enclose(place, place + 1, "S")
    return node


def complement_clause(node: Node) -> Node:
    """An infinitive or gerund after a full verb or a preposition is a clause: (VP likes (S (VP to win)))."""
    heads = {"VP": VERBS - {"MD"}, "PP": {"IN"}}.get(node.label, set())
    for place, (head, part) in enumerate(zip(node.parts, node.parts[1:], strict=False), 1):
        is_infinitive = node.label == "VP" and part.labels[:2] == ["TO", "VP"]
        is_gerund = head.word.lower() not in BE and verb_tag(part) == "VBG"
        is_complement = part.label == "VP" and head.label in heads and not node.is_coordinated
        if is_complement and (is_infinitive or is_gerund):
            return node.enclose(place, place + 1, "S")
    return node


def embedded_clause(node: Node) -> Node:
    """After its conjunction or relative pronoun, an SBAR has an S: (SBAR who (S (VP won)))."""
    found = node.labels
    if node.label != "SBAR" or "VP" not in found or not {"SBAR", "FRAG", "CC", *CLAUSES}.isdisjoint(found):
        return node
    introduced = enumerate(found[: found.index("VP")], 1)
    start = max((place for place, label in introduced if label == "IN" or "WH" in label), default=0)
    start += found[start] in ("``", ",")
    return node.enclose(start, len(found), "S") if start or "NP" in found else node


def finite_verb(node: Node) -> Node:
    """The verb of an S and what follows it are a VP; punctuation at the end stays outside."""
    found = node.labels
    start = next((place for place, label in enumerate(found) if label in VERBS), len(found))
    is_complete = start == len(found) or not {"VP", *CLAUSES}.isdisjoint(found[:start])
    if node.label != "S" or is_complete or node.is_coordinated or found.count("VP") > 1:
        return node
    end = max(place for place, label in enumerate(found, 1) if label not in PUNCTUATION)
    return node.enclose(start, end, "VP") if found[start] in FINITE_VERBS or start == 0 else node


def bare_noun(node: Node) -> Node:
    """A pronoun that is a subject or an object, and the words after a preposition, are an NP."""
    found = node.labels
    for place, label in enumerate(found):
        if label in ("PRP", "EX") and len(found) > 1 and node.label in (*CLAUSES, "VP", "PP", "SBAR"):
            return node.enclose(place, place + 1, "NP")
    is_object = node.label == "PP" and found[0] in ("IN", "TO") and found[-1] in NOUNS | {"CD"}
    allowed = DETERMINERS | ADJECTIVES | NOUNS | {"CD"}
    return node.enclose(1, len(found), "NP") if is_object and allowed.issuperset(found[1:]) else node


def bare_adverb(node: Node) -> Node:
    """Adverbs of a clause or VP are an ADVP, but for `not` and beside a conjunction: (S (ADVP So) ...)."""
    found = node.labels
    if node.label not in (*CLAUSES, "VP") or node.is_coordinated or len(found) == 1:
        return node
    for place, part in enumerate(node.parts):
        if part.label == "RB" and part.word.lower() not in NO_ADVERBS:
            end = next((end for end in range(place, len(found)) if found[end] != "RB"), len(found))
            return node if found[end : end + 1] in ([node.label], [":"]) else node.enclose(place, end, "ADVP")
    return node


def word_tag(node: Node) -> Node:
    """`to` is TO, a relative `that` WDT, the one word of a PRT is RP, and that of an INTJ is UH, not a name."""
    mistaken, tag = LONE_TAGS.get(node.label, ((), ""))
    if node.is_lone and node.labels[0] in mistaken:
        return node.replace(0, node.parts[0]._replace(label=tag))
    for place, part in enumerate(node.parts):
        if part.label == "IN" and part.word.lower() == "to":
            return node.replace(place, part._replace(label="TO"))
    return node


def imperative(node: Node) -> Node:
    """A sentence without a subject is an S over its VP, which its punctuation follows; only for whole sentences."""
    if node.label in VERBS:
        return Node("S", (Node("VP", (node,)),))
    end = len(node.parts) - (node.label == "VP" and node.labels[-1] in PUNCTUATION)
    return (
        Node("S", (node._replace(parts=node.parts[:end]), *node.parts[end:])) if node.label == "VP" else node
    )


Rule = Callable[[Node], Node]
"""Returns what the guidelines ask for, or the same object if the phrase follows them."""
RULES: tuple[Rule, ...] = (
    *(repeated_label, bare_head, auxiliary, lone_premodifier, lone_intensifier),
    *(nested_noun_phrase, quantity, relative_pronoun, infinitive, complement_clause, embedded_clause),
    *(finite_verb, bare_noun, bare_adverb, word_tag),
)


def rewrite(node: Node, counts: Counter[str]) -> Node:
    """Apply all rules until none changes the tree, and count them."""
    for _ in range(MAX_PASSES):
        before = node
        node = _apply((imperative,), _rewrite_parts(node, counts), counts)
        if node == before:
            return node
    raise RuntimeError(f"the rules undo each other: {tree_to_brackets(to_tree(node))}")


def _rewrite_parts(node: Node, counts: Counter[str]) -> Node:
    parts = tuple(_rewrite_parts(part, counts) for part in node.parts)
    return _apply(RULES, node._replace(parts=parts), counts) if parts else node


def _apply(rules: Iterable[Rule], node: Node, counts: Counter[str]) -> Node:
    for rule in rules:
        changed = rule(node)
        counts[rule.__name__] += changed is not node
        node = changed
    return node


def to_node(tree: Tree) -> Node:
    stack: list[Node] = []
    words = list(tree.words)
    for arity, label in zip(reversed(tree.arity.tolist()), reversed(tree.labels), strict=True):
        stack.append(Node(label, tuple(stack.pop() for _ in range(arity)), "" if arity else words.pop()))
    return stack[0]


def to_tree(node: Node) -> Tree:
    nodes = list(_in_order(node))
    words = [node.word for node in nodes if not node.parts]
    return Tree([len(node.parts) for node in nodes], [node.label for node in nodes], words)


def _in_order(node: Node) -> Iterator[Node]:
    yield node
    for part in node.parts:
        yield from _in_order(part)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, help="the folder to write into")
    parser.add_argument("treebanks", nargs="+", help="files of bracketed trees")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    counts: dict[str, Counter[str]] = {}
    for path in map(find_data_file, options.treebanks):
        found = counts[path.name] = Counter[str]()
        with atomic_write(options.output / path.name) as stream:
            for tree in clean_trees(read_named_trees(path)):
                changed = to_tree(rewrite(to_node(tree), found))
                found.update(trees=1, changed=changed != tree)
                write_trees([changed], stream.write)
    print("rule", *counts, sep="\t")
    for name in ("trees", "changed", *(rule.__name__ for rule in (*RULES, imperative))):
        print(name, *(f"{found[name]:,}" for found in counts.values()), sep="\t")


if __name__ == "__main__":
    main()
