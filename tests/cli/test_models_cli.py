"""`lexitree models` and `lexitree info`: the paper's counts, and what a saved model is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lexitree.saving.model_kinds import save_model
from lexitree.saving.shipped import SEPARATE, SHIPPED_MODELS
from tests.cli.conftest import Call
from tests.cli.untrained_parser import save_untrained_parser
from tests.saving.edited_models import MAKERS, make
from tests.saving.test_saved_transformer import make_model
from tests.tiny import FINER_LABELS, tiny_model


def test_models_as_json_has_the_papers_counts(call: Call) -> None:
    rows = json.loads(call("models", "--json").out)
    counts = {(row["model"], row["hidden"]): row["parameters"] for row in rows}
    assert counts == {
        ("bilstm", 150): counts["bilstm", 150],
        ("deptree", 150): 290_573,
        ("contree", 150): 538_223,
        ("contree-nary", 150): 380_723,
        ("contree-le", 150): 718_223,
        ("bilstm-plain", 150): 580_373,
        ("rntn", 25): 63_905,
        ("rntn", 35): 174_165,
        ("topdown", 150): 715_073,
        ("contree-lex", 75): 376_673,
        ("contree-lex", 150): 763_523,
        ("contree-lex", 215): 1_253_493,
        ("contree-lex", 300): 2_110_973,
        ("bicontree", 75): 564_923,
        ("bicontree", 150): 1_297_523,
        # All that it has is a transformer's.
        ("pooled", None): None,
    }
    size, words, output, labels = 150, 300, 128, 5
    assert counts["bilstm", 150] == (
        2 * (4 * size * words + 7 * size * size + 4 * size)
        + (2 * output * size + output + output * labels + labels)
    )
    table = call("models").out
    assert "1,297,523" in table
    assert "BiConTree" in table
    assert "pooled" in table


def test_info_names_the_transformer(call: Call, encoders: dict[str, Path], tmp_path: Path) -> None:
    folder = save_model(make_model(encoders["bert"], with_table=True), tmp_path / "m")
    values = json.loads(call("info", folder, "--json").out)
    assert values["encoder"]["name"] == "tiny-bert"
    assert values["num_words"] == 14
    assert values["num_transformer_parameters"] > 1000
    text = call("info", folder).out
    assert "tiny-bert, trained with the model" in text
    assert "of the transformer" in text


def test_info(call: Call, saved_model: Path) -> None:
    values = json.loads(call("info", saved_model, "--json").out)
    assert values["model"]["hidden"] == 8
    assert values["num_words"] == 14
    assert set(values["backend"]) == {"compose_heads", "bottom_up", "top_down"}
    text = call("info", saved_model).out
    (name,) = set(values["backend"].values())
    assert f"the {name} backend on {values['device']}" in text
    assert "bicontree" in text
    assert f"{values['num_parameters']:,}" in text
    assert "label names" not in text


def test_info_says_what_finer_labels_count_for(call: Call, tmp_path: Path) -> None:
    folder = save_model(tiny_model(finer_labels=FINER_LABELS), tmp_path / "m")
    assert json.loads(call("info", folder, "--json").out)["model"]["finer_labels"] == FINER_LABELS
    assert "-- = 0, - = 0, o = none, + = 1, ++ = 1" in call("info", folder).out


def test_info_of_a_run_is_that_of_its_model(call: Call, trained_run: Path) -> None:
    assert call("info", trained_run, "--json") == call("info", trained_run / "model", "--json")


def test_models_of_the_package(call: Call, shipped_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SHIPPED_MODELS, "_installed", dict)
    assert [each["name"] for each in json.loads(call("models", "--shipped", "--json").out)] == [*SEPARATE]
    assert "not installed" in call("models", "--shipped").out
    names = {"0": "bad", "1": "good"}
    record = {"test_root": 0.875, "dev_root": 0.5, "seed": 3}
    save_model(tiny_model(label_names=names), shipped_folder / "sentiment", training=record)
    save_untrained_parser(shipped_folder / "parser")
    (first, second, _) = json.loads(call("models", "--shipped", "--json").out)
    assert first["name"] == "sentiment"
    assert first["answers"] == ["bad", "good"]
    assert first["scores"] == {"test_root": 0.875, "dev_root": 0.5}
    assert first["num_bytes"] == sum(path.stat().st_size for path in (shipped_folder / "sentiment").iterdir())
    assert (second["name"], second["answers"]) == ("parser", [])
    table = call("models", "--shipped").out
    assert "bad, good" in table
    assert "test root 87.5" in table
    assert "Penn trees" in table


def test_info_by_name(call: Call, shipped_folder: Path) -> None:
    save_model(tiny_model(), shipped_folder / "questions")
    assert json.loads(call("info", "questions", "--json").out)["num_words"] == 14


@pytest.mark.parametrize("kind", MAKERS)
def test_info_of_every_kind(call: Call, tmp_path: Path, kind: str) -> None:
    folder = save_model(make(kind), tmp_path / "m", training={"note": "tiny"})
    values = json.loads(call("info", folder, "--json").out)
    assert (values["kind"], values["model"]["hidden"]) == (kind, 8)
    assert values["num_words"] == {"classifier": 14, "parser": 3}[kind]
    text = call("info", folder).out
    assert kind in text
    assert f"{values['num_parameters']:,}" in text
    assert "tiny" in text


@pytest.mark.parametrize("kind", ["classifier", "parser"])
def test_stored_shapes_count_as_the_modules_of_torch_do(call: Call, tmp_path: Path, kind: str) -> None:
    model = make(kind)
    values = json.loads(call("info", save_model(model, tmp_path / "m"), "--json").out)
    counted = getattr(model, "model", model).torch_network("A test") if kind == "parser" else model
    assert values["num_parameters"] == counted.num_parameters()
