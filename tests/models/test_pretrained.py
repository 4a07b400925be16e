"""Saved models: exact round trips, faults of every file, and directories that are left alone."""

from __future__ import annotations

import builtins
import errno
import json
import pickle
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from safetensors.torch import load_file, save_file

from lexitree.errors import BackendError, FileError, MissingExtraError, ModelFileError
from lexitree.lexicon.quantized import TableForm
from lexitree.models import pretrained
from lexitree.models.model_files import FILES
from lexitree.models.pretrained import from_pretrained, push_to_hub, save_pretrained
from lexitree.predict import Predictor
from tests.command import files_of, leftovers
from tests.tiny import CONSTITUENCY_MODELS, FINER_LABELS, tiny_model, tiny_trees


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A saved model of the test's own."""
    return save_pretrained(tiny_model(), tmp_path / "model", training={"corpus": "tiny", "note": "a|b\nc"})


def edit_config(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    values = json.loads((folder / "config.json").read_text())
    change(values)
    (folder / "config.json").write_text(json.dumps(values))


def edit_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    # Into a new file: the tensors still live in the old one.
    save_file(tensors, folder / "new")
    (folder / "new").replace(folder / "model.safetensors")


@pytest.mark.parametrize("name", CONSTITUENCY_MODELS)
@pytest.mark.parametrize("output", [8, 0])
def test_round_trip_is_exact(tmp_path: Path, name: str, output: int) -> None:
    settings = {
        "label_names": {"0": "schlecht ☹"},
        "binarization": "left",
        "head_method": "A",
        "output": output,
    }
    model = tiny_model(name, **settings)
    loaded = from_pretrained(save_pretrained(model, tmp_path / "m"))
    assert loaded.config == model.config
    assert loaded.lexicon.vocabulary == model.lexicon.vocabulary
    assert not loaded.training
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    trees = tiny_trees(8)
    before, after = (list(Predictor(each).predict_all(trees)) for each in (model, loaded))
    for first, second in zip(before, after, strict=True):
        assert first.probabilities.tobytes() == second.probabilities.tobytes()


def test_finer_labels_come_back_in_their_order(tmp_path: Path) -> None:
    """Neither by number nor by the alphabet: in another order the scores would count for other answers."""
    finer = {"10": "1", "9": "0", "neither": "", "a": "1", "B": "0"}
    model = tiny_model(finer_labels=finer)
    loaded = from_pretrained(save_pretrained(model, tmp_path / "m"))
    assert loaded.config.trained_labels == tuple(finer)
    assert loaded.config == model.config
    trees = tiny_trees(8)
    before, after = (list(Predictor(each).predict_all(trees)) for each in (model, loaded))
    for first, second in zip(before, after, strict=True):
        assert first.probabilities.tobytes() == second.probabilities.tobytes()
        assert first.labels == second.labels


def test_a_model_from_before_there_were_finer_labels(folder: Path) -> None:
    trees = tiny_trees(3)
    before = [each.probabilities.tobytes() for each in Predictor(from_pretrained(folder)).predict_all(trees)]
    edit_config(folder, lambda values: values["model"].pop("finer_labels"))
    after = [each.probabilities.tobytes() for each in Predictor(from_pretrained(folder)).predict_all(trees)]
    assert after == before


def test_saving_twice_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    again = save_pretrained(
        from_pretrained(folder), tmp_path / "again", training={"corpus": "tiny", "note": "a|b\nc"}
    )
    assert files_of(again) == files_of(folder)
    assert set(files_of(again)) == set(FILES)


def test_a_loaded_model_can_be_trained(folder: Path) -> None:
    model = from_pretrained(folder)
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_double_precision_is_kept(tmp_path: Path) -> None:
    loaded = from_pretrained(save_pretrained(tiny_model().double(), tmp_path / "m"))
    assert {tensor.dtype for tensor in loaded.state_dict().values()} == {torch.float64}
    assert Predictor(loaded).predict(tiny_trees(1)[0]).probabilities.shape[1] == 2


@pytest.mark.parametrize(("table", "num_bytes", "error"), [("float16", 2, 1e-3), ("int8", 1, 1e-2)])
def test_short_forms_of_the_table(tmp_path: Path, table: TableForm, num_bytes: int, error: float) -> None:
    model = tiny_model()
    folder = save_pretrained(model, tmp_path / "short", table=table)
    written = load_file(folder / "model.safetensors")
    assert written["lexicon.vectors"].element_size() == num_bytes
    others = {name: tensor.dtype for name, tensor in written.items() if name != "lexicon.vectors"}
    assert set(others.values()) == {torch.float16}
    loaded = from_pretrained(folder)
    assert {tensor.dtype for tensor in loaded.state_dict().values()} == {torch.float32}
    trees = tiny_trees(20)
    exact, near = (list(Predictor(each).predict_all(trees)) for each in (model, loaded))
    for first, second in zip(exact, near, strict=True):
        assert abs(first.probabilities - second.probabilities).max() < error
    assert files_of(save_pretrained(loaded, tmp_path / "again", table=table)) == files_of(folder)


def test_a_short_form_is_read_as_such_only(tmp_path: Path, folder: Path) -> None:
    """What a program that knows no short forms would read as a model of 16 bits is none."""
    short = save_pretrained(tiny_model(), tmp_path / "short", table="float16")
    edit_config(short, lambda values: values.pop("table"))
    assert from_pretrained(short).lexicon.vectors.dtype == torch.float16
    edit_config(folder, lambda values: values.update(table="float16"))
    with pytest.raises(ModelFileError, match=r"not in the form that config\.json says"):
        from_pretrained(folder)


def test_the_card_is_a_table_that_holds(folder: Path) -> None:
    card = (folder / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: lexitree\n")
    assert "| note | a\\|b c |" in card
    assert "# BiConTree on tiny" in card


def test_the_card_says_what_finer_labels_count_for(folder: Path, tmp_path: Path) -> None:
    assert "finer" not in (folder / "README.md").read_text()
    names = {"o": "neutral", "0": "bad", "1": "good"}
    model = tiny_model(finer_labels=FINER_LABELS, label_names=names)
    card = (save_pretrained(model, tmp_path / "finer") / "README.md").read_text()
    assert "- labels: bad, good\n- trained with finer labels" in card
    assert "count for these: --, - for bad; o (neutral) for none; +, ++ for good. The probability" in card


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "model.safetensors"])
def test_a_missing_cut_or_scrambled_file(folder: Path, name: str) -> None:
    path = folder / name
    content = path.read_bytes()
    rng = random.Random(3)
    damaged = [b"", content[: len(content) // 2], content[:-3], rng.randbytes(200), b"\xff\xfe" + content]
    for wrong in damaged:
        path.write_bytes(wrong)
        with pytest.raises(ModelFileError) as caught:
            from_pretrained(folder)
        assert name in str(caught.value)
    path.unlink()
    with pytest.raises(ModelFileError, match=name):
        from_pretrained(folder)
    path.mkdir()
    with pytest.raises(ModelFileError):
        from_pretrained(folder)


def test_a_missing_card_is_no_matter(folder: Path) -> None:
    (folder / "README.md").unlink()
    assert from_pretrained(folder).config.hidden == 8


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda values: values.update(format=2), "has format 2; this version reads 1"),
        (lambda values: values.pop("format"), "has format None"),
        (lambda values: values.update(library="other"), "is not a lexitree model's"),
        (lambda values: values.update(model=[1]), "is not a lexitree model's"),
        (lambda values: values.update(table="int4"), "a table in a form that there is not: 'int4'"),
        (lambda values: values.update(table=8), "a table in a form that there is not"),
        (lambda values: values["model"].update(hidden=9), "does not fit config.json"),
        (lambda values: values["model"].update(hidden=10**12), "does not fit config.json"),
        (lambda values: values["model"].update(hidden=10**40), "does not fit config.json"),
        (lambda values: values["model"].update(word_size=9), "does not fit config.json"),
        (lambda values: values["model"].update(model="contree"), "does not fit config.json"),
        (lambda values: values["model"].update(model="tree"), "no model called 'tree'"),
        (lambda values: values["model"].update(hidden="8"), "hidden has a value of the wrong kind"),
        (lambda values: values["model"].update(hidden=-8), "hidden must be at least 1"),
        (lambda values: values["model"].update(labels=[]), "at least one label"),
        (lambda values: values["model"].update(labels=["a", "a"]), "no label twice"),
        (lambda values: values["model"].update(labels=[1, 2]), "labels"),
        (lambda values: values["model"].update(labels=["a", "b", "c"]), "does not fit config.json"),
        (lambda values: values["model"].update(label_names={"0": 3}), "label"),
        (lambda values: values["model"].update(finer_labels={"a": "0"}), "no finer label counts for 1"),
        (
            lambda values: values["model"].update(finer_labels={"a": "0", "b": "1", "c": "1"}),
            "does not fit config.json",
        ),
        (lambda values: values["model"].update(colour=1), "unknown settings: colour"),
        (lambda values: values["model"].update(head_method="Q"), "head_method must be one of"),
        (lambda values: values["model"].update(binarization=None), "wrong kind"),
    ],
)
def test_a_configuration_that_does_not_fit(
    folder: Path, change: Callable[[dict[str, Any]], object], problem: str
) -> None:
    edit_config(folder, change)
    with pytest.raises(ModelFileError) as caught:
        from_pretrained(folder)
    assert problem in str(caught.value)


@pytest.mark.parametrize("content", ["[]", "3", "null", "[" * 100_000])
def test_a_configuration_that_is_none(folder: Path, content: str) -> None:
    (folder / "config.json").write_text(content)
    with pytest.raises(ModelFileError):
        from_pretrained(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.pop("lexicon.vectors"),
        lambda tensors: tensors.update({"lexicon.vectors": torch.zeros(3)}),
        lambda tensors: tensors.update({"lexicon.vectors": tensors["lexicon.vectors"][:-1].clone()}),
        lambda tensors: tensors.update({"lexicon.vectors": tensors["lexicon.vectors"].int()}),
        lambda tensors: tensors.update({"lexicon.vectors": tensors["lexicon.vectors"].double()}),
        lambda tensors: tensors.update({"extra": torch.zeros(3)}),
        lambda tensors: tensors.pop("scorer.hidden_bias"),
        lambda tensors: tensors.update({"scorer.hidden_bias": torch.zeros(3)}),
        lambda tensors: tensors.clear(),
    ],
)
def test_weights_that_do_not_fit(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    edit_weights(folder, change)
    with pytest.raises(ModelFileError, match=r"model\.safetensors"):
        from_pretrained(folder)


@pytest.mark.parametrize(
    "shapes",
    [
        {"group_vectors": (5, 4), "projection": (4, 9), "mean": (9,)},
        {"group_vectors": (5, 4), "projection": (4, 8), "mean": (9,)},
        {"group_vectors": (5, 4), "projection": (3, 8), "mean": (8,)},
        {"group_vectors": (0, 4), "projection": (4, 8), "mean": (8,)},
        {"group_vectors": (5,), "projection": (8,), "mean": (8,)},
        {"group_vectors": (), "projection": (4, 8), "mean": (8,)},
        {"group_vectors": (5, 4), "projection": (4, 8), "mean": ()},
        {"group_vectors": (5, 4), "projection": (4, 8)},
        {"group_vectors": (5, 4), "projection": (4, 8), "mean": (8,), "more": (8,)},
        {"more.of.it": (8,)},
    ],
)
def test_a_guesser_that_does_not_fit(folder: Path, shapes: dict[str, tuple[int, ...]]) -> None:
    guesser = {f"lexicon.guesser.{name}": torch.zeros(shape) for name, shape in shapes.items()}
    edit_weights(folder, lambda tensors: tensors.update(guesser))
    with pytest.raises(ModelFileError, match=r"model\.safetensors does not fit"):
        from_pretrained(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.pop("lexicon.vectors.scale"),
        lambda tensors: tensors.update({"lexicon.vectors.scale": torch.ones(3).half()}),
        lambda tensors: tensors.update({"lexicon.vectors.scale": torch.ones(()).half()}),
        lambda tensors: tensors.update({"lexicon.vectors.scale": tensors["lexicon.vectors.scale"].float()}),
        lambda tensors: tensors.update(
            {"lexicon.vectors.scale": tensors["lexicon.vectors.scale"].to(torch.int8)}
        ),
        lambda tensors: tensors.update({"lexicon.vectors": tensors["lexicon.vectors"].int()}),
        lambda tensors: tensors.update({"lexicon.vectors": tensors["lexicon.vectors"].half()}),
        lambda tensors: tensors.update({"lexicon.vectors": tensors["lexicon.vectors"][:-1].clone()}),
        lambda tensors: tensors.update({"lexicon.vectors": tensors["lexicon.vectors"].flatten()}),
        lambda tensors: tensors.update({"scorer.hidden_bias": torch.zeros(8)}),
        lambda tensors: tensors.update({"scorer.hidden_bias": torch.zeros(8).to(torch.int8)}),
        lambda tensors: tensors.update({"scorer.hidden_bias.scale": torch.zeros(8).half()}),
        lambda tensors: tensors.clear(),
    ],
)
def test_bytes_that_do_not_fit(tmp_path: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    folder = save_pretrained(tiny_model(), tmp_path / "bytes", table="int8")
    edit_weights(folder, change)
    with pytest.raises(ModelFileError, match=r"model\.safetensors"):
        from_pretrained(folder)


@pytest.mark.parametrize("content", ["{}", "[1]", '["a", "a"]', '["<unk>"]', '["a", "b"]'])
def test_a_vocabulary_that_does_not_fit(folder: Path, content: str) -> None:
    (folder / "vocabulary.json").write_text(content)
    with pytest.raises(ModelFileError, match=r"vocabulary\.json"):
        from_pretrained(folder)


def test_nothing_is_ever_unpickled(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (tmp_path / "exploded",)

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("something was unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    assert from_pretrained(folder).config.hidden == 8
    for name in ("config.json", "vocabulary.json", "model.safetensors"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(pickle.dumps(Bomb()))
        with pytest.raises(ModelFileError):
            from_pretrained(folder)
        (folder / name).write_bytes(content)
    assert not (tmp_path / "exploded").exists()


def test_an_older_model_is_replaced(folder: Path) -> None:
    save_pretrained(tiny_model(hidden=4), folder)
    assert from_pretrained(folder).config.hidden == 4
    assert not leftovers(folder.parent)


@pytest.mark.parametrize("names", [["notes.txt"], ["README.md"], ["config.json"], [".git"]])
def test_a_directory_with_other_content_is_left_alone(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine" / name).write_text("{}")
    with pytest.raises(FileError, match=f"holds other things than a lexitree model: {names[0]}"):
        save_pretrained(tiny_model(), tmp_path / "mine")
    assert files_of(tmp_path) == {f"mine/{name}": b"{}" for name in names}


def test_files_beside_a_model_are_not_lost(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    before = files_of(folder)
    with pytest.raises(FileError, match=r"notes\.txt"):
        save_pretrained(tiny_model(hidden=4), folder)
    assert files_of(folder) == before


def test_an_empty_directory_and_a_file(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert from_pretrained(save_pretrained(tiny_model(), tmp_path / "empty")).config.hidden == 8
    (tmp_path / "file").write_text("mine")
    for target in (tmp_path / "file", tmp_path / "file" / "model"):
        with pytest.raises(FileError):
            save_pretrained(tiny_model(), target)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_full_disk_leaves_the_older_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files_of(folder)

    def fail(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for owner, name in ((pretrained, "save_file"), (Path, "write_text"), (Path, "rename")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fail)
            with pytest.raises(FileError, match="No space left on device") as caught:
                save_pretrained(tiny_model(hidden=4), folder)
        assert "untouched" in caught.value.remedy
        assert files_of(folder) == before
        assert not leftovers(folder.parent)


def test_the_older_model_comes_back_when_the_new_one_cannot_take_its_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files_of(folder)
    rename = Path.rename

    def fail_for_the_new(self: Path, target: Path) -> Path:
        if self.name.endswith(".part"):
            raise OSError(errno.EACCES, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_for_the_new)
    with pytest.raises(FileError, match="Permission denied"):
        save_pretrained(tiny_model(hidden=4), folder)
    assert files_of(folder) == before
    assert not leftovers(folder.parent)


def test_a_run_is_not_its_model(trained_run: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"it has no config\.json") as caught:
        from_pretrained(trained_run)
    assert f"Did you mean {trained_run / 'model'}?" in caught.value.remedy
    with pytest.raises(ModelFileError) as caught:
        from_pretrained(tmp_path)
    assert caught.value.remedy == ""


@pytest.mark.parametrize("name", ["nothing", "./a/b", "a/b/c", "/a/b", "../b", "~/b", "file"])
def test_names_that_cannot_be_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", None)
    with pytest.raises(ModelFileError, match="there is no such model directory"):
        from_pretrained(name)


def test_a_name_on_the_hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    def download(name: str, *, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((name, revision, tuple(allow_patterns)))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert from_pretrained("someone/tiny", revision="v1").config.hidden == 8
    assert asked == [("someone/tiny", "v1", (*FILES, "encoder/*"))]


def test_the_hub_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*arguments: object, **options: object) -> str:
        raise ConnectionError("no route to host")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(
        ModelFileError, match=r"neither a directory here nor .* \(ConnectionError\)"
    ) as caught:
        from_pretrained("someone/tiny")
    assert "network" in caught.value.remedy


def test_the_hub_without_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def refuse(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "huggingface_hub":
            raise ImportError(name)
        return real_import(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"pip install 'lexitree\[hub\]'"):
        from_pretrained("someone/tiny")
    with pytest.raises(MissingExtraError):
        push_to_hub(tiny_model(), "someone/tiny")


def test_push_sends_what_can_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Api:
        def create_repo(self, name: str, *, private: bool, exist_ok: bool) -> None:
            assert (name, private, exist_ok) == ("someone/tiny", True, True)

        def upload_folder(self, *, repo_id: str, folder_path: Path, revision: str | None) -> str:
            shutil.copytree(folder_path, tmp_path / "uploaded")
            return f"https://hub/{repo_id}/{revision}"

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    assert push_to_hub(tiny_model(), "someone/tiny", private=True) == "https://hub/someone/tiny/None"
    assert from_pretrained(tmp_path / "uploaded").config.hidden == 8


def test_the_backend_can_be_chosen_and_must_exist(folder: Path) -> None:
    assert from_pretrained(folder, backend="reference").backend.name == "reference"
    with pytest.raises(BackendError, match="no backend called 'quantum'"):
        from_pretrained(folder, backend="quantum")
