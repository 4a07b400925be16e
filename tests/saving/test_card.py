"""Model cards: whatever labels and records hold, the header stays valid and the Markdown says no more than that."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

from lexitree.saving.card import Card, render_card
from lexitree.saving.model_kinds import save_model
from tests.saving.edited_models import tiny_parser
from tests.tiny import tiny_model

HOSTILE = [
    '"]\n---\n<script>alert(1)</script>',
    "`code` ``` and ~~~",
    "\n\n```\nrm -rf\n```\n",
    "[a link](https://example.org) ![x](y) <https://example.org> [ref]: z",
    "*bold* __bold__ _it_ ~~gone~~ &lt;b&gt; &#60;",
    "| a | b |\n|---|---|",
    "\n# heading\n\n- item\n\n1. one\n\n---\n",
    "\\",
    "\x1b[31m\u2028\u202e\x00\ud800",
]


def kinds_of(card: str) -> set[str]:
    """The kinds of Markdown that a card has, without its header."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(card.split("---\n", 2)[2])
    return {each.type for token in tokens for each in (token, *(token.children or ()))}


def header_of(card: str) -> object:
    assert card.startswith("---\n")
    return yaml.safe_load(card.split("---\n", 2)[1])


@pytest.mark.parametrize("text", HOSTILE)
def test_labels_and_records_are_only_text(tmp_path: Path, text: str) -> None:
    plain, hostile = (
        save_model(
            tiny_model(labels=("0", label), label_names={"0": label + "!"}),
            tmp_path / name,
            training={"corpus": label, label: label, "scores": {label: label}},
        )
        for name, label in (("plain", "one"), ("hostile", text))
    )
    cards = [(folder / "README.md").read_text(encoding="utf-8") for folder in (plain, hostile)]
    assert header_of(cards[0]) == header_of(cards[1])
    assert kinds_of(cards[0]) == kinds_of(cards[1])
    assert len(cards[0].splitlines()) == len(cards[1].splitlines())
    assert "\x1b" not in cards[1]


def test_styles_of_a_parser_are_only_text(tmp_path: Path) -> None:
    parser = tiny_parser(styles=(HOSTILE[0],))
    card = (save_model(parser, tmp_path / "parser") / "README.md").read_text()
    assert "\\]" in card
    assert "<script>" not in card
    assert not {"html_block", "html_inline"} & kinds_of(card)


def test_ordinary_text_is_left_as_it_is() -> None:
    card = Card(title="A title", about="It is.", facts=["labels: S+VP, NP-SBJ, a_b"], example=[], tags=[])
    text = render_card(card, {"dev_root": 0.51234, "vectors": "glove.840B.300d.txt", "trees": 3})
    for line in ("# A title", "- labels: S+VP, NP-SBJ, a_b", "| dev_root | 0.5123 |", "| trees | 3 |"):
        assert f"\n{line}\n" in text


def test_what_the_makers_say_is_markdown() -> None:
    card = Card(title="A title", about="", facts=[], example=[], tags=[])
    assert "\n**Note**\n" in render_card(card, {"about": "**Note**"})
