"""The models that come with the package: all there, small, described, and right where the README says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lexitree
from lexitree.parsers.neural import NeuralParser
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.saving import shipped
from lexitree.saving.model_folder import ModelFolder
from tests.command import run_command

ROOT = Path(__file__).parents[2]
MOST_BYTES = 45_000_000
"""Of all models of the wheel together."""
MOST_BYTES_OF_ONE = {"sentiment": 25_000_000, "sentiment-accurate": 36_000_000}
ACCURATE = ROOT / "packages" / "lexitree-sentiment-accurate" / "src" / "lexitree_sentiment_accurate" / "model"
POLARITY = {"very negative": -1, "negative": -1, "neutral": 0, "positive": 1, "very positive": 1}


@pytest.fixture(scope="module")
def sentiment() -> TextPipeline:
    return lexitree.load("sentiment")


def test_all_of_them_are_there_and_small() -> None:
    assert set(shipped.NAMES) <= set(shipped.shipped_names())
    files = [path for name in shipped.NAMES for path in (shipped.FOLDER / name).iterdir()]
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES
    assert ModelFolder.find("sentiment").num_bytes <= MOST_BYTES_OF_ONE["sentiment"]
    assert not [path for path in files if path.suffix not in (".json", ".safetensors", ".md")]


@pytest.mark.parametrize("name", shipped.NAMES)
def test_cards_say_what_a_user_must_know(name: str) -> None:
    card = (shipped.FOLDER / name / "README.md").read_text(encoding="utf-8")
    about = (ROOT / "recipes" / "shipped" / f"{name}.md").read_text(encoding="utf-8").strip()
    assert about in card
    # A copy of the model writes its card from its settings.
    kept = json.loads((shipped.FOLDER / name / "config.json").read_text(encoding="utf-8"))
    assert json.dumps(about)[1:-1] in json.dumps(kept) or name == "parser"
    assert f'lexitree.load("{name}")' in card
    for matter in ("licences", "limits", "|"):
        assert matter in card.lower()


@pytest.mark.skipif(not ACCURATE.is_dir(), reason="its weights are not in this copy")
def test_the_model_with_a_package_of_its_own() -> None:
    files = [path for path in ACCURATE.rglob("*") if path.is_file()]
    assert ModelFolder(ACCURATE).num_bytes <= MOST_BYTES_OF_ONE["sentiment-accurate"]
    assert not [path for path in files if path.suffix not in (".json", ".safetensors", ".md")]
    card = (ACCURATE / "README.md").read_text(encoding="utf-8")
    about = (ROOT / "recipes" / "shipped" / "sentiment-accurate.md").read_text(encoding="utf-8")
    assert about.strip() in card
    pipe = lexitree.load(ACCURATE, parser="builtin")
    for text, polarity in (("This place sucks!!!", -1), ("Setup couldn't have been simpler.", 1)):
        label = pipe(text).label
        assert label is not None
        assert POLARITY[label] == polarity


def test_the_parser_has_not_seen_what_its_licence_forbids() -> None:
    config = json.loads((shipped.FOLDER / "parser" / "config.json").read_text(encoding="utf-8"))
    assert set(config["training"]["treebanks"]) == {"GUM", "MCTB dialogue", "MCTB forum", "MCTB law"}


@pytest.mark.parametrize(
    ("text", "polarity"),
    [
        ("The film is really not so much bad as bland.", -1),
        ("The film is really not so much bad as bland .", -1),
        ("It is a charming and often affecting journey.", 1),
        ("You will not regret a minute of it.", 1),
        ("Never before have I been so bored by explosions.", -1),
        ("The camera is fantastic, and the battery lasts forever.", 1),
        ("The acting is great, but the story goes nowhere.", -1),
        ("Friendly staff, but the room was dirty and noisy.", -1),
        ("This place sucks!!!", -1),
        (":)", 1),
        ("1 star", -1),
        ("Arrived late, and it does not even work.", -1),
        ("Works as described and looks great.", 1),
    ],
)
def test_sentences_of_the_readme(sentiment: TextPipeline, text: str, polarity: int) -> None:
    document = sentiment(text)
    assert document.label is not None
    assert POLARITY[document.label] == polarity


def test_phrases_of_the_readme(sentiment: TextPipeline) -> None:
    phrases = {
        phrase.text: phrase
        for phrase in sentiment("Friendly staff, but the room was dirty and noisy.").phrases
    }
    assert POLARITY[phrases["Friendly staff"].label] == 1
    assert phrases["Friendly staff"].head == "Friendly"
    assert POLARITY[phrases["the room was dirty and noisy"].label] == -1
    assert phrases["dirty and noisy"].head == "dirty"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who wrote the first dictionary?", "human"),
        ("How many moons does Mars have?", "number"),
        ("Where is the Louvre?", "location"),
        ("What does NASA stand for?", "abbreviation"),
        ("Why is the sky blue?", "description"),
        ("What is the fastest bird?", "entity"),
    ],
)
def test_questions_of_the_readme(question: str, answer: str) -> None:
    assert lexitree.load("questions")(question).label == answer


def test_two_labels_are_the_five_read_otherwise(sentiment: TextPipeline) -> None:
    text = "The acting is great, but the story goes nowhere."
    five, two = sentiment(text).probabilities, lexitree.load("sentiment-binary")(text).probabilities
    negative, positive = (five[f"very {side}"] + five[side] for side in ("negative", "positive"))
    assert two["negative"] == pytest.approx(negative / (negative + positive), abs=1e-5)
    assert set(two) == {"negative", "positive"}


def test_the_parser_parses() -> None:
    parser = lexitree.load("parser")
    assert isinstance(parser, NeuralParser)
    tree = parser.parse(["The", "plot", "is", "n't", "bad", "."])
    spans = set(zip(tree.starts.tolist(), tree.ends.tolist(), tree.labels, strict=True))
    assert {(0, 6, "S"), (0, 2, "NP"), (2, 5, "VP")} <= spans


@pytest.mark.parametrize("text", ["Great!", "", "good/bad idea"])
def test_one_word_is_a_text_on_the_command_line(text: str) -> None:
    finished = run_command("predict", text, "--format", "json")
    assert finished.returncode == 0
    assert json.loads(finished.stdout)["text"] == text


def test_words_that_nobody_has_seen_are_read(sentiment: TextPipeline) -> None:
    document = sentiment("Zqxvy is sooooo goooood, a well-crafted gllmphf!!! \U0001f600 \u2603")
    assert document.label is not None
    assert POLARITY[document.label] == 1
