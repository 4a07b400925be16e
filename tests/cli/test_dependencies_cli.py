"""`lexitree` on dependency trees: evaluate, predict in every form, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Call, assert_users_error


def test_a_model_of_dependency_trees(
    call: Call, dependency_run: Path, dependency_bank: Path, tmp_path: Path
) -> None:
    model = str(dependency_run / "model")
    scored = json.loads(call("evaluate", model, str(dependency_bank), "--json").out)
    assert scored["root"]["accuracy"] >= 0.9
    (tmp_path / "a.toks").write_text("the film is good\n")
    (tmp_path / "a.dparents").write_text("2 3 0 3\n")
    drawn = call("predict", model, str(tmp_path / "a.toks"), "--format", "draw").out
    assert [line.split()[-1] for line in drawn.splitlines() if line.strip()] == ["is", "film", "the", "good"]
    line = json.loads(call("predict", model, str(tmp_path / "a.toks")).out)
    assert line["label"] == "1"
    assert line["parents"] == [1, 2, -1, 2]
    (tmp_path / "b.txt").write_text("(_ (_ good) (_ film))\n")
    assert_users_error(call("predict", model, str(tmp_path / "b.txt")), "reads dependency trees")
    assert_users_error(
        call("predict", model, str(tmp_path / "a.toks"), "--format", "brackets"),
        "cannot be written in brackets",
    )
