"""A model's configuration and training record in, its card (Markdown with the hub's header) out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from lexitree.batch.examples import TreeKind
from lexitree.models.catalog import encoder_class
from lexitree.models.model_config import ModelConfig

ABOUT = "about"
"""The key under which a training record has what its makers say of data, licences and limits."""


def model_card(
    config: ModelConfig, training: Mapping[str, Any], num_parameters: int, *, transformer: str = ""
) -> str:
    """The README.md of a saved model; `transformer` says which one reads its words, if one does."""
    encoder = encoder_class(config.model)
    labelled, example = _WHAT_IT_READS[encoder.tree_kind]
    lines = [
        "---",
        "library_name: lexitree",
        "pipeline_tag: text-classification",
        f"tags: [lexitree, tree-lstm, {encoder.tree_kind}-trees]",
        "---",
        "",
        f"# {encoder.title} on {training.get('corpus', 'your data')}",
        "",
        f"A lexitree model: {encoder.about}. It labels every {labelled}"
        + (" and finds its head word." if encoder.has_heads else "."),
        "",
        f"- labels: {', '.join(config.label_set.names)}",
        *([_finer_labels(config)] if config.finer_labels else []),
        f"- state size {config.hidden}, word vectors {config.word_size}, head method {config.head_method}",
        *([f"- words are read by a transformer: {transformer}"] if transformer else []),
        f"- {num_parameters:,} parameters without the word vectors"
        + (" and the transformer" if transformer else ""),
        f"- trained on {'every phrase' if config.supervision == 'all' else 'whole sentences'}",
        "",
        "```python",
        "import lexitree",
        "",
        'predictor = lexitree.load("path/of/this/model")',
        f"prediction = predictor.predict({example})",
        "```",
        "",
        *training_lines(training),
    ]
    return "\n".join(lines)


def training_lines(training: Mapping[str, Any]) -> list[str]:
    """What is known of the training: what its makers say (`about`, Markdown), and the rest as a table."""
    about = str(training.get(ABOUT, "")).strip()
    rows = [f"| {key} | {_cell(value)} |" for key, value in training.items() if key != ABOUT]
    table = ["## Training", "", "| what | value |", "|---|---|", *rows, ""] if rows else []
    return [*([about, ""] if about else []), *table]


_WHAT_IT_READS: dict[TreeKind, tuple[str, str]] = {
    "constituency": ("phrase of a constituency tree", 'lexitree.tree_from_brackets("(_ (_ A) (_ film))")'),
    "dependency": (
        "word of a dependency tree, with what depends on it",
        'lexitree.DependencyTree.from_parents(["A", "film"], [1, -1])',
    ),
}
"""What is labelled, and an example."""


def _finer_labels(config: ModelConfig) -> str:
    """With what it was trained instead, and how answers are made of that."""
    merged = config.label_set.describe_finer()
    return (
        f"- trained with finer labels, which count for these: {merged}. The probability of a label is the sum"
        " of those that count for it, divided by the sum of all that count for any"
    )


def _cell(value: object) -> str:
    if isinstance(value, Mapping):
        values = cast(Mapping[str, object], value)
        return "; ".join(f"{key}: {_cell(part)}" for key, part in values.items())
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
