"""Write the embedded reviews corpus: expands the grammar of `reviews_grammar.py` into binary trees, labels
every node with `reviews_meaning.py`, and writes one tree a line to `reviews.{train,dev,test}.txt`.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import reviews_grammar as grammar
from corpus_files import Dice, split, write_or_check
from reviews_meaning import LEXICON, Tree, UnnaturalError, bracketed, meaning_of, words_of

SEED = 2024
SPLIT_SIZES = {"train": 1100, "dev": 200, "test": 300}
LABEL_SHARES = {0: 0.14, 1: 0.27, 2: 0.17, 3: 0.27, 4: 0.15}
MOST_WORDS = 30
MOST_ONE_WORD_REVIEWS = 16
LEAST_IN_TRAIN = 3  # times that each word of dev and test is seen in train
PAST_SHARE = 0.35
EXCLAIMED_SHARE = 0.2  # of strong sentences
MIRRORED_SHARE = 0.6  # of sentences with a contrast


@dataclass(frozen=True)
class Noun:
    word: str
    kind: str
    plural: bool = False


def parse(production: str) -> Tree:
    """Tree of one right-hand side such as `((IS n't) ADJ)`."""
    stack: list[list[Tree]] = [[]]
    for token in production.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            stack.append([])
        elif token == ")":
            left, right = stack.pop()
            stack[-1].append((left, right))
        else:
            stack[-1].append(token)
    (tree,) = stack[0]
    return tree


def weighted(productions: Iterable[str]) -> list[Tree]:
    """Each right-hand side as many times as its weight."""
    trees: list[Tree] = []
    for production in productions:
        weight, right_hand_side = production.split(" ", 1)
        trees += [parse(right_hand_side)] * int(weight)
    return trees


def read_nouns(domain: str, role: str) -> list[Noun]:
    """Nouns of one role in a domain, from `kind: noun plural* | kind: noun`; no kind means `any`."""
    nouns = []
    for group in grammar.DOMAINS[domain][role].split("|"):
        kind, colon, words = group.rpartition(":")
        for word in words.split():
            if word.rstrip("*") in LEXICON:
                raise ValueError(f"{word!r} is no plain noun: it has a meaning of its own")
            nouns.append(Noun(word.rstrip("*"), kind.strip() if colon else "any", word.endswith("*")))
    return nouns


RULES = {symbol: weighted(productions) for symbol, productions in grammar.PRODUCTIONS.items()}
FACT_RULES = {domain: weighted(productions) for domain, productions in grammar.FACTS.items()}
NOUNS = {
    (domain, role): read_nouns(domain, role)
    for domain in grammar.DOMAINS
    for role in ("head", "part", "idea", "rival")
}
VERB_FORMS = {name: [verb.split() for verb in verbs.split(",")] for name, verbs in grammar.VERBS.items()}
FORMS = {forms[0]: forms for verbs in VERB_FORMS.values() for forms in verbs}
CLAUSE_LINKS = RULES["ALTHOUGH"]
BE_FORMS = {(False, False): "is", (True, False): "are", (False, True): "was", (True, True): "were"}


@dataclass
class Writer:
    """Expands one sentence: it keeps to one domain, one whole and one tense, and names no noun twice."""

    dice: Dice
    domain: str
    past: bool
    whole: Noun
    named: set[str] = field(default_factory=set)

    def expand(self, tree: Tree, noun: Noun) -> Tree:
        if isinstance(tree, tuple):
            return self.expand(tree[0], noun), self.expand(tree[1], noun)
        if tree.endswith("~"):
            return self.agree(FORMS[tree[:-1]], noun)
        if not tree.isupper() or tree == "I":
            return tree
        if noun.kind not in grammar.GUARDS.get(tree, (noun.kind,)):
            raise UnnaturalError(f"{tree} does not suit {noun.word}")
        if tree in grammar.BINDERS:
            noun = self.new_noun(grammar.BINDERS[tree])
        if tree in RULES:
            return self.expand(self.dice.pick(RULES[tree]), noun)
        if tree == "FACT":
            return self.expand(self.dice.pick(FACT_RULES[self.domain]), noun)
        return self.word(tree, noun)

    def new_noun(self, role: str) -> Noun:
        if role == "it":
            return self.whole
        noun = self.whole if role == "head" else self.dice.pick(NOUNS[self.domain, role])
        if noun.word in self.named:
            raise UnnaturalError("a noun twice")
        self.named.add(noun.word)
        return noun

    def agree(self, forms: Sequence[str], noun: Noun) -> str:
        base, third_person, past = forms
        return past if self.past else base if noun.plural else third_person

    def word(self, symbol: str, noun: Noun) -> str:
        """The word for a symbol that has no productions."""
        fixed = {
            "NOUN": noun.word,
            "THIS": "these" if noun.plural else "this",
            "OF": grammar.DOMAINS[self.domain]["of"],
            "IS": BE_FORMS[noun.plural, self.past],
            "IT_IS": BE_FORMS[False, self.past],
            "HAS": self.agree(("have", "has", "had"), noun),
            "DOES": self.agree(("do", "does", "did"), noun),
        }
        if symbol in fixed:
            return fixed[symbol]
        if symbol in ("DELIGHT", "ANNOY"):
            return self.event(symbol, noun)[0]
        if symbol in ("DELIGHTS", "ANNOYS"):
            return self.agree(self.event(symbol[:-1], noun), noun)
        if symbol in ("SPOIL", "SAVE"):
            return self.agree(self.dice.pick(VERB_FORMS[symbol]), noun)
        if symbol in ("SPOIL0", "SAVE0"):
            return self.dice.pick(VERB_FORMS[symbol[:-1]])[0]
        if symbol.startswith("OWN_"):
            return self.word_by_kind(symbol.removeprefix("OWN_"), (noun.kind,))
        return self.word_by_kind(symbol, (noun.kind, "any"))

    def event(self, symbol: str, noun: Noun) -> list[str]:
        """Forms of a verb; only shows amuse and bore."""
        lists = {"DELIGHT": ("DELIGHT", "DAZZLE", "AMUSE"), "ANNOY": ("ANNOY", "ENRAGE", "BORE")}[symbol]
        names = lists if noun.kind in grammar.SHOWS else lists[:2]
        return self.dice.pick([forms for name in names for forms in VERB_FORMS[name]])

    def word_by_kind(self, symbol: str, kinds: Sequence[str]) -> str:
        words = [word for kind in kinds for word in grammar.WORDS_BY_KIND[kind].get(symbol, "").split()]
        if not words:
            raise UnnaturalError(f"no {symbol} for {kinds}")
        return self.dice.pick(words)


def map_words(tree: Tree, words: Iterable[str]) -> Tree:
    """The same tree over other words, taken from left to right."""
    words = iter(words)

    def rebuild(node: Tree) -> Tree:
        return next(words) if isinstance(node, str) else (rebuild(node[0]), rebuild(node[1]))

    return rebuild(tree)


def spell(tree: Tree) -> Tree:
    """Capital at the start, `an` before the sound of a vowel."""
    words = words_of(tree)
    for place, following in enumerate(words[1:]):
        if words[place] == "a" and following[0] in "aeiou" and following != "useless":
            words[place] = "an"
    words[0] = words[0][0].upper() + words[0][1:]
    return map_words(tree, words)


def punctuate(tree: Tree, dice: Dice) -> Tree:
    """Full stop attached low on the right, as treebanks do; a one-word review may go without."""
    mark = "!" if abs(meaning_of(tree).value) == 2 and dice.chance(EXCLAIMED_SHARE) else "."
    if isinstance(tree, str):
        return (tree, mark) if dice.chance(0.5) else tree
    return tree[0], (tree[1], mark)


def repeats_itself(words: Sequence[str]) -> bool:
    """Whether a polar word comes back (`disappoints`, `disappointing`) or meets one of its own set."""
    polar = [word for word in words if word in LEXICON and LEXICON[word].value]
    stems = {word[:4] for word in polar}
    clash = any(sum(word in clashing for word in words) > 1 for clashing in grammar.CLASHES)
    return len(stems) < len(polar) or clash or words.count("n't") > 2


def mirror(tree: Tree) -> Tree:
    """The same clauses in the other order, with the other sign: `B , but A` for `A , but B`."""
    match tree:
        case ((first, ","), (("but" | "yet") as link, second)):
            return (second, ","), (link, first)
        case (((link, first), ","), second) if link in CLAUSE_LINKS and words_of(second)[0] != "it":
            return ((link, second), ","), first
    raise UnnaturalError("no two clauses to swap")


def write_sentence(dice: Dice) -> Tree:
    domain = dice.pick(list(grammar.DOMAINS))
    whole = dice.pick(NOUNS[domain, "head"])
    writer = Writer(dice, domain, dice.chance(PAST_SHARE), whole)
    tree = writer.expand("SENTENCE", whole)
    words = words_of(tree)
    if len(words) >= MOST_WORDS or repeats_itself(words):
        raise UnnaturalError("too long or repetitive")
    return tree


class Corpus:
    """Distinct sentences with the wanted share of each label at the root."""

    def __init__(self, dice: Dice, size: int) -> None:
        self.dice = dice
        self.wanted = {label: round(share * size) for label, share in LABEL_SHARES.items()}
        self.one_word_reviews_wanted = MOST_ONE_WORD_REVIEWS
        self.sentences: dict[str, Tree] = {}

    def add(self, tree: Tree) -> None:
        label = meaning_of(tree).value + 2
        text = " ".join(words_of(tree)).lower()
        is_one_word = isinstance(tree, str)
        is_wanted = self.wanted[label] and (self.one_word_reviews_wanted or not is_one_word)
        if text in self.sentences or not is_wanted:
            raise UnnaturalError("enough of these")
        self.wanted[label] -= 1
        self.one_word_reviews_wanted -= is_one_word
        self.sentences[text] = spell(punctuate(tree, self.dice))

    def fill(self) -> None:
        while any(self.wanted.values()):
            try:
                tree = write_sentence(self.dice)
                self.add(tree)
                if isinstance(tree, tuple) and self.dice.chance(MIRRORED_SHARE):
                    self.add(mirror(tree))
            except UnnaturalError:
                continue


def write_corpus(dice: Dice) -> list[Tree]:
    corpus = Corpus(dice, sum(SPLIT_SIZES.values()))
    corpus.fill()
    return dice.shuffled(list(corpus.sentences.values()))  # the last ones are all of the rarest label


def check_labels(lines: Iterable[str]) -> None:
    """The same bracketing of the same words has the same label wherever it stands."""
    labels: dict[str, str] = {}
    for line in lines:
        starts = []
        for place, character in enumerate(line):
            if character == "(":
                starts.append(place)
            elif character == ")":
                phrase = line[starts.pop() : place + 1]
                label, shape = phrase[1], phrase[3:]
                if labels.setdefault(shape, label) != label:
                    raise AssertionError(f"labels {label} and {labels[shape]} for {shape}")


def render() -> dict[str, str]:
    room = {
        (name, str(label)): round(share * size)
        for name, size in SPLIT_SIZES.items()
        for label, share in LABEL_SHARES.items()
    }
    trees = write_corpus(Dice(SEED))
    splits = split(trees, words_of, lambda tree: str(meaning_of(tree).value + 2), room, LEAST_IN_TRAIN)
    lines = {name: [bracketed(tree) for tree in trees] for name, trees in splits.items()}
    check_labels(line for part in lines.values() for line in part)
    return {f"reviews.{name}.txt": "\n".join(part) + "\n" for name, part in lines.items()}


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, render))
