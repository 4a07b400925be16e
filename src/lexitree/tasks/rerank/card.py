"""A reranker's configuration and training record in, its card (Markdown with the hub's header) out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lexitree.models.catalog import encoder_class
from lexitree.tasks.rerank.config import RerankerConfig


def reranker_card(config: RerankerConfig, training: Mapping[str, Any], num_parameters: int) -> str:
    """The README.md of a saved reranker."""
    encoder = encoder_class(config.model)
    lines = [
        "---",
        "library_name: lexitree",
        "tags: [lexitree, tree-lstm, constituency-parsing, reranking]",
        "language: en",
        "---",
        "",
        f"# A reranker of constituency parses: {encoder.title}",
        "",
        f"A lexitree reranker: {encoder.about}. The candidate trees of a parser go in, with its scores; the best of"
        " them comes out. A tree's score is the probability of the labels of its phrases, given words and shape.",
        "",
        f"- {len(config.labels)} labels (unary chains are one label), state size {config.hidden}",
        f"- {num_parameters:,} parameters without the word vectors",
        f"- the parser's score counts {config.base_weight:g} times",
        "",
        "```python",
        "from lexitree.tasks.rerank.lists import read_lists",
        "from lexitree.tasks.rerank.saved_reranker import load_reranker",
        "",
        'reranker = load_reranker("path/of/this/reranker")',
        'for ranked in reranker.rerank_all(read_lists("lists.jsonl")):',
        "    print(ranked.best)",
        "```",
        "",
    ]
    if training:
        lines += ["## Training", "", "| what | value |", "|---|---|"]
        lines += [f"| {key} | {_cell(value)} |" for key, value in training.items()]
        lines.append("")
    return "\n".join(lines)


def _cell(value: object) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
