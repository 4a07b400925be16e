"""The settings of the built-in parser: its labels, its styles and its sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lexitree.errors import ConfigError
from lexitree.lazy import cached_property
from lexitree.settings import MAX_SIZE, Setting, Settings

GENERIC_STYLE = ""
"""The style of no treebank in particular, which every parser has."""

_MAX_LAYERS = 64
_MAX_WORDS = 1_000
"""The memory for the scores of all spans grows with the square of the words."""


@dataclass(frozen=True, kw_only=True)
class ParserConfig(Settings):
    """The shape of a parser; the defaults are a small one."""

    labels: Annotated[tuple[str, ...], Setting("Labels of phrases, unary chains joined (S+VP).", unique=True)]
    tags: Annotated[tuple[str, ...], Setting("Labels of words.", unique=True)]
    styles: Annotated[
        tuple[str, ...],
        Setting("Treebanks, or groups of them, whose conventions it can follow.", unique=True),
    ] = ()
    default_style: Annotated[str, Setting("The style it follows unless another is asked for.")] = (
        GENERIC_STYLE
    )
    vector_size: Annotated[
        int, Setting("Size of the fixed word vectors; 0 for none.", at_least=0, at_most=MAX_SIZE)
    ] = 0
    word_size: Annotated[
        int, Setting("Size of the trained vectors of frequent words.", at_least=1, at_most=MAX_SIZE)
    ] = 64
    affix_size: Annotated[
        int,
        Setting(
            "Size of the trained vectors of prefixes, suffixes and word shapes.",
            at_least=1,
            at_most=MAX_SIZE,
        ),
    ] = 64
    affix_rows: Annotated[
        int, Setting("Number of such vectors that affixes are hashed to.", at_least=1, at_most=MAX_SIZE)
    ] = 1 << 13
    style_size: Annotated[int, Setting("Size of a style's vector.", at_least=1, at_most=MAX_SIZE)] = 16
    hidden: Annotated[
        int, Setting("Size of the LSTM's states, in each direction.", at_least=1, at_most=MAX_SIZE)
    ] = 200
    layers: Annotated[int, Setting("Number of LSTM layers.", at_least=1, at_most=_MAX_LAYERS)] = 2
    span_size: Annotated[
        int,
        Setting("Size of the layer between a span and its label scores.", at_least=1, at_most=MAX_SIZE),
    ] = 200
    dropout: Annotated[
        float,
        Setting("Dropout on each layer, the same for all words of a sentence.", at_least=0, below=1),
    ] = 0.33
    max_words: Annotated[
        int, Setting("Longer sentences are split into pieces.", at_least=2, at_most=_MAX_WORDS)
    ] = 250

    def _check_together(self) -> None:
        if not self.labels or not self.tags:
            raise ConfigError("a parser needs labels for phrases and tags for words")
        self.style_index(self.default_style)

    def style_index(self, style: str) -> int:
        """The index of a style; the generic one is 0."""
        if style == GENERIC_STYLE:
            return 0
        if style not in self.styles:
            raise ConfigError(
                f"the parser knows no style {style!r}",
                remedy=f"It knows: {', '.join(self.styles) or 'none but the generic one'}.",
            )
        return self.styles.index(style) + 1

    @cached_property
    def label_numbers(self) -> dict[str, int]:
        """The number of each phrase label, from 1; 0 means no phrase."""
        return {label: number for number, label in enumerate(self.labels, 1)}

    @cached_property
    def tag_numbers(self) -> dict[str, int]:
        """The number of each tag, from 0."""
        return {tag: number for number, tag in enumerate(self.tags)}
