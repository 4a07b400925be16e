"""Models of every kind: saved and loaded, replaced or left alone, and told from each other."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import huggingface_hub
import pytest
import torch

from lexitree import plugins, writing
from lexitree.errors import FileError, ModelFileError, PluginError
from lexitree.installation import install_package_command
from lexitree.parsers.saved_parser import load_parser
from lexitree.plugins import Registry
from lexitree.saving import model_kinds
from lexitree.saving.card import Card
from lexitree.saving.model_folder import FILES, ModelFolder
from lexitree.saving.model_kinds import KINDS as REGISTRY
from lexitree.saving.model_kinds import load_model, push_to_hub, save_model
from lexitree.saving.pretrained import from_pretrained
from lexitree.saving.quantized import TableForm
from tests.command import files_of, leftovers
from tests.saving.edited_models import DATA_FILES, edit_config, hidden_of, make, tensors_of, torch_network_of

KINDS = tuple(REGISTRY.built_in)
LOADERS = {"classifier": from_pretrained, "parser": load_parser}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def saved(kind: str, tmp_path: Path) -> Path:
    return save_model(make(kind), tmp_path / "model", training={"corpus": "tiny", "note": "a|b\nc"})


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_has_its_name(name: str) -> None:
    assert REGISTRY[name].name == name


@pytest.mark.parametrize("table", ["float32", "float16", "int8"])
def test_a_model_comes_back(kind: str, tmp_path: Path, table: TableForm) -> None:
    model, record = make(kind), {"corpus": "half a character: \udcff"}
    folder = save_model(model, tmp_path / "first", training=record, table=table)
    loaded = load_model(folder)
    assert type(loaded) is type(model)
    assert loaded.training_record == record
    before, after = tensors_of(model), tensors_of(loaded)
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        assert after[name].dtype == torch.float32
        assert torch.equal(after[name], tensor) if table == "float32" else after[name].shape == tensor.shape
    # What was rounded once is written again the same.
    assert files_of(save_model(loaded, tmp_path / "again", table=table)) == files_of(folder)
    assert set(files_of(folder)) == {"config.json", "README.md", *DATA_FILES[kind]} <= set(FILES)


def test_an_opened_folder_is_read_once(saved: Path, kind: str) -> None:
    opened = ModelFolder.find(saved)
    (saved / "config.json").unlink()
    assert opened.kind == kind
    assert hidden_of(load_model(opened)) == 8


def test_a_loaded_model_can_be_trained(saved: Path) -> None:
    weights = list(torch_network_of(load_model(saved)).parameters())
    assert weights
    assert all(each.requires_grad for each in weights)


def test_the_card_is_a_table_that_holds(saved: Path) -> None:
    card = (saved / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: lexitree\n")
    assert "| note | a\\|b c |" in card


def test_a_missing_card_is_no_matter(saved: Path) -> None:
    (saved / "README.md").unlink()
    assert hidden_of(load_model(saved)) == 8


@pytest.mark.parametrize("other", KINDS)
def test_models_of_another_kind(saved: Path, kind: str, other: str) -> None:
    if other == kind:
        assert hidden_of(LOADERS[other](saved)) == 8
        return
    with pytest.raises(ModelFileError, match=f"is a {kind}, not a {other}") as caught:
        LOADERS[other](saved)
    assert "`lexitree p" in caught.value.remedy
    # Neither is one saved in the place of the other.
    before = files_of(saved)
    with pytest.raises(FileError, match=f"holds other things than a {other}"):
        save_model(make(other), saved)
    assert files_of(saved) == before


def test_a_kind_from_the_future(saved: Path) -> None:
    edit_config(saved, lambda values: values.update(kind="oracle"))
    for load in (load_model, *LOADERS.values()):
        with pytest.raises(ModelFileError, match="unknown kind, 'oracle'"):
            load(saved)


def test_a_kind_of_a_package_that_is_missing(saved: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_entry_points", lambda _: {group: {} for group in plugins.GROUPS.values()})
    edit_config(saved, lambda values: values.update(kind="reranker"))
    with pytest.raises(
        ModelFileError, match="is a reranker, which needs the package lexitree-paper"
    ) as caught:
        load_model(saved)
    assert caught.value.remedy == f"Install it: {install_package_command('lexitree-paper')}"
    with pytest.raises(ModelFileError, match=f"is a reranker, not a {kind}") as caught:
        LOADERS[kind](saved)
    assert "lexitree-paper" in caught.value.remedy


@dataclass
class Oracle:
    """A model of a kind that is not built in."""

    kind: ClassVar[str] = "oracle"
    hidden: int
    training_record: dict[str, Any] = field(default_factory=dict[str, Any])


def test_a_kind_of_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = model_kinds.ModelKind(
        name="oracle",
        take_apart=lambda model, _: model_kinds.ModelParts(
            settings={"hidden": model.hidden},
            card=Card(title="An oracle", about="", facts=[], example=[], tags=[], header={}),
            tensors={},
        ),
        build=lambda folder, device: Oracle(**folder.values["model"]),
    )
    registry = Registry("model kind", {}, model_kinds._admit)
    registry.register("oracle", kind)
    monkeypatch.setattr(model_kinds, "KINDS", registry)
    assert load_model(save_model(Oracle(3), tmp_path / "model", training={"a": 1})) == Oracle(3, {"a": 1})
    for name, value in (("other", kind), ("third", "a string")):
        with pytest.raises(PluginError, match="must"):
            registry.register(name, value)


def test_an_older_model_is_replaced(kind: str, saved: Path) -> None:
    save_model(make(kind, hidden=4), saved)
    assert hidden_of(load_model(saved)) == 4
    assert not leftovers(saved.parent)


@pytest.mark.parametrize("name", ["notes.txt", "README.md", "config.json", ".git"])
def test_a_directory_with_other_content_is_left_alone(kind: str, tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("{}")
    with pytest.raises(FileError, match=f"holds other things than a {kind}: {name}"):
        save_model(make(kind), tmp_path / "mine")
    assert files_of(tmp_path) == {f"mine/{name}": b"{}"}


def test_files_beside_a_model_are_not_lost(kind: str, saved: Path) -> None:
    (saved / "notes.txt").write_text("mine")
    before = files_of(saved)
    with pytest.raises(FileError, match=r"notes\.txt"):
        save_model(make(kind, hidden=4), saved)
    assert files_of(saved) == before


def test_an_empty_directory_and_a_file(kind: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert hidden_of(load_model(save_model(make(kind), tmp_path / "empty"))) == 8
    (tmp_path / "file").write_text("mine")
    for target in (tmp_path / "file", tmp_path / "file" / "model"):
        with pytest.raises(FileError):
            save_model(make(kind), target)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_full_disk_leaves_the_older_model(kind: str, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files_of(saved)

    def fail(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for owner, name in ((model_kinds, "save_file"), (Path, "write_bytes"), (Path, "rename"), (os, "fsync")):
        with monkeypatch.context() as patch:
            patch.setattr(writing, "_exchange", lambda *_: False)
            patch.setattr(owner, name, fail)
            with pytest.raises(FileError, match="No space left on device") as caught:
                save_model(make(kind, hidden=4), saved)
        assert "untouched" in caught.value.remedy
        assert files_of(saved) == before
        assert not leftovers(saved.parent)


def test_the_older_model_comes_back_when_the_new_one_cannot_take_its_place(
    kind: str, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files_of(saved)
    rename = Path.rename

    def fail_for_the_new(self: Path, target: Path) -> Path:
        if self.name.endswith(".part"):
            raise OSError(errno.EACCES, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(writing, "_exchange", lambda *_: False)
    monkeypatch.setattr(Path, "rename", fail_for_the_new)
    with pytest.raises(FileError, match="Permission denied"):
        save_model(make(kind, hidden=4), saved)
    assert files_of(saved) == before
    assert not leftovers(saved.parent)


def test_a_model_whose_replacement_was_killed_is_found_again(kind: str, saved: Path) -> None:
    """Where folders cannot be exchanged in one step, a kill may leave the model aside."""
    before = files_of(saved)
    for use in (load_model, lambda folder: save_model(load_model(folder), folder)):
        aside = saved.with_name(".model.killed.old")
        aside.mkdir()
        saved.rename(aside / "model")
        use(saved)
        assert files_of(saved) == before
        assert not leftovers(saved.parent)


def test_names_that_no_folder_can_have() -> None:
    for name in ("x" * 5_000, "a\0b", "a/" + "x" * 5_000):
        with pytest.raises(ModelFileError):
            load_model(name)


def test_everyone_may_read_the_files(saved: Path) -> None:
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in saved.iterdir())


def test_push_sends_what_can_be_loaded(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Api:
        def create_repo(self, name: str, *, private: bool, exist_ok: bool) -> None:
            assert (name, private, exist_ok) == ("someone/tiny", True, True)

        def upload_folder(self, *, repo_id: str, folder_path: Path, revision: str | None) -> str:
            shutil.copytree(folder_path, tmp_path / "uploaded")
            return f"https://hub/{repo_id}/{revision}"

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    assert push_to_hub(make(kind), "someone/tiny", private=True) == "https://hub/someone/tiny/None"
    assert hidden_of(load_model(tmp_path / "uploaded")) == 8


def test_a_run_stands_for_its_model(trained_run: Path, tmp_path: Path) -> None:
    assert hidden_of(load_model(trained_run)) == hidden_of(load_model(trained_run / "model"))
    with pytest.raises(ModelFileError, match=r"it has no config\.json"):
        load_model(tmp_path)
    for seed in (1, 2):
        shutil.copytree(trained_run / "model", tmp_path / f"seed-{seed}" / "model")
    with pytest.raises(ModelFileError, match="holds 2 runs, each with a model") as caught:
        load_model(tmp_path)
    assert str(tmp_path / "seed-1" / "model") in caught.value.remedy
