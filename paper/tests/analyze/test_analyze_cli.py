"""`lexitree analyze`: each command as text, as JSON and as a plot, and what it refuses."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.conftest import Call, assert_users_error
from tests.tiny import tiny_model

from lexitree.saving.model_kinds import save_model
from lexitree_paper.cli.analyze import parse_named_folder

PENN = "(S (NP (DT the) (JJ old) (NN film)) (VP (VBZ works)) (. .))\n(NP (DT the) (NN plot))\n"


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two seeds of a model that has learned nothing."""
    folder = tmp_path_factory.mktemp("systems") / "untrained"
    for seed in (1, 2):
        save_model(tiny_model("contree", seed=seed), folder / f"seed-{seed}" / "model")
    return folder


@pytest.fixture
def penn_file(tmp_path: Path) -> Path:
    path = tmp_path / "penn.txt"
    path.write_text(PENN)
    return path


def test_compare(call: Call, trained_run: Path, untrained: Path, treebank: Path) -> None:
    systems = [f"Nothing={untrained}", f"Tiny={trained_run}", treebank]
    finished = call("analyze", "compare", *systems, "--json", "--examples", 3)
    values = json.loads(finished.out)
    evaluated = json.loads(call("evaluate", trained_run / "model", treebank, "--json").out)
    scores = {row["name"]: row for row in values["systems"]}
    assert scores["Tiny"]["accuracy"] == pytest.approx(evaluated["root"]["accuracy"])
    assert len(scores["Nothing"]["seed_accuracies"]) == 2
    pair = values["pairs"][0]
    difference = scores["Tiny"]["accuracy"] - scores["Nothing"]["accuracy"]
    assert pair["significance"]["difference"] == pytest.approx(difference)
    assert pair["recipes"] is None
    assert 0 < len(pair["won"]) <= 3
    text = call("analyze", "compare", *systems).out
    for part in ("10 sentences", "baseline", "with negation", "by length", "Tiny is right and Nothing wrong"):
        assert part in text


def test_phrases(call: Call, trained_run: Path, untrained: Path, treebank: Path) -> None:
    systems = [f"a={untrained}", f"b={trained_run}", treebank]
    first = json.loads(call("analyze", "phrases", *systems, "--json").out)[0]
    assert first["title"] == "of two or more words"
    assert set(first["accuracies"]) == {"a", "b"}
    assert "local difficulty 2" in call("analyze", "phrases", *systems).out


def test_several_seeds_are_compared_as_recipes(call: Call, untrained: Path, treebank: Path) -> None:
    text = call("analyze", "compare", f"a={untrained}", f"b={untrained}", treebank).out
    assert "over seeds and sentences" in text
    assert re.search(r"b – a .* \+0\.0 .* 1\.000\s", text)


def test_compare_needs_two_systems_with_names(
    call: Call, saved_model: Path, treebank: Path, tmp_path: Path
) -> None:
    assert_users_error(call("analyze", "compare", saved_model, treebank), "two systems")
    assert_users_error(call("analyze", "compare", saved_model, saved_model, treebank), "NAME=PATH")
    assert_users_error(
        call("analyze", "compare", f"a={saved_model}", f"b={tmp_path}", treebank), str(tmp_path)
    )
    assert_users_error(call("analyze", "compare", saved_model, tmp_path / "no.txt"), "no such file")
    assert call("analyze", "compare", treebank).code == 2


def test_compare_counts_roots_whatever_the_phrases_say(
    call: Call, saved_model: Path, untrained: Path, tmp_path: Path
) -> None:
    """Penn labels below the root are a parse, and no labels that the model would have to know."""
    (tmp_path / "t.txt").write_text("(1 (NP (DT the) (NN film)) (VP (VBZ is) (JJ good)))\n")
    finished = call("analyze", "compare", f"a={untrained}", f"b={saved_model}", tmp_path / "t.txt", "--json")
    assert json.loads(finished.out)["num_sentences"] == 1


def test_length(call: Call, trained_run: Path, untrained: Path, treebank: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot = tmp_path / "length.svg"
    systems = [f"a={untrained}", f"b={trained_run}", treebank]
    values = json.loads(call("analyze", "length", *systems, "-o", plot, "--json").out)
    assert sum(part["num_sentences"] for part in values) == 10
    assert ElementTree.parse(plot).getroot().tag.endswith("svg")
    one = json.loads(call("analyze", "length", trained_run, treebank, "--words", 1, "--json").out)
    assert all(part["first"] == part["last"] for part in one)
    assert "root accuracy by length" in call("analyze", "length", *systems).out


def test_a_plot_without_matplotlib(
    call: Call, trained_run: Path, treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for command in (["length", trained_run, treebank], ["curves", trained_run]):
        finished = call("analyze", *command, "-o", tmp_path / "plot.svg")
        assert_users_error(finished, "matplotlib", "[plots]'")
        assert call("analyze", *command).code == 0


def test_heads(call: Call, saved_model: Path, penn_file: Path) -> None:
    values = json.loads(call("analyze", "heads", saved_model, penn_file, "--json").out)
    assert (values["num_trees"], values["num_left_out"]) == (2, 0)
    assert values["all_phrases"]["num_phrases"] == 5
    assert values["whole_phrases"]["num_phrases"] == 3
    assert 0 <= values["all_phrases"]["learned"] <= 1
    text = call("analyze", "heads", saved_model, penn_file).out
    assert "random child" in text
    assert "left out" not in text


def test_heads_leaves_out_trees_that_are_bracketed_differently(
    call: Call, saved_model: Path, penn_file: Path, tmp_path: Path
) -> None:
    other = tmp_path / "labels.txt"
    other.write_text("(1 (1 (1 the) (1 old) (1 film)) (1 works) (1 .))\n(0 (1 the) (1 plot))\n")
    finished = call("analyze", "heads", saved_model, penn_file, "--same-as", other)
    assert "1 trees; 1 left out" in finished.out
    other.write_text("(0 (1 the) (1 plot))\n")
    assert_users_error(
        call("analyze", "heads", saved_model, penn_file, "--same-as", other), "different numbers of trees"
    )


def test_heads_needs_a_model_that_has_some(call: Call, untrained: Path, penn_file: Path) -> None:
    model = untrained / "seed-1" / "model"
    assert_users_error(call("analyze", "heads", model, penn_file), "contree has no head words", "bicontree")


def test_curves(call: Call, trained_run: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot = tmp_path / "curves.svg"
    values = json.loads(call("analyze", "curves", f"Tiny={trained_run}", "-o", plot, "--json").out)
    assert (values[0]["name"], len(values[0]["epochs"])) == ("Tiny", 25)
    assert ElementTree.parse(plot).getroot().tag.endswith("svg")
    text = call("analyze", "curves", trained_run).out
    assert "dev root" in text
    assert "±" not in text
    assert_users_error(call("analyze", "curves", tmp_path), "metrics.jsonl")


@pytest.mark.parametrize(
    ("text", "name", "folder"),
    [
        ("BiConTree=runs/bi", "BiConTree", "runs/bi"),
        ("runs/bi/model", "runs/bi", "runs/bi/model"),
        ("runs/bi", "runs/bi", "runs/bi"),
        ("model", "model", "model"),
        ("runs/lr=0.1/model", "runs/lr=0.1", "runs/lr=0.1/model"),
        ("=runs/bi", "=runs/bi", "=runs/bi"),
    ],
)
def test_names_of_systems(text: str, name: str, folder: str) -> None:
    assert parse_named_folder(text) == (name, folder)


def test_a_folder_with_such_a_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rate=1").mkdir()
    assert parse_named_folder("rate=1") == ("rate=1", "rate=1")


@pytest.mark.parametrize(
    ("command", "ending"), [("length RUN TREEBANK -o", ".html"), ("curves RUN -o", ".csv")]
)
def test_another_ending_is_refused(call: Call, tmp_path: Path, command: str, ending: str) -> None:
    found = call("analyze", *command.split(), tmp_path / f"out{ending}")
    assert_users_error(found, f"out{ending}", "Endings that fit: .")
    assert not (tmp_path / f"out{ending}").exists()
