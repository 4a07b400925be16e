"""Transformers from directories: what is whole is read, everything else is one clear error and no random weights."""

from __future__ import annotations

import builtins
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from lexitree.errors import FileError, MissingExtraError
from lexitree.models import encoder_files
from lexitree.models.encoder_files import locate_encoder, read_encoder, write_encoder
from tests.tiny_encoders import KINDS


@pytest.fixture
def damaged(encoders: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the small BERT, to be spoiled."""
    return Path(shutil.copytree(encoders["bert"], tmp_path / "damaged"))


def edit_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def without_weights(folder: Path, part: str) -> None:
    weights = load_file(folder / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if part not in name}
    assert len(kept) < len(weights)
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


DAMAGES: dict[str, Callable[[Path], None]] = {
    "empty": lambda folder: [path.unlink() for path in folder.iterdir()] and None,
    "no config": lambda folder: (folder / "config.json").unlink(),
    "no weights": lambda folder: (folder / "model.safetensors").unlink(),
    "no tokenizer": lambda folder: [path.unlink() for path in folder.glob("tokenizer*")] and None,
    "cut config": lambda folder: cut(folder / "config.json"),
    "cut weights": lambda folder: cut(folder / "model.safetensors"),
    "cut tokenizer": lambda folder: cut(folder / "tokenizer.json"),
    "config of a list": lambda folder: (folder / "config.json").write_text("[1, 2]") and None,
    "another size": lambda folder: edit_json(folder / "config.json", hidden_size=20),
    "no such kind": lambda folder: edit_json(folder / "config.json", model_type="zorp"),
    "sizes that do not divide": lambda folder: edit_json(folder / "config.json", num_attention_heads=3),
    "more layers": lambda folder: edit_json(folder / "config.json", num_hidden_layers=3),
    "a layer without weights": lambda folder: without_weights(folder, "layer.1.attention"),
    "no embeddings": lambda folder: without_weights(folder, "word_embeddings"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_directories(damaged: Path, damage: str) -> None:
    DAMAGES[damage](damaged)
    with pytest.raises(FileError) as caught:
        read_encoder(str(damaged))
    assert str(damaged) in caught.value.message
    assert "config.json, tokenizer.json and model.safetensors" in caught.value.remedy


def test_weights_that_nobody_reads_may_be_missing(damaged: Path) -> None:
    without_weights(damaged, "pooler")
    assert read_encoder(str(damaged))[0].pooler is None


def test_pickled_weights_are_not_read(damaged: Path) -> None:
    class Harm:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (damaged / "harm",)

    (damaged / "model.safetensors").unlink()
    torch.save({"embeddings": Harm()}, damaged / "pytorch_model.bin")
    with pytest.raises(FileError):
        read_encoder(str(damaged))
    assert not (damaged / "harm").exists()


@pytest.mark.parametrize("type_known", [True, False])
def test_code_that_comes_with_a_model_is_not_run(
    damaged: Path, type_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(*_: object) -> str:
        raise AssertionError("nobody is to be asked in the middle of a command")

    monkeypatch.setattr(builtins, "input", ask)
    (damaged / "evil.py").write_text(
        f"open({str(damaged / 'harm')!r}, 'w')\nclass Config: pass\nModel = Config\n"
    )
    names = {"AutoConfig": "evil.Config", "AutoModel": "evil.Model", "AutoTokenizer": ["evil.Config", None]}
    changes = {} if type_known else {"model_type": "evil"}
    edit_json(damaged / "config.json", auto_map=names, **changes)
    edit_json(damaged / "tokenizer_config.json", auto_map=names)
    if type_known:
        assert type(read_encoder(str(damaged))[0]).__name__ == "BertModel"
    else:
        with pytest.raises(FileError):
            read_encoder(str(damaged))
    assert not (damaged / "harm").exists()


@pytest.mark.parametrize("name", ["./nowhere", "/no/such/folder", "~/x", "a/b/c"])
def test_directories_that_are_not_there(name: str) -> None:
    with pytest.raises(FileError, match="there is no such directory"):
        read_encoder(name)


def test_names_that_cannot_be_reached() -> None:
    with pytest.raises(FileError, match="is no transformer that can be read here"):
        read_encoder("nobody/has-this")


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"\[transformers\]"):
        read_encoder("anything")


def test_models_that_write_are_read_without_what_writes(encoders: dict[str, Path]) -> None:
    encoder, _ = read_encoder(str(encoders["t5"]))
    assert not any("decoder" in name for name, _ in encoder.named_parameters())


def test_what_only_reads_in_order_to_write_is_refused(encoders: dict[str, Path], tmp_path: Path) -> None:
    """BART has an encoder, but the states that it gives are its decoder's, which sees no word that comes later."""
    from transformers import BartConfig, BartModel

    folder = tmp_path / "bart"
    shutil.copytree(encoders["roberta"], folder)
    layers = {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    BartModel(BartConfig(d_model=8, vocab_size=400, **layers, **heads)).save_pretrained(folder)
    with pytest.raises(FileError, match="bart also writes"):
        read_encoder(str(folder))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("short", [False, True])
def test_written_and_read_again(encoders: dict[str, Path], tmp_path: Path, kind: str, short: bool) -> None:
    encoder, tokenizer = read_encoder(str(encoders[kind]))
    weights = {name: weight.half() for name, weight in encoder.state_dict().items()} if short else None
    write_encoder(encoder, tokenizer, tmp_path / "again", weights=weights)
    again, _ = read_encoder(str(tmp_path / "again"))
    assert type(again) is type(encoder)
    before, after = encoder.state_dict(), again.state_dict()
    assert before.keys() == after.keys()
    for name, weight in before.items():
        assert after[name].dtype == torch.float32
        assert torch.equal(after[name], weight.half().float() if short else weight), name
    for path in (tmp_path / "again").iterdir():
        assert path.stat().st_mode & 0o444 == 0o444


def test_where_short_names_lead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEXITREE_DATA", str(tmp_path / "data"))
    known = encoder_files.KnownEncoder("owner/small", "tiny_weights_package")
    monkeypatch.setattr(encoder_files, "KNOWN_ENCODERS", {"small": known})
    assert locate_encoder("small") == "owner/small"
    package = tmp_path / "packages" / "tiny_weights_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('it is found, not imported')")
    monkeypatch.syspath_prepend(str(package.parent))
    assert locate_encoder("small") == str(package / "model")
    (tmp_path / "data" / "encoders" / "small").mkdir(parents=True)
    assert locate_encoder("small") == str(tmp_path / "data" / "encoders" / "small")
    # The hub alone has revisions.
    assert locate_encoder("small", "main") == "owner/small"
    (tmp_path / "small").mkdir()
    assert locate_encoder("small") == "small"
    assert locate_encoder("other/name") == "other/name"
