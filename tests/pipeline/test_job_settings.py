"""Settings of a job that contradict each other, or its inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.errors import ConfigError
from lexitree.pipeline.inputs import Inputs
from lexitree.pipeline.labelling import LabellingJob
from lexitree.pipeline.workers import LabellerSettings


def test_contradictions_are_found_before_a_model_is_loaded(tmp_path: Path) -> None:
    nowhere = LabellerSettings(tmp_path / "none")
    for settings, problem in (
        ({"format": "json", "prefix": "p_"}, "for a column"),
        ({"nodes": "root", "format": "svg"}, "the format svg shows phrases"),
        ({"nodes": "root", "format": "table", "phrases": True}, "--phrases shows phrases"),
        ({"resume": True}, "can be resumed"),
        ({"head_weights": True, "nodes": "root"}, "which --nodes root does not give"),
    ):
        with pytest.raises(ConfigError, match=problem):
            LabellingJob(Inputs(["a film"]), None, nowhere, **settings).run()
    with pytest.raises(ConfigError, match="--phrases, --jobs are for text"):
        LabellingJob(Inputs(["(_ a)"]), None, nowhere, phrases=True, num_workers=2).run()
