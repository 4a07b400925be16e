"""Split texts and sentences that may be too long: within limits, after punctuation where possible."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from operator import sub
from typing import NamedTuple

from lexitree.errors import LimitError, TextError
from lexitree.limits import Limits
from lexitree.text.tokens import Token, Tokens, penn_form

_EXCERPT_CHARACTERS = 40

_ENDS = (
    frozenset(".?!…"),
    frozenset({";", ":", "--", "-", "–", "—"}),
    frozenset({",", ")", "-RRB-", "''", '"'}),
)
"""Words after which to split a sentence, in order of preference."""


def cut_sentence(words: Sequence[str], max_words: int) -> list[Sequence[str]]:
    """Split a sentence into pieces of at most `max_words` words, after punctuation where possible.

    Each split falls into the second half of what fits, so there are few pieces.
    """
    pieces: list[Sequence[str]] = []
    first = 0
    while len(words) - first > max_words:
        end = _find_cut(words, first + (max_words + 1) // 2, first + max_words)
        pieces.append(words[first:end])
        first = end
    return [*pieces, words[first:]]


def _find_cut(words: Sequence[str], earliest: int, latest: int) -> int:
    """Return where a piece ends: after the last of the preferred marks, or where no more words fit."""
    for marks in _ENDS:
        for end in range(latest, earliest, -1):
            if words[end - 1] in marks:
                return end
    return latest


class SplitText(NamedTuple):
    """The sentences of a text, and what was cut to keep it within limits."""

    sentences: list[Tokens]
    notes: tuple[str, ...] = ()


def split_within(
    text: object, split: Callable[[str], list[Tokens]], limits: Limits, number: int | None = None
) -> SplitText:
    """Split a text into sentences, or refuse it before anything expensive is done.

    Args:
        text: The text.
        split: Finds sentences and their tokens.
        limits: What the text may have, and whether it is cut if it has more.
        number: The position of the text in its stream, for error messages.

    Raises:
        TextError: It is not a string, holds half of a surrogate pair, or is beyond a limit.
    """
    if not isinstance(text, str):
        raise TextError(f"is not a string but of type {type(text).__name__}", number)

    def is_beyond(limit: str, amount: int) -> bool:
        """Whether to cut; a text that may not be cut is refused."""
        if not limits.exceeded(limit, amount):
            return False
        if limits.beyond == "refuse":
            raise LimitError(limit, amount, getattr(limits, limit), number, _excerpt(text))
        return True

    kept = _cut_at_space(text, limits.characters or 1) if is_beyond("characters", len(text)) else text
    _refuse_surrogates(kept, number)
    sentences = split(kept)
    notes: list[str] = []
    longest = max((max(map(sub, tokens.ends, tokens.starts)) for tokens in sentences), default=0)
    if is_beyond("token_characters", longest):
        notes.append(f"tokens of more than {limits.token_characters:,} characters were cut into pieces")
        sentences = [_cut_tokens(tokens, limits.token_characters or 1) for tokens in sentences]
    longest = max(map(len, sentences), default=0)
    is_beyond("sentence_words", longest)
    if limits.beyond == "cut" and longest > (most := _most_words_of_a_sentence(limits)):
        notes.append(f"sentences of more than {most:,} words were cut into pieces")
        sentences = [piece for tokens in sentences for piece in _cut_words(tokens, int(most))]
    num_words = sum(map(len, sentences))
    too_many = [is_beyond("words", num_words), is_beyond("phrases", 2 * num_words - len(sentences))]
    if any(too_many):
        sentences = _first_sentences(sentences, limits)
    if any(too_many) or kept is not text:
        end = sentences[-1].ends[-1] if sentences else 0
        notes.append(f"only the first {end:,} of {len(text):,} characters were labelled")
    return SplitText(sentences, tuple(notes))


def _refuse_surrogates(text: str, number: int | None) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TextError(
            f"holds half of a surrogate pair at character {error.start}",
            number,
            _excerpt(text, error.start),
            remedy="It was decoded wrongly: read it again in its encoding, or replace that character.",
        ) from error


def _excerpt(text: str, place: int = 0) -> str:
    start = max(0, place - _EXCERPT_CHARACTERS // 2)
    end = start + _EXCERPT_CHARACTERS
    return f"{'…' if start else ''}{text[start:end]!r}{'…' if end < len(text) else ''}"


def _cut_at_space(text: str, max_characters: int) -> str:
    """The first part of a text, without a piece of a word at its end if there are words before it."""
    kept = text[:max_characters]
    parts = kept.rsplit(maxsplit=1)
    ends_between_words = text[max_characters].isspace() or kept[-1].isspace()
    return kept if ends_between_words or len(parts) < 2 else kept[: -len(parts[1])]


def _cut_tokens(tokens: Tokens, max_characters: int) -> Tokens:
    cut = Tokens([], [], [], [])
    for token in tokens:
        if len(token.text) <= max_characters:
            cut.add(token)
            continue
        for first in range(0, len(token.text), max_characters):
            piece = token.text[first : first + max_characters]
            start = token.start + first
            cut.add(Token(piece, start, start + len(piece), penn_form(piece)))
    return cut


def _cut_words(tokens: Tokens, max_words: int) -> Iterator[Tokens]:
    first = 0
    for piece in cut_sentence(tokens.forms, max_words):
        yield tokens[first : first + len(piece)]
        first += len(piece)


def _most_words_of_a_sentence(limits: Limits) -> float:
    """No sentence is longer than a text may be, so that some of every text is labelled."""
    from_phrases = None if limits.phrases is None else (limits.phrases + 1) // 2
    bounds = (limits.sentence_words, limits.words, from_phrases)
    return min((bound for bound in bounds if bound is not None), default=math.inf)


def _first_sentences(sentences: Sequence[Tokens], limits: Limits) -> list[Tokens]:
    """As many sentences as fit into the limits on a text."""
    kept: list[Tokens] = []
    num_words = num_phrases = 0
    for tokens in sentences:
        num_words += len(tokens)
        num_phrases += 2 * len(tokens) - 1
        if limits.exceeded("words", num_words) or limits.exceeded("phrases", num_phrases):
            break
        kept.append(tokens)
    return kept
