"""`lexitree calibrate` on a table of texts."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from tests.cli import parser_program
from tests.cli.conftest import Call, assert_users_error

PARSER = f"command:{sys.executable} {parser_program.__file__}"


def test_the_temperature_is_shown_and_stored(call: Call, saved_model: Path, tmp_path: Path) -> None:
    model, table = tmp_path / "model", tmp_path / "dev.csv"
    shutil.copytree(saved_model, model)
    rows = [("1", "good"), ("0", "bad"), ("1", "the film is good"), ("0", "the plot is good")] * 8
    table.write_text("label,text\n" + "".join(f"{label},{text}\n" for label, text in rows))
    before = (model / "config.json").read_text()
    options = ("--parser", PARSER, "--rows", 24)
    tried = call("calibrate", model, table, *options, "--dry-run", "--json")
    assert tried.code == 0
    assert (model / "config.json").read_text() == before
    shown = call("calibrate", model, table, *options)
    assert (shown.code, shown.err) == (0, "")
    assert "calibration error before" in shown.out
    stored = json.loads((model / "config.json").read_text())["model"]["temperature"]
    assert stored == json.loads(tried.out)["temperature"]
    assert_users_error(call("calibrate", model, table, *options, "--labels", 3), "cannot answer with 3")
