"""Every grid under paper/recipes/tuning begins with the commands that sweep over it, and with their records."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.test_results import load_script
from typer.testing import CliRunner

from lexitree.cli.main import make_app
from lexitree.sweeps.search_space import SearchSpace
from lexitree_paper.rows import read_recipe
from lexitree_paper.run_records import read_record

ROOT = Path(__file__).parents[2]
GRIDS = sorted((ROOT / "paper" / "recipes" / "tuning").glob("*.toml"))


def sweeps_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The commands of a grid, with the records of the scores that stand below each."""
    sweeps: dict[str, list[dict[str, Any]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, _, text = line.removeprefix("# ").partition(": ")
        if name == "Run":
            sweeps[text] = []
        elif name == "Scores":
            record = read_record(ROOT / "paper" / "results", text)
            assert record is not None
            sweeps[[*sweeps][-1]].append(record)
    return sweeps


@pytest.mark.parametrize("path", GRIDS, ids=lambda path: path.stem)
def test_its_commands_sweep_over_its_variants(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them are recipes, and those that are on record are still there."""
    planned: list[SearchSpace] = []
    monkeypatch.setattr(
        "lexitree.cli.sweep_runs.run_sweep", lambda recipe, space, *_, **__: planned.append(space)
    )
    monkeypatch.setattr("lexitree.ops.devices.choose_device", lambda name: name)
    monkeypatch.setattr("lexitree.tasks.classify.recipe.find_recipe", lambda name: read_recipe(str(name)))
    monkeypatch.chdir(ROOT)
    commands = sweeps_of(path)
    assert commands
    for command, records in commands.items():
        program, *arguments = shlex.split(command)
        assert (program, arguments[0], ROOT / arguments[2]) == ("lexitree", "sweep", path)
        result = CliRunner().invoke(make_app(["sweep"]), arguments, env={"LEXITREE_DATA": ""})
        assert result.exit_code == 0, result.output
        for record in records:
            if "grid" in record:
                # Records of former commands have the variants of several recipes.
                variants = record["grid"][Path(arguments[1]).stem]
            else:
                assert load_script("result_records").current_command(record["command"]) == command
                variants = record["space"]["variants"]
            assert set(planned[-1].variants) == set(variants)
