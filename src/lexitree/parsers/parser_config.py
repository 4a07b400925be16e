"""What a parser is made of: its sizes and its labels, contradictions rejected when built."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from lexitree.errors import ConfigError

GENERIC_STYLE = ""
"""The style of no treebank in particular, which a parser has beside those it was trained with."""

MAX_SIZE = 1 << 16


@dataclass(frozen=True, kw_only=True)
class ParserConfig:
    """The shape of a parser; the defaults are a small one."""

    labels: tuple[str, ...]
    """The labels of phrases, unary chains joined (`S+VP`)."""
    tags: tuple[str, ...]
    """The labels of words."""
    styles: tuple[str, ...] = ()
    """The treebanks, or groups of them, whose conventions it can follow."""
    default_style: str = GENERIC_STYLE
    """Whose conventions it follows where nothing is said."""
    vector_size: int = 0
    """The size of the fixed word vectors; 0: there are none."""
    word_size: int = 64
    """The size of the trained vectors of frequent words."""
    affix_size: int = 64
    """The size of the trained vectors of beginnings, endings and shapes of words."""
    affix_rows: int = 1 << 13
    """Among how many such vectors they are spread."""
    style_size: int = 16
    """The size of a style's vector."""
    hidden: int = 200
    """The size of a state of the LSTM, each way."""
    layers: int = 2
    """How many LSTMs stand on each other."""
    span_size: int = 200
    """The size of the layer between a span and the scores of its labels."""
    dropout: float = 0.33
    """How much of each layer is left out in training, the same for all words of a sentence."""
    max_words: int = 250
    """Longer sentences are cut into pieces."""

    def __post_init__(self) -> None:
        for name in ("labels", "tags", "styles"):
            names = tuple(getattr(self, name))
            if not all(isinstance(label, str) for label in names) or len(set(names)) != len(names):
                raise ConfigError(f"{name} must be texts, each of them once")
            object.__setattr__(self, name, names)
        if not self.labels or not self.tags:
            raise ConfigError("a parser needs labels for phrases and tags for words")
        for name, least in _LEAST.items():
            value: object = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MAX_SIZE:
                raise ConfigError(
                    f"{name} must be a whole number from {least} to {MAX_SIZE:,}, not {value!r}"
                )
        # A file can hold anything, whatever the annotation says.
        dropout = cast(object, self.dropout)
        if not isinstance(dropout, int | float) or not 0 <= dropout < 1:
            raise ConfigError(f"dropout must be at least 0 and below 1, not {dropout!r}")
        self.style_index(self.default_style)

    def style_index(self, style: str) -> int:
        """The number of a style; the generic one is 0."""
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
        """The number of each phrase label, which are counted from 1: 0 is no phrase."""
        return {label: number for number, label in enumerate(self.labels, 1)}

    @cached_property
    def tag_numbers(self) -> dict[str, int]:
        return {tag: number for number, tag in enumerate(self.tags)}

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ParserConfig:
        unknown = sorted(set(values) - {field.name for field in dataclasses.fields(cls)})
        if unknown:
            raise ConfigError(f"unknown settings of a parser: {', '.join(unknown)}")
        settings: dict[str, Any] = dict(values)
        for name in ("labels", "tags", "styles"):
            listed: object = settings.get(name, ())
            if not isinstance(listed, list | tuple):
                raise ConfigError(f"{name} must be a list of texts, not {listed!r}")
        return cls(**settings)


_LEAST = {
    "vector_size": 0,
    "word_size": 1,
    "affix_size": 1,
    "affix_rows": 1,
    "style_size": 1,
    "hidden": 1,
    "layers": 1,
    "span_size": 1,
    "max_words": 2,
}
"""The smallest value of each size."""
