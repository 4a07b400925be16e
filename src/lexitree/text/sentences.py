"""Split text into sentences of Penn Treebank tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, get_args

from lexitree.errors import ConfigError
from lexitree.text.known_words import find_tokens
from lexitree.text.patterns import is_emoticon
from lexitree.text.scanner import SENTENCE_STARTERS, is_abbreviation, is_before_more, is_initial
from lexitree.text.tokens import Token, TokenizedSentence, Tokens

Layout = Literal["text", "lines", "one"]
"""Running text in paragraphs; one sentence per line; or a single sentence, whatever it contains."""

_ELLIPSES = frozenset(("...", ".."))
_TERMINATORS = frozenset((".", "!", "?", "।", "॥", "؟", "۔", "։", "።", "؞", "‼", "⁇", "⁈", "⁉")) | _ELLIPSES
_CLOSING = frozenset(("''", "'", "-RRB-", "-RSB-", "-RCB-", "」", "』", "】"))
_OPENING = frozenset(("``", "`", "-LRB-", "-LSB-", "-LCB-", "「", "『", "【", "¿", "¡"))
_GO_ON = frozenset((",", ";", ":", "、"))
"""A sentence continues before these."""
_DASHES = frozenset(("--", "-"))
_MAY_FOLLOW_A_TITLE = frozenset(
    [
        "is",
        "was",
        "are",
        "were",
        "has",
        "had",
        "and",
        "or",
        "but",
        "by",
        "with",
        "of",
        "in",
        "as",
        "for",
        "that",
    ]
)
"""After `!` or `?`, as in `Moulin Rouge! is`; other lower-case words start a sentence without a capital."""
_ENDING_SENTENCES = frozenset(("etc.", "a.m.", "p.m.", "A.M.", "P.M."))
"""Abbreviations after which any capitalized word starts a sentence."""

_LAYOUTS = get_args(Layout)
_PARAGRAPH_END = re.compile(r"(?:\r\n?+|\n)[^\S\r\n]*+[\r\n]|\u2029")
_LINE_END = re.compile(r"[\r\n\u2028\u2029]")


def split_sentences(text: str, layout: Layout = "text") -> list[TokenizedSentence]:
    """Split a text into sentences.

    Args:
        text: Any text.
        layout: "text" for running text, "lines" for one sentence per line, "one" for a single sentence.

    Returns:
        The sentences with their tokens; an empty list for blank text.

    Raises:
        ConfigError: The layout is unknown.
    """
    return [TokenizedSentence(tuple(tokens)) for tokens in split_tokens(text, layout)]


def split_tokens(text: str, layout: Layout = "text") -> list[Tokens]:
    """The same, without an object for each token."""
    if layout not in _LAYOUTS:
        raise ConfigError(f"unknown layout {layout!r}", remedy=f"Layouts: {', '.join(_LAYOUTS)}.")
    tokens = find_tokens(text)
    if layout == "text":
        groups = _by_punctuation(text, tokens)
    elif layout == "lines":
        groups = _by_breaks(text, tokens, _LINE_END)
    else:
        groups = iter([tokens] if tokens else [])
    return [_with_final_period(group) for group in groups]


def _by_breaks(text: str, tokens: Tokens, break_: re.Pattern[str]) -> Iterator[Tokens]:
    """Yield the tokens between breaks in the white space."""
    first = 0
    # Every break has the end of a line in it, and most texts are one line.
    for place in range(1, len(tokens)) if _LINE_END.search(text) else ():
        if break_.search(text, tokens.ends[place - 1], tokens.starts[place]):
            yield tokens[first:place]
            first = place
    if tokens:
        yield tokens[first:] if first else tokens


def _by_punctuation(text: str, tokens: Tokens) -> Iterator[Tokens]:
    for paragraph in _by_breaks(text, tokens, _PARAGRAPH_END):
        first = after = 0
        for place, form in enumerate(paragraph.forms):
            may_end = form in _TERMINATORS or (
                form[-1] == "." and _has_own_period(form, paragraph.texts[place])
            )
            if place < after or not may_end:
                continue
            mark, is_enclosed, after = _end_of_marks(paragraph, place)
            if _has_words(paragraph, first, place) and _ends(paragraph, mark, is_enclosed, after):
                yield paragraph[first:after]
                first = after
        if first < len(paragraph):
            yield paragraph[first:] if first else paragraph


def _has_own_period(form: str, text: str) -> bool:
    """Return whether a token is an abbreviation, and no mark comes after its period."""
    return form[-1] == text[-1] == "." and is_abbreviation(form)


def _end_of_marks(tokens: Tokens, place: int) -> tuple[str, bool, int]:
    """Return the last mark that ends a sentence, whether quotes or brackets close after it, and the next position."""
    mark = tokens.forms[place]
    is_enclosed = False
    place += 1
    while place < len(tokens):
        form = tokens.forms[place]
        if form in _CLOSING:
            is_enclosed = True
        elif form in _TERMINATORS and (form not in _ELLIPSES or _touches(tokens, place)):
            # An ellipsis after a space starts the next sentence, as in a quotation that omits something.
            mark = form
            is_enclosed = False
        elif _is_note_number(tokens, place):
            place += 2
        elif not is_emoticon(tokens.texts[place]):
            break
        place += 1
    return mark, is_enclosed, place


def _touches(tokens: Tokens, place: int) -> bool:
    """Return whether there is no space before a token."""
    return tokens.starts[place] == tokens.ends[place - 1]


def _is_note_number(tokens: Tokens, place: int) -> bool:
    """Return whether this is a reference to a note, as in `He died in 2014.[4]`."""
    if tokens.forms[place] != "-LSB-" or place + 2 >= len(tokens):
        return False
    return tokens.forms[place + 1].isdecimal() and tokens.forms[place + 2] == "-RSB-"


def _has_words(tokens: Tokens, first: int, place: int) -> bool:
    """Return whether a sentence has begun: leading dots and the number of a list item do not count."""
    if place - first > 2:
        return True
    words = [form for form in tokens.forms[first : place + 1] if form not in _TERMINATORS]
    if len(words) == 1 and words[0].isdecimal():
        return False
    return any(character.isalnum() for word in words for character in word)


def _ends(tokens: Tokens, mark: str, is_enclosed: bool, after: int) -> bool:
    """Return whether a sentence ends with this mark, given what follows."""
    if after == len(tokens):
        return True
    following = tokens.forms[after]
    if following in _GO_ON or (following in _DASHES and mark != "."):
        return False
    touches = _touches(tokens, after)
    while after + 1 < len(tokens) and tokens.forms[after] in _OPENING:
        after += 1
    word = tokens.forms[after]
    return word not in _OPENING and _begins_sentence(word, mark, is_enclosed=is_enclosed, touches=touches)


def _begins_sentence(word: str, mark: str, *, is_enclosed: bool, touches: bool) -> bool:
    if mark not in _TERMINATORS:
        return _begins_after_abbreviation(word, mark)
    if mark in _ELLIPSES:
        return word[0].isalpha() and not word[0].islower()
    if word[0].islower():
        if is_enclosed or (touches and mark == "."):
            return False
        return mark == "." or word not in _MAY_FOLLOW_A_TITLE
    return not (touches and word[0].isdigit())


def _begins_after_abbreviation(word: str, abbreviation: str) -> bool:
    if is_before_more(abbreviation):
        return False
    if abbreviation in _ENDING_SENTENCES:
        return word[0].isupper()
    return word in SENTENCE_STARTERS


def _with_final_period(tokens: Tokens) -> Tokens:
    """Split off a period that ends both an abbreviation and the sentence.

    The Penn Treebank writes such a period twice, `etc. .`, and so do the token forms.
    """
    place = len(tokens) - 1
    while place > 0 and _closes_sentence(tokens.forms[place], tokens.texts[place]):
        place -= 1
    if not _has_own_period(tokens.forms[place], tokens.texts[place]) or is_before_more(tokens.forms[place]):
        return tokens
    last = tokens[place]
    form = last.form[:-1] if is_initial(last.form) else last.form
    cut = last.end - 1
    return Tokens.of(
        [
            *tokens[:place],
            Token(last.text[:-1], last.start, cut, form),
            Token(".", cut, last.end, "."),
            *tokens[place + 1 :],
        ]
    )


def _closes_sentence(form: str, text: str) -> bool:
    return form in _CLOSING or is_emoticon(text)


def tokenize(text: str, layout: Layout = "text") -> list[Token]:
    """Split a text into tokens, which contain every character except white space exactly once.

    Args:
        text: Any text.
        layout: How sentences are laid out, which decides about final periods; see `split_sentences`.

    Returns:
        The tokens of all sentences, in order.
    """
    return [token for sentence in split_sentences(text, layout) for token in sentence.tokens]
