"""Models with transformers to and from directories: by their weights, or by name and revision."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from lexitree.errors import ConfigError, LexitreeError, MissingExtraError, ModelFileError
from lexitree.learning.optimizer import LazyAdam
from lexitree.lexicon.vocabulary import Vocabulary, count_words
from lexitree.models import transformer
from lexitree.models.catalog import encoder_class
from lexitree.models.classifier import TreeClassifier
from lexitree.models.encoder_files import read_encoder
from lexitree.models.model_config import ModelConfig
from lexitree.models.transformer import TransformerConfig, TransformerLexicon, open_transformer
from lexitree.models.word_table import WordTable
from lexitree.ops.tree_batch import batch_examples
from lexitree.pipeline.predictor import Predictor
from lexitree.saving.model_kinds import save_model
from lexitree.saving.packing import pack_model
from lexitree.saving.pretrained import from_pretrained
from lexitree.saving.quantized import bytes_from_rows, rows_from_bytes
from lexitree.tasks.classify.recipe import TrainingConfig
from lexitree.tasks.classify.steps import PlainStep
from tests.command import files_of
from tests.saving.edited_models import edit_config, seal
from tests.tiny import LABELS, tiny_trees
from tests.tiny_encoders import KINDS

EMBEDDINGS = "embeddings.word_embeddings.weight"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def make_model(
    encoder: Path | str, name: str = "bicontree", *, with_table: bool = False, **settings: Any
) -> TreeClassifier:
    torch.manual_seed(3)
    table = WordTable.random(Vocabulary.from_trees(tiny_trees(60)), 5) if with_table else None
    config = TransformerConfig(name=str(encoder), **settings)
    lexicon = open_transformer(config, table=table, unit=encoder_class(name).reads)
    sizes = ModelConfig(model=name, labels=LABELS, hidden=6, output=5, word_size=lexicon.word_size)
    return TreeClassifier(sizes, lexicon).eval()


def trained(model: TreeClassifier, encoder_rate: float = 1e-2) -> TreeClassifier:
    step = PlainStep(model, LazyAdam(model, TrainingConfig(encoder_rate=encoder_rate)))
    model.train()
    torch.manual_seed(4)
    step(model.prepare(tiny_trees(5)))
    return model.eval()


def answers(model: TreeClassifier) -> list[bytes]:
    return [found.node_probabilities.tobytes() for found in Predictor(model).predict_all(tiny_trees(6))]


def lexicon_of(model: TreeClassifier) -> TransformerLexicon:
    assert isinstance(model.lexicon, TransformerLexicon)
    return model.lexicon


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("bicontree", {}),
        ("contree-lex", {"with_table": True}),
        ("contree", {"layers": "mix"}),
        ("pooled", {}),
    ],
)
@pytest.mark.parametrize("rate", [1e-2, 0.0])
def test_what_is_read_back_says_the_same(
    encoders: dict[str, Path], tmp_path: Path, kind: str, name: str, settings: dict[str, Any], rate: float
) -> None:
    model = trained(make_model(encoders[kind], name, **settings), rate)
    folder = save_model(model, tmp_path / "model")
    loaded = from_pretrained(folder)
    assert answers(loaded) == answers(model)
    assert loaded.state_dict().keys() == model.state_dict().keys()
    assert lexicon_of(loaded).was_trained is (rate > 0)
    assert lexicon_of(loaded).is_frozen is (rate == 0)
    again = save_model(loaded, tmp_path / "again")
    assert {**files_of(again)} == files_of(folder)
    # A parameter that has two names in the transformer is still one.
    assert len([*loaded.parameters()]) == len([*model.parameters()])
    card = (folder / "README.md").read_text()
    assert f"tiny-{kind}, " + ("trained with the model" if rate else "not trained further") in card


def test_where_the_transformer_lay_is_not_told(encoders: dict[str, Path], tmp_path: Path) -> None:
    folder = save_model(make_model(encoders["bert"]), tmp_path / "model")
    for path in folder.rglob("*.json"):
        assert str(encoders["bert"].parent) not in path.read_text(), path
    assert json.loads((folder / "config.json").read_text())["encoder"]["name"] == "tiny-bert"


def test_training_goes_on_from_what_was_read(encoders: dict[str, Path], tmp_path: Path) -> None:
    model = trained(make_model(encoders["t5"], with_table=True))
    loaded = from_pretrained(save_model(model, tmp_path / "model"))
    first, second = trained(model).state_dict(), trained(loaded).state_dict()
    for name, weight in first.items():
        torch.testing.assert_close(second[name], weight, rtol=1e-5, atol=1e-6, msg=name)


@pytest.mark.parametrize("form", ["float16", "int8"])
@pytest.mark.parametrize("with_table", [False, True])
def test_short_forms(encoders: dict[str, Path], tmp_path: Path, form: Any, with_table: bool) -> None:
    model = trained(make_model(encoders["bert"], with_table=with_table))
    whole, short = (save_model(model, tmp_path / name, table=name) for name in ("float32", form))
    sizes = [sum(path.stat().st_size for path in folder.rglob("*.safetensors")) for folder in (whole, short)]
    assert sizes[1] < 0.7 * sizes[0]
    loaded = from_pretrained(short)
    assert {weight.dtype for weight in loaded.parameters()} == {torch.float32}
    batch = batch_examples(model.prepare(tiny_trees(6)))
    with torch.no_grad():
        torch.testing.assert_close(loaded(batch), model(batch), rtol=0.05, atol=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_one_byte_per_number_of_a_transformer(encoders: dict[str, Path], tmp_path: Path, kind: str) -> None:
    model = trained(make_model(encoders[kind], with_table=True))
    folder = save_model(model, tmp_path / "model", table="int8")
    stored = load_file(folder / "encoder" / "quantized.safetensors")
    before, after = (lexicon_of(each).encoder.state_dict() for each in (model, from_pretrained(folder)))
    assert before.keys() == after.keys()
    for name, weight in before.items():
        is_matrix = weight.ndim == 2
        expected = rows_from_bytes(*bytes_from_rows(weight)) if is_matrix else weight.half().float()
        assert torch.equal(after[name], expected), name
        if name in stored:
            assert stored[name].dtype == (torch.int8 if is_matrix else torch.float16), name
    # Written again, nothing is lost; and nothing is there that other programs would read as plain weights.
    again = save_model(from_pretrained(folder), tmp_path / "again", table="int8")
    assert files_of(again) == files_of(folder)
    assert not (folder / "encoder" / "model.safetensors").exists()
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in (folder / "encoder").iterdir())


def test_one_byte_per_number_changes_no_label(encoders: dict[str, Path], tmp_path: Path) -> None:
    model = make_model(encoders["bert"], with_table=True)
    step = PlainStep(model, LazyAdam(model, TrainingConfig(encoder_rate=1e-3, learning_rate=1e-2)))
    for _ in range(30):
        step(model.prepare(tiny_trees(20)))
    loaded = from_pretrained(save_model(model, tmp_path / "model", table="int8"))
    trees = tiny_trees(40)
    sure = [found.node_probabilities for found in Predictor(model).predict_all(trees)]
    rounded = [found.node_probabilities for found in Predictor(loaded).predict_all(trees)]
    assert {int(each[0].argmax()) for each in sure} == {0, 1}
    for expected, found in zip(sure, rounded, strict=True):
        assert expected.argmax(1).tolist() == found.argmax(1).tolist()


def test_another_precision_is_kept(encoders: dict[str, Path], tmp_path: Path) -> None:
    model = make_model(encoders["bert"]).double()
    loaded = from_pretrained(save_model(model, tmp_path / "model"))
    assert {weight.dtype for weight in loaded.parameters()} == {torch.float64}
    assert answers(loaded) == answers(model)


@pytest.fixture
def hub(encoders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """A hub that has the small BERT as `owner/small`; what it was asked for."""
    asked: list[tuple[str, str | None]] = []

    def read(name: str, revision: str | None = None) -> Any:
        if name != "owner/small":
            return read_encoder(name, revision)
        asked.append((name, revision))
        encoder, tokenizer = read_encoder(str(encoders["bert"]))
        encoder.config._commit_hash = COMMIT
        return encoder, tokenizer

    monkeypatch.setattr(transformer, "read_encoder", read)
    return asked


def test_frozen_ones_of_the_hub_are_saved_by_name(hub: list[Any], tmp_path: Path) -> None:
    model = trained(make_model("owner/small", revision="main", layers="mix"), 0.0)
    folder = save_model(model, tmp_path / "model")
    assert not (folder / "encoder").exists()
    values = json.loads((folder / "config.json").read_text())["encoder"]
    assert (values["name"], values["revision"]) == ("owner/small", COMMIT)
    loaded = from_pretrained(folder)
    assert hub == [("owner/small", "main"), ("owner/small", COMMIT)]
    assert answers(loaded) == answers(model)
    again = save_model(loaded, tmp_path / "again")
    assert files_of(again) == files_of(folder)
    assert f"owner/small, revision {COMMIT}, not trained further" in (folder / "README.md").read_text()


def test_trained_ones_of_the_hub_are_saved_whole_for_good(hub: list[Any], tmp_path: Path) -> None:
    """Frozen later on, they are still not what the hub has under their name."""
    model = trained(make_model("owner/small"))
    first = save_model(model, tmp_path / "first")
    loaded = from_pretrained(first)
    second = save_model(trained(loaded, 0.0), tmp_path / "second")
    assert (second / "encoder" / "model.safetensors").exists()
    assert len(hub) == 1
    assert answers(from_pretrained(second)) == answers(loaded)
    name = json.loads((second / "config.json").read_text())["encoder"]["name"]
    assert name == "owner/small"


def test_a_branch_is_no_fixed_commit(hub: list[Any], tmp_path: Path) -> None:
    model = trained(make_model("owner/small"), 0.0)
    lexicon = lexicon_of(model)
    lexicon.config = TransformerConfig(name="owner/small", revision="main")
    assert (save_model(model, tmp_path / "model") / "encoder").is_dir()


@pytest.fixture
def saved(encoders: dict[str, Path], tmp_path: Path) -> Path:
    return save_model(trained(make_model(encoders["bert"])), tmp_path / "model")


def test_a_trained_transformer_that_is_gone_is_not_replaced(saved: Path) -> None:
    shutil.rmtree(saved / "encoder")
    with pytest.raises(ModelFileError, match="encoder: is missing"):
        from_pretrained(saved)


def edit_encoder(folder: Path, change: object) -> None:
    def edit(values: dict[str, Any]) -> None:
        values["encoder"] = {**values["encoder"], **change} if isinstance(change, dict) else change

    edit_config(folder, edit)


@pytest.mark.parametrize(
    "change",
    ["bert", 3, ["bert"], {"colour": 1}, {"layers": 7}, {"name": None}, {"layers": "mix"}, {"revision": 1.5}],
)
def test_a_damaged_description(saved: Path, change: object) -> None:
    edit_encoder(saved, change)
    with pytest.raises(ModelFileError, match="model"):
        from_pretrained(saved)


@pytest.mark.parametrize("name", ["config.json", "quantized.safetensors", "tokenizer.json"])
def test_a_damaged_transformer_in_int8(saved: Path, tmp_path: Path, name: str) -> None:
    folder = save_model(from_pretrained(saved), tmp_path / "short", table="int8")
    path = folder / "encoder" / name
    content = path.read_bytes()
    path.write_bytes(content[:-50])
    with pytest.raises(ModelFileError, match=f"{name}: is damaged, cut off or from another model"):
        from_pretrained(folder)
    seal(folder)
    with pytest.raises(ModelFileError, match=r"is damaged or cut off|its transformer cannot be read"):
        from_pretrained(folder)
    path.unlink()
    with pytest.raises(ModelFileError, match=f"{name}: is missing"):
        from_pretrained(folder)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda tensors: tensors.pop(EMBEDDINGS + ".scale"), "has no scale for each of its rows"),
        (
            lambda tensors: tensors.update({EMBEDDINGS: tensors[EMBEDDINGS].float()}),
            "must be float16, or int8",
        ),
        (lambda tensors: (tensors.pop(EMBEDDINGS), tensors.pop(EMBEDDINGS + ".scale")), "lacks weights"),
        (lambda tensors: tensors.update({EMBEDDINGS: tensors[EMBEDDINGS][:, :3]}), "cannot be read"),
    ],
)
def test_weights_in_int8_that_do_not_fit(saved: Path, tmp_path: Path, change: Any, problem: str) -> None:
    folder = save_model(from_pretrained(saved), tmp_path / "short", table="int8")
    path = folder / "encoder" / "quantized.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)
    seal(folder)
    with pytest.raises(ModelFileError, match=problem):
        from_pretrained(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_damaged_transformer(saved: Path, name: str) -> None:
    path = saved / "encoder" / name
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ModelFileError, match=f"{name}: is damaged, cut off or from another model"):
        from_pretrained(saved)
    seal(saved)
    with pytest.raises(ModelFileError, match="its transformer cannot be read"):
        from_pretrained(saved)


def test_a_transformer_of_an_older_version_has_no_checksums(saved: Path) -> None:
    def forget(values: dict[str, Any]) -> None:
        del values["checksum"]
        for name in [name for name in values["checksums"] if name.startswith("encoder/")]:
            del values["checksums"][name]

    before = answers(from_pretrained(saved))
    edit_config(saved, forget)
    assert answers(from_pretrained(saved)) == before


@pytest.mark.parametrize(
    "change",
    [
        {"name": "/etc/passwd"},
        {"name": "/etc/passwd", "revision": COMMIT},
        {"name": "../somewhere", "revision": COMMIT},
        {"name": "owner/../../etc", "revision": COMMIT},
        {"name": "owner/..", "revision": COMMIT},
        {"name": "./owner", "revision": COMMIT},
        {"name": "~/encoder", "revision": COMMIT},
        {"name": "file:///etc", "revision": COMMIT},
        {"name": "owner/small"},
        {"name": "owner/small", "revision": "main"},
        {"name": "owner/small\n", "revision": COMMIT},
        {"name": "own/encoder", "revision": COMMIT},
        {"name": "minilm"},
        {"name": "bert"},
    ],
)
def test_a_saved_model_names_no_directory_of_this_machine(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str]
) -> None:
    """Not even by a name that could be the hub's but is that of a directory here."""
    monkeypatch.chdir(tmp_path)
    for name in ("own/encoder", "minilm"):
        (tmp_path / name).mkdir(parents=True)
    edit_encoder(saved, {"revision": None, **change, "saved": False})
    monkeypatch.setattr(transformer, "read_encoder", lambda *_: pytest.fail("it was opened"))
    with pytest.raises(ModelFileError, match="names a transformer that a saved model cannot have"):
        from_pretrained(saved)


def test_a_transformer_of_another_size(saved: Path, encoders: dict[str, Path], tmp_path: Path) -> None:
    from tests.tiny_encoders import write_encoder

    shutil.rmtree(saved / "encoder")
    write_encoder(saved / "encoder", "bert", hidden_size=8)
    seal(saved)
    with pytest.raises(ModelFileError, match="the word vectors have 8 dimensions"):
        from_pretrained(saved)


def test_a_missing_library_is_named(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"\[transformers\]"):
        from_pretrained(saved)


def test_other_content_is_left_alone(saved: Path, encoders: dict[str, Path]) -> None:
    (saved / "notes.txt").write_text("mine")
    with pytest.raises(LexitreeError, match=r"holds other things than a classifier: notes\.txt"):
        save_model(make_model(encoders["bert"]), saved)


def test_a_transformer_alone_has_no_words_to_change(encoders: dict[str, Path]) -> None:
    with pytest.raises(ConfigError, match="no table of words of its own"):
        pack_model(make_model(encoders["bert"]), {"the": 1})


def test_the_words_beside_a_transformer_are_packed(encoders: dict[str, Path], tmp_path: Path) -> None:
    model = trained(make_model(encoders["bert"], with_table=True))
    before, old = answers(model), lexicon_of(model).table
    assert old is not None
    packed = pack_model(model, count_words(tiny_trees(60)))
    assert answers(model) == before
    assert (packed.num_words, packed.num_added, packed.similarity) == (len(old.vocabulary), 0, None)
    few = pack_model(model, count_words(tiny_trees(60)), num_words=4)
    table = lexicon_of(model).table
    assert table is not None
    assert few.num_words == len(table.vocabulary) == 4
    assert table.guesser is None
    assert answers(from_pretrained(save_model(model, tmp_path / "model"))) == answers(model)


def test_head_words_and_their_weights(encoders: dict[str, Path]) -> None:
    predictor = Predictor(trained(make_model(encoders["roberta"])))
    (prediction,) = predictor.predict_all(tiny_trees(1))
    assert prediction.head() in prediction.source.words
    assert prediction.head_weights() == pytest.approx(prediction.head_weights())
    assert sum(prediction.head_weights() or ()) == pytest.approx(1, abs=1e-4)
    assert "<svg" in prediction.svg()
    assert "<" in prediction._repr_html_()


def test_predictions_do_not_depend_on_the_batch(encoders: dict[str, Path]) -> None:
    for name in ("bicontree", "pooled"):
        predictor = Predictor(make_model(encoders["bert"], name))
        trees = tiny_trees(12)
        together = [found.node_probabilities for found in predictor.predict_all(trees)]
        for tree, expected in zip(trees, together, strict=True):
            np.testing.assert_allclose(predictor.predict(tree).node_probabilities, expected, atol=1e-5)
            (root,) = predictor.predict(tree, nodes="root").node_probabilities
            np.testing.assert_allclose(root, expected[0], atol=1e-5)


def test_head_weights_do_not_depend_on_training(encoders: dict[str, Path]) -> None:
    """A transformer drops states out by itself, in training."""
    model = trained(make_model(encoders["bert"]))
    prediction = Predictor(model).predict(tiny_trees(6)[5])
    expected = prediction.head_weights()
    for _ in range(2):
        model.train()
        # Asked about a tree that is not remembered.
        again = Predictor(model).predict(tiny_trees(6)[5])
        assert model.training
        assert again.head_weights() == expected
        assert model.training
