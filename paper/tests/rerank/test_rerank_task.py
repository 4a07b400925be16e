"""A reranker as the library's training loop, settings, model folders and commands see it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest
import torch
from tests import test_settings
from tests.cli.conftest import Call, assert_users_error
from tests.learning.test_kill import (
    FEW_MOMENTS,
    NUM_EPOCHS,
    TEN_MOMENTS,
    Moment,
    check_kills,
    write_recipe,
)
from tests.saving import edited_models, test_damaged_models, test_model_kinds
from tests.saving.test_model_kinds import (  # noqa: F401  # run here for the kind below
    saved,
    test_a_directory_with_other_content_is_left_alone,
    test_a_full_disk_leaves_the_older_model,
    test_a_loaded_model_can_be_trained,
    test_a_missing_card_is_no_matter,
    test_a_model_comes_back,
    test_a_model_whose_replacement_was_killed_is_found_again,
    test_an_older_model_is_replaced,
    test_an_opened_folder_is_read_once,
    test_push_sends_what_can_be_loaded,
    test_the_card_is_a_table_that_holds,
)

from lexitree.errors import FileError, ModelFileError
from lexitree.learning.run_folder import claim_folder
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.word_table import WordTable
from lexitree.saving.model_kinds import load_model, save_model
from lexitree.settings import Settings
from lexitree_paper.rerank import Reranker, load_reranker
from lexitree_paper.rerank.model import RerankerModel
from lexitree_paper.rerank.recipe import RerankerConfig, RerankRecipe, RerankTraining
from lexitree_paper.rerank.run import train_reranker
from tiny_lists import make_lists, write_lists


def tiny_reranker(hidden: int = 8) -> Reranker:
    """A reranker that has learned nothing."""
    config = RerankerConfig(labels=("S", "NP", ""), word_size=6, hidden=hidden)
    return Reranker(RerankerModel(config, WordTable(Vocabulary(["a", "b"]), torch.randn(3, 6))))


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(edited_models.MAKERS, "reranker", tiny_reranker)
    monkeypatch.setitem(edited_models.DATA_FILES, "reranker", ["vocabulary.json", "model.safetensors"])
    return "reranker"


def train_arguments(data: Path, folder: Path) -> list[str]:
    text = "min_count = 1\n[model]\nhidden = 8\n"
    text += "[training]\nbatch_size = 4\naveraging = 0.8\ntrain_words = true\n"
    lists = write_lists(data / "lists.jsonl", make_lists(12))
    options = ["--recipe", str(write_recipe(data, text)), "-o", str(folder), "--device", "cpu"]
    return ["rerank", "train", str(lists), *options, "--epochs", str(NUM_EPOCHS)]


@pytest.mark.slow
@pytest.mark.parametrize("moments", [FEW_MOMENTS, TEN_MOMENTS])
def test_kills_change_nothing(moments: list[Moment], tmp_path: Path) -> None:
    check_kills(train_arguments, moments, tmp_path)


@pytest.mark.parametrize("resume", [True, False])
def test_a_folder_has_one_run_at_a_time(tmp_path: Path, resume: bool) -> None:
    with (
        claim_folder(tmp_path / "run", resume=False),
        pytest.raises(FileError, match="run: is in use by another process"),
    ):
        train_reranker(RerankRecipe(lists=("none.jsonl",)), tmp_path / "run", resume=resume)


@pytest.mark.parametrize(
    "settings",
    [RerankerConfig(labels=("S",)), RerankTraining(), RerankRecipe(lists=("a.jsonl",))],
    ids=lambda each: type(each).__name__,
)
def test_settings_are_checked(settings: Settings) -> None:
    test_settings.test_settings_come_back_from_their_values(settings)
    test_settings.test_an_unknown_name_is_refused_with_the_nearest(settings)
    for declared in type(settings).declared().values():
        test_settings.test_a_wrong_value_is_refused_with_the_name_of_its_setting(settings, declared)
        test_settings.test_every_setting_has_a_help_text_and_an_accepted_default(settings, declared)
        if {int, float} & {declared.type, *get_args(declared.type)}:
            test_settings.test_an_absurd_number_is_refused_with_the_range(settings, declared)


def test_damaged_files(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, name in enumerate(("config.json", *edited_models.DATA_FILES[kind])):
        test_damaged_models.test_a_missing_cut_or_scrambled_file(tmp_path / str(number), kind, name)
    test_damaged_models.test_one_wrong_bit_in_the_weights(tmp_path / "bit", kind, "model.safetensors")
    for has_checksums in (False, True):
        folder = tmp_path / f"first-format-{has_checksums}"
        test_damaged_models.test_models_of_the_first_format(folder, kind, has_checksums)
    for size in (65_536, 10**18):
        test_damaged_models.test_no_memory_is_taken_for_absurd_sizes(tmp_path / str(size), kind, size)
    test_damaged_models.test_nothing_is_ever_unpickled(tmp_path, monkeypatch, kind)


@pytest.mark.parametrize("other", ["classifier", "parser"])
def test_models_of_another_kind(kind: str, tmp_path: Path, other: str) -> None:
    save_model(edited_models.make(other), tmp_path / "other")
    with pytest.raises(ModelFileError, match=f"is a {other}, not a reranker") as caught:
        load_reranker(tmp_path / "other")
    assert "`lexitree p" in caught.value.remedy
    folder = save_model(edited_models.make(kind), tmp_path / "reranker")
    with pytest.raises(ModelFileError, match=f"is a reranker, not a {other}") as caught:
        test_model_kinds.LOADERS[other](folder)
    assert caught.value.remedy == "Use the package lexitree-paper for a reranker."
    with pytest.raises(FileError, match=f"holds other things than a {other}"):
        save_model(edited_models.make(other), folder)


def test_info_and_pack(call: Call, kind: str, tmp_path: Path) -> None:
    folder = save_model(edited_models.make(kind), tmp_path / "model", training={"note": "tiny"})
    values = json.loads(call("info", folder, "--json").out)
    assert (values["kind"], values["model"]["hidden"], values["num_words"]) == (kind, 8, 3)
    assert f"{values['num_parameters']:,}" in call("info", folder).out
    report = json.loads(call("pack", folder, "-o", tmp_path / "packed", "--json").out)
    assert report["bytes"] < report["bytes_before"]
    assert load_model(tmp_path / "packed").training_record == {"note": "tiny"}
    refused = call("pack", folder, "-o", tmp_path / "other", "--words", "3")
    assert_users_error(refused, "is a reranker, whose words cannot be changed", "--words")


def test_all_settings_are_listed(call: Call) -> None:
    listed = re.findall(r"^  (\S+) = ", call("rerank", "train", "--help-settings").out, flags=re.MULTILINE)
    assert set(listed) == {each.name for each in RerankRecipe.describe()}


@pytest.mark.parametrize("seeds", ["-1", str(2**64), "nan", "1-" + "9" * 30, ""])
def test_absurd_seeds(call: Call, tmp_path: Path, seeds: str) -> None:
    finished = call("rerank", "train", "x", "-o", tmp_path / "run", f"--seeds={seeds}", "--epochs", "0")
    assert finished.code in (1, 2)
    assert "Traceback" not in finished.err


@pytest.mark.parametrize(
    ("command", "ending"),
    [("rerank apply MODEL LISTS -o", ".html"), ("rerank lists --recipe RECIPE", ".txt")],
)
def test_another_ending_is_refused(call: Call, tmp_path: Path, command: str, ending: str) -> None:
    assert_users_error(call(*command.split(), tmp_path / f"out{ending}"), ending, "Endings that fit: .")
    assert not (tmp_path / f"out{ending}").exists()
