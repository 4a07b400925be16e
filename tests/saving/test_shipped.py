"""Models with packages of their own: found by their entry points, listed, and named where they are missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import lexitree
from lexitree.errors import ModelFileError, PluginError
from lexitree.plugins import GROUPS
from lexitree.saving import shipped
from lexitree.saving.model_folder import locate_model
from lexitree.saving.model_kinds import save_model
from lexitree.saving.pretrained import from_pretrained
from tests.cli.untrained_parser import save_untrained_parser
from tests.command import environment
from tests.installed import install
from tests.saving.test_saved_transformer import make_model
from tests.tiny import tiny_model

NAME, PACKAGE = "sentiment-accurate", "lexitree-sentiment-accurate"
SOURCE = Path(__file__).parents[2] / "packages" / PACKAGE
GROUP = GROUPS["shipped model"]


def install_model(patch: pytest.MonkeyPatch, site: Path, folder: Path) -> None:
    module = PACKAGE.replace("-", "_")
    text = f"from pathlib import Path\nFOLDER = Path({str(folder)!r})\nNAME = 'model'\n"
    points = {NAME: f"{module}:FOLDER", "mine": f"{module}:FOLDER", "wrong": f"{module}:NAME"}
    install(patch, site, PACKAGE, text, {GROUP: points})


@pytest.fixture
def model(shipped_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny model in the place of the real one, as if pip had installed it."""
    save_untrained_parser(shipped_folder / "parser")
    folder = save_model(tiny_model(), tmp_path / "weights")
    install_model(monkeypatch, tmp_path / "site", folder)
    return folder


@pytest.mark.filterwarnings("ignore:.*'wrong' of the package")
def test_a_model_of_another_package_has_a_name(model: Path, tmp_path: Path) -> None:
    assert shipped.shipped_names() == ("parser", NAME, "mine")
    assert locate_model(NAME) == locate_model("mine") == model
    assert lexitree.load("sentiment-accurate")("A film.").label in ("0", "1")
    assert shipped.could_be_model(NAME)
    listed = {each.name: each for each in lexitree.list_shipped()}
    assert (listed[NAME].is_installed, listed[NAME].package) == (True, PACKAGE)
    assert listed[NAME].num_bytes == sum(path.stat().st_size for path in model.iterdir())
    assert listed["parser"].package is None
    with pytest.raises(PluginError, match=f"'wrong' of the package {PACKAGE} .* must be the path of a saved"):
        locate_model("wrong")


def test_a_model_whose_package_is_missing(
    shipped_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shipped.SHIPPED_MODELS, "_installed", dict)
    with pytest.raises(ModelFileError, match=f"{NAME}: has a package of its own, which is not") as caught:
        lexitree.load(NAME)
    assert "the extra transformers" in caught.value.remedy
    assert f"packages/{PACKAGE}" in caught.value.remedy
    (missing,) = lexitree.list_shipped()
    assert (missing.name, missing.is_installed, missing.package) == (NAME, False, PACKAGE)
    assert shipped.shipped_names() == ()
    assert shipped.could_be_model(NAME)
    with pytest.raises(ModelFileError, match="there is no such model") as caught:
        from_pretrained("sentiment-acurate")
    assert f"Did you mean {NAME}?" in caught.value.remedy
    # A folder of that name is a model like any other.
    assert locate_model(save_model(tiny_model(), NAME)) == Path(NAME)


def test_every_package_is_in_the_repository() -> None:
    for name, package in shipped.SEPARATE.items():
        project = tomllib.loads((SOURCE.parent / package / "pyproject.toml").read_text())["project"]
        assert project["name"] == package
        assert name in project["entry-points"][GROUP]
        assert project["dependencies"] == ["lexitree[transformers]>=0.1.0"]


@pytest.mark.slow
def test_the_wheel_of_a_model_labels_a_sentence(encoders: dict[str, Path], tmp_path: Path) -> None:
    """Built, installed and used, each in a process of its own; a tiny model over a transformer has the place of the
    weights."""
    pytest.importorskip("hatchling")
    source, site = tmp_path / PACKAGE, tmp_path / "site"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("model"))
    weights = source / "src" / PACKAGE.replace("-", "_") / "model"
    save_model(make_model(encoders["bert"], with_table=True), weights, table="int8")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    wheels = tmp_path / "wheels"
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", wheels, source], check=True)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", site, wheel], check=True)

    def call(*arguments: str) -> str:
        # Packages that replace `lexitree` come first on the path, where it is not installed itself.
        path = os.pathsep.join([str(site), str(Path(lexitree.__file__).parents[1])])
        command = [sys.executable, "-m", "lexitree", *arguments]
        variables = {**environment(), "PYTHONPATH": path}
        return subprocess.run(
            command, env=variables, capture_output=True, text=True, check=True, cwd=tmp_path
        ).stdout

    (listed,) = [each for each in json.loads(call("models", "--shipped", "--json")) if each["name"] == NAME]
    assert (listed["is_installed"], listed["package"], listed["answers"]) == (True, PACKAGE, ["0", "1"])
    labelled = json.loads(call("predict", "--model", NAME, "The kettle is quiet.", "--format", "json"))
    assert labelled["label"] in ("0", "1")
    assert {path.suffix for path in (site / PACKAGE.replace("-", "_") / "model").rglob("*.*")} == {
        ".json",
        ".md",
        ".safetensors",
    }
