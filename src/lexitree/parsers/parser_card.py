"""A parser's configuration and training record in, its card (Markdown with the hub's header) out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lexitree.parsers.parser_config import ParserConfig
from lexitree.saving.card import training_lines


def parser_card(
    config: ParserConfig, training: Mapping[str, Any], num_parameters: int, num_vectors: int
) -> str:
    """The README.md of a saved parser."""
    lines = [
        "---",
        "library_name: lexitree",
        "tags: [lexitree, constituency-parsing]",
        "language: en",
        "---",
        "",
        "# A constituency parser",
        "",
        "A lexitree parser: the words of a sentence go in, its Penn tree comes out. A bidirectional LSTM reads the"
        " words, every span gets a score for every label, and the tree with the highest sum is found exactly.",
        "",
        f"- {len(config.labels)} phrase labels (unary chains are one label), {len(config.tags)} tags",
        f"- styles: {', '.join(config.styles) or 'none'}; default: {config.default_style or 'the generic one'}",
        f"- {config.layers} LSTMs of size {config.hidden} each way, {num_parameters:,} trained weights",
        f"- {num_vectors - 1:,} fixed word vectors of size {config.vector_size}",
        f"- sentences of more than {config.max_words} words are cut at punctuation and parsed in pieces",
        "",
        "```python",
        "from lexitree.parsers.saved_parser import load_parser",
        "",
        'parser = load_parser("path/of/this/parser")',
        'tree = parser.parse(["It", "works", "."])',
        "```",
        "",
        *training_lines(training),
    ]
    return "\n".join(lines)
