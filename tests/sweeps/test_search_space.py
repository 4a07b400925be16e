"""What a search space may say, and where it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.errors import ConfigError, FileError, SpaceError
from lexitree.sweeps.search_space import DEFAULT_TRIALS, Range, read_space
from lexitree.tasks.classify.recipe import Recipe
from tests.sweeps.fake_trials import write_space


def test_it_reads_ranges_and_choices(tmp_path: Path) -> None:
    space = write_space(
        tmp_path,
        '[space]\n"training.learning_rate" = { low = 1e-4, high = 1e-2, log = true }\n'
        "model.dropout = [0.2, 0.3]\ntraining.batch_size = { low = 10, high = 50, step = 5 }\n"
        'teacher_trees = [[], ["a.txt"]]\n',
    )
    assert space.parameters["training.learning_rate"].values == Range(low=1e-4, high=1e-2, log=True)
    assert space.parameters["model.dropout"].values == (0.2, 0.3)
    assert [name for name, each in space.parameters.items() if each.is_whole] == ["training.batch_size"]
    assert space.points is None
    assert space.num_trials == DEFAULT_TRIALS


def test_a_grid_has_every_combination(tmp_path: Path) -> None:
    text = '[sweep]\nsampler = "grid"\n[space]\nmodel.dropout = [0.2, 0.3]\ntraining.epochs = [1, 2, 3]\n'
    space = write_space(tmp_path, text)
    assert space.num_trials == 6
    assert space.points is not None
    assert space.points[1] == {"model.dropout": 0.2, "training.epochs": 2}
    assert write_space(tmp_path, text, trials=4).num_trials == 4


def test_variants_are_trials_by_name(tmp_path: Path) -> None:
    space = write_space(
        tmp_path, '[variants.paper]\n[variants.wide]\nmodel = { hidden = 300 }\n"training.epochs" = 3\n'
    )
    assert space.points == [{"variant": "paper"}, {"variant": "wide"}]
    assert space.settings_of({"variant": "wide"}) == {"model.hidden": 300, "training.epochs": 3}
    assert space.settings_of({"variant": "paper"}) == {}


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('[space]\n\n"training.lerning_rate" = [1]\n', 3, "Did you mean learning_rate"),
        ("[space]\ndropout = [0.1]\n", 2, "Did you mean model.dropout"),
        ("[space]\nmodel.dropot = [0.1]\n", 2, "Did you mean dropout"),
        ("[space]\nmodel.labels = [0]\n", 2, "unknown setting: labels"),
        ("# dropout\n[space]\nmodel.hidden = [10]\nmodel.dropout = [0.1, 1.5]\n", 4, "must be at least 0"),
        ("[space]\ntraining.epochs = { low = 1, hihg = 3 }\n", 2, "Did you mean high"),
        ("[space]\ntraining.epochs = { low = 3, high = 1 }\n", 2, "must be below high"),
        ("[space]\ntraining.epochs = { low = 1, high = 2.5 }\n", 2, "takes whole numbers"),
        ("[space]\ntraining.decay = { low = 0, high = 0.1, log = true }\n", 2, "begins above 0"),
        ("[space]\ncorpus = { low = 0, high = 1 }\n", 2, "it has no range"),
        ("[space]\ntraining.epochs = 3\n", 2, "a list of choices or a range"),
        ("[space]\ntraining.epochs = [3, 3]\n", 2, "the same choice twice"),
        (
            '[sweep]\nsampler = "grid"\n[space]\nmodel.dropout = { low = 0, high = 0.5 }\n',
            4,
            "a grid needs choices",
        ),
        ('[sweep]\nsampler = "gird"\n[space]\nmodel.dropout = [0]\n', 1, "one of tpe, random, grid"),
        ("[sweep]\ntrails = 3\n[space]\nmodel.dropout = [0]\n", 1, "Did you mean trials"),
        ("[sweep]\nseeds = []\n[space]\nmodel.dropout = [0]\n", 1, "at least one seed"),
        ("[spaces]\nmodel.dropout = [0]\n", 0, "Did you mean space"),
        ("[variants.a]\n[variants.b]\nmodel = { hiden = 3 }\n", 3, "Did you mean hidden"),
        ('[variants.b]\nteacher_trees = ["a"]\n', 1, "no teacher"),
        ("[variants]\na = 3\n", 0, "must be a table"),
        ("", 0, "neither"),
        ("[space]\nmodel.dropout = [0]\n[variants.a]\n", 0, "both"),
    ],
)
def test_errors_name_the_line(text: str, line: int, said: str, tmp_path: Path) -> None:
    with pytest.raises(SpaceError) as raised:
        write_space(tmp_path, text)
    assert said in str(raised.value)
    assert str(raised.value.place) == str(tmp_path / "space.toml") + (f":{line}" if line else "")


def test_other_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="trials must be"):
        write_space(tmp_path, trials=-1)
    with pytest.raises(FileError, match="not a TOML file"):
        write_space(tmp_path, "[space")
    with pytest.raises(FileError, match="cannot be read"):
        read_space(tmp_path / "none.toml", Recipe())
