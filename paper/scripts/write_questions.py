"""Write the embedded questions corpus: expands the templates of `questions_grammar.py` into Penn-style trees
and writes `TYPE:fine<TAB>tree` lines to `questions.{train,dev,test}.txt`.
"""

import re
import sys
from collections import Counter

import questions_grammar as grammar
from corpus_files import Dice, split, write_or_check

SEED = 1729
SPLIT_SIZES = {"train": 560, "dev": 100, "test": 160}  # about: every fine type is rounded
LEAST_IN_TRAIN = 2  # times that each word of dev and test is seen in train
MOST_WORDS = 18
MAY_REPEAT = {"the", "of", "in", "a", "was", "to", "by", "that", "is"}
SLOT = re.compile(r"\{([A-Z_]+)\}")


def words_of(tree: str) -> list[str]:
    return re.findall(r"([^\s()]+)\)", tree)


def expand(text: str, dice: Dice, bound: dict[str, str]) -> str:
    """Fill the slots of a template from left to right; `bound` fixes some of them."""

    def fill(slot: re.Match[str]) -> str:
        name = slot[1]
        if name in bound:
            return expand(bound[name], dice, bound)
        choices = grammar.PHRASES[name] if name in grammar.PHRASES else grammar.WORDS[name].split()
        return expand(dice.pick(choices), dice, bound)

    return SLOT.sub(fill, text)


def fine_types() -> list[str]:
    return sorted({*grammar.TEMPLATES, *grammar.HEADED_TYPES})


def template_groups(fine_type: str) -> list[list[str]]:
    """Lists of templates that ask for this type, to be used alike."""
    groups = {
        "own": grammar.TEMPLATES.get(fine_type, []),
        "headed": grammar.HEADED_TEMPLATES if fine_type in grammar.HEADED_TYPES else [],
        "mixed": grammar.MIXED_TEMPLATES if fine_type in grammar.HEADED_TYPES else [],
        "actor": grammar.ACTOR_TEMPLATES if fine_type in grammar.ACTOR_TYPES else [],
        "property": grammar.PROPERTY_TEMPLATES if fine_type in grammar.PROPERTY_TYPES else [],
        "proposal": grammar.PROPOSAL_TEMPLATES if fine_type in grammar.PROPOSAL_TYPES else [],
        "adverb": grammar.ADVERB_TEMPLATES if fine_type in grammar.ADVERB_TYPES else [],
    }
    return [templates for templates in groups.values() if templates]


def bindings(fine_type: str, dice: Dice) -> dict[str, str]:
    """What the slots that decide the type stand for."""
    bound = {"ADVERB": grammar.ADVERB_TYPES.get(fine_type, "")}
    if fine_type in grammar.PROPERTY_TYPES:
        bound["PROPERTY"] = dice.pick(grammar.PROPERTY_TYPES[fine_type].split())
    if fine_type in grammar.PROPOSAL_TYPES:
        bound["PROPOSAL"] = dice.pick(grammar.PROPOSAL_TYPES[fine_type].split())
    if fine_type in grammar.HEADED_TYPES:
        headed = grammar.HEADED_TYPES[fine_type]
        bound["HEAD"] = dice.pick(headed["heads"].split())
        bound["NP"] = grammar.HEADED_NP
        bound["MODIFIER"] = "{" + headed["modifier"] + "}"
        bound["PREDICATE"] = "{" + headed["predicate"] + "}"
    return bound


def write_question(fine_type: str, dice: Dice) -> str:
    template = dice.pick(dice.pick(template_groups(fine_type)))
    return f"(ROOT {expand(template, dice, bindings(fine_type, dice))})"


def is_natural(tree: str) -> bool:
    words = words_of(tree)
    repeated = {word for word, count in Counter(words).items() if count > 1}
    return len(words) <= MOST_WORDS and repeated <= MAY_REPEAT


def write_questions(fine_type: str, count: int, dice: Dice) -> list[str]:
    """Distinct questions of one fine type, in random order."""
    lines: dict[str, str] = {}
    while len(lines) < count:
        tree = write_question(fine_type, dice)
        if is_natural(tree):
            lines[" ".join(words_of(tree))] = f"{fine_type}\t{tree}"
    return list(lines.values())


def share_of(fine_type: str) -> float:
    """Fine types of one coarse type share alike."""
    coarse = fine_type.split(":")[0]
    siblings = [other for other in fine_types() if other.startswith(coarse + ":")]
    return grammar.TYPE_SHARES[coarse] / len(siblings)


def render() -> dict[str, str]:
    dice = Dice(SEED)
    room = {
        (name, fine_type): round(share_of(fine_type) * size)
        for name, size in SPLIT_SIZES.items()
        for fine_type in fine_types()
    }
    lines: list[str] = []
    for fine_type in fine_types():
        count = sum(room[name, fine_type] for name in SPLIT_SIZES)
        lines += write_questions(fine_type, count, dice)
    splits = split(dice.shuffled(lines), words_of, lambda line: line.split("\t")[0], room, LEAST_IN_TRAIN)
    return {f"questions.{name}.txt": "\n".join(part) + "\n" for name, part in splits.items()}


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, render))
