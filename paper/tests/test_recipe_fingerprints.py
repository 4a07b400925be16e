"""Recipes, runs and grids train what they trained when their fingerprints were taken."""

from __future__ import annotations

import json

from recipe_fingerprints import STORED, all_fingerprints


def test_every_recipe_run_and_trial_has_its_settings() -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    found = all_fingerprints()
    assert {name: found.get(name) for name in stored} == stored
