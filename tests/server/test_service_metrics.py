"""Metrics of several processes are summed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
from lexitree.server.service_metrics import ServiceMetrics
metrics = ServiceMetrics()
metrics.request_done("/v1/label", 200, 0.01)
metrics.shed("queue full")
print(metrics.page().decode())
"""


@pytest.mark.slow
def test_processes_are_summed(tmp_path: Path) -> None:
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    command = [sys.executable, "-c", _PROGRAM]
    pages = [
        subprocess.run(command, env=environment, capture_output=True, text=True).stdout for _ in range(2)
    ]
    for number, page in enumerate(pages, 1):
        assert f'lexitree_requests_total{{route="/v1/label",status="200"}} {number}.0' in page
        assert f'lexitree_shed_total{{reason="queue full"}} {number}.0' in page
