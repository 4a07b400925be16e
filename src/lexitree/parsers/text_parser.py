"""Parses raw text: `TextParser` splits it into sentences, within limits, and hands them to any parser."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar, overload

from lexitree.errors import ConfigError, OnError, OnTextError, TextError, TreeError
from lexitree.limits import Limits
from lexitree.parsers.protocol import Candidate, KBestParser, Parser
from lexitree.results.parsed_text import ParsedSentence, ParsedText
from lexitree.text import AnyText, Layout, Token, TokenizedText
from lexitree.text.bounded_text import SplitText, split_within
from lexitree.text.sentences import split_tokens
from lexitree.text.tokens import Tokens
from lexitree.trees.tree import Tree

TextLayout = Layout | Literal["tokens"]
"""How sentences are found in a text (see `split_sentences`); "tokens" is a single sentence, already tokenized, with
spaces between its tokens."""

# As in treebanks, a no-break space belongs to its token.
_TOKEN = re.compile(r"[^ \t\r\n\f\v]+")

Context = TypeVar("Context")


class TextParser:
    """A parser, ready for text of any length.

        parse = lexitree.TextParser(lexitree.load("parser"))
        for sentence in parse("Not a bad film. Not a good one, either.").sentences:
            print(sentence.text, sentence.tree)

    Args:
        parser: What parses the sentences; see `open_parser`.
        layout: How sentences are found in a text.
        limits: What a text may have; by default `Limits()`. Its `seconds` do not count here.
    """

    def __init__(self, parser: Parser, *, layout: TextLayout = "text", limits: Limits | None = None) -> None:
        self.parser = parser
        self.layout: TextLayout = layout
        self.limits = limits or Limits()

    def __call__(self, text: AnyText, *, k: int | None = None) -> ParsedText:
        """Parse one text; see `stream`.

        Raises:
            TextError: The text is not a string, holds half of a surrogate pair, or is beyond a limit.
        """
        result, _ = next(self._run([(text, None)], k, is_numbered=False))
        if isinstance(result, TextError):
            raise result
        return result

    @overload
    def stream(
        self, texts: Iterable[AnyText], *, k: int | None = None, on_error: OnError = "raise"
    ) -> Iterator[ParsedText]: ...

    @overload
    def stream(
        self, texts: Iterable[AnyText], *, k: int | None = None, on_error: OnTextError
    ) -> Iterator[ParsedText | TextError]: ...

    def stream(
        self, texts: Iterable[AnyText], *, k: int | None = None, on_error: OnTextError = "raise"
    ) -> Iterator[ParsedText | TextError]:
        """Parse a stream of texts; only those that the parser reads ahead are held.

        Args:
            texts: The texts; a `TokenizedText` keeps its sentences and tokens.
            k: How many trees to find for each sentence, with their log probabilities; by default the best, without.
            on_error: On a text that is not a string, holds half of a surrogate pair, or is beyond a limit: raise a
                `TextError` after all earlier texts, skip it, or return the error in its place.

        Returns:
            The parsed texts, in their order.

        Raises:
            ConfigError: The parser gives one tree for each sentence only.
        """
        results = self.stream_pairs(((text, None) for text in texts), k=k)
        for result, _ in results:
            if isinstance(result, TextError) and on_error == "raise":
                raise result
            if not (isinstance(result, TextError) and on_error == "skip"):
                yield result

    def stream_pairs(
        self, pairs: Iterable[tuple[AnyText, Context]], *, k: int | None = None
    ) -> Iterator[tuple[ParsedText | TextError, Context]]:
        """Parse a stream of texts, each of which comes with something else, such as its row of a table.

        A text that cannot be parsed gives its `TextError` in its place; see `stream`.
        """
        return self._run(pairs, k, is_numbered=True)

    def _run(
        self, pairs: Iterable[tuple[AnyText, Context]], k: int | None, *, is_numbered: bool
    ) -> Iterator[tuple[ParsedText | TextError, Context]]:
        waiting = deque[_WaitingText[Context]]()
        for candidates in self._parse(self._sentences(pairs, waiting, is_numbered), k):
            # Texts without words may stand before the one that this sentence is from.
            yield from _finished(waiting)
            if not waiting:
                raise TreeError("the parser gave more trees than there are sentences")
            waiting[0].add(candidates, scored=k is not None)
            yield from _finished(waiting)
        yield from _finished(waiting)
        if waiting:
            raise TreeError("the parser gave fewer trees than there are sentences")

    def _sentences(
        self,
        pairs: Iterable[tuple[AnyText, Context]],
        waiting: deque[_WaitingText[Context]],
        is_numbered: bool,
    ) -> Iterator[list[str]]:
        """The words of each sentence, for a parser that reads as far ahead as it likes."""
        for number, (given, context) in enumerate(pairs):
            is_split = isinstance(given, TokenizedText)
            text, split_text = (given.text, given.tokens_within) if is_split else (given, self._split)
            try:
                split = split_within(text, split_text, self.limits, number if is_numbered else None)
                error = None
            except TextError as refusal:
                split, error = SplitText([]), refusal
            waiting.append(_WaitingText(text, split, context, error))
            for tokens in split.sentences:
                yield tokens.forms

    def _split(self, text: str) -> list[Tokens]:
        if self.layout == "tokens":
            places = ((found[0], found.start(), found.end()) for found in _TOKEN.finditer(text))
            tokens = Tokens.of(Token(word, start, end, word) for word, start, end in places)
            return [tokens] if tokens else []
        return split_tokens(text, self.layout)

    def _parse(self, sentences: Iterable[Sequence[str]], k: int | None) -> Iterator[list[Candidate]]:
        if k is None:
            return ([Candidate(tree, 0.0)] for tree in self.parser.parse_all(sentences))
        if not isinstance(self.parser, KBestParser):
            raise ConfigError(
                "this parser gives one tree for each sentence, without its probability",
                remedy="Omit --kbest, or use the built-in parser.",
            )
        return self.parser.parse_all_k_best(sentences, k)


@dataclass
class _WaitingText(Generic[Context]):
    """A text with sentences that may not have been parsed yet, or the error that refuses it."""

    text: str
    split: SplitText
    context: Context
    error: TextError | None
    parsed: list[ParsedSentence] = field(default_factory=list[ParsedSentence])

    @property
    def is_complete(self) -> bool:
        return len(self.parsed) == len(self.split.sentences)

    def add(self, candidates: Sequence[Candidate], *, scored: bool) -> None:
        tokens = self.split.sentences[len(self.parsed)]
        trees = tuple(_with_words(candidate.tree, tokens) for candidate in candidates)
        scores = tuple(candidate.log_probability for candidate in candidates) if scored else ()
        self.parsed.append(ParsedSentence(self.text, tuple(tokens), trees, scores))

    def result(self) -> ParsedText | TextError:
        return self.error or ParsedText(self.text, tuple(self.parsed), self.split.notes)


def _finished(
    waiting: deque[_WaitingText[Context]],
) -> Iterator[tuple[ParsedText | TextError, Context]]:
    while waiting and waiting[0].is_complete:
        done = waiting.popleft()
        yield done.result(), done.context


def _with_words(tree: Tree, tokens: Tokens) -> Tree:
    """The tree over the sentence's own words, however the parser spells them."""
    words = tuple(tokens.forms)
    if tree.num_words != len(words):
        raise TreeError(
            f"the parser gave a tree of {tree.num_words} words for a sentence of {len(words)}: "
            f"{' '.join(words)[:80]!r}"
        )
    return tree if tree.words == words else Tree(tree.arity, tree.labels, words)
