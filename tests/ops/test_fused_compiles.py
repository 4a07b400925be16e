"""The fused kernels compile for the GPUs they are meant for, which needs a compiler but no GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="needs Triton")

NUM_KERNELS = 7


@pytest.mark.slow
@pytest.mark.parametrize(("capability", "precision"), [("80", "tf32x3"), ("90", "tf32x3"), ("90", "tf32")])
def test_every_kernel_compiles(capability: str, precision: str) -> None:
    # In a process of its own: in this one Triton interprets.
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    program = Path(__file__).parent / "compile_kernels.py"
    command = [sys.executable, str(program), capability, precision]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    sizes = [int(line.split()[1]) for line in done.stdout.splitlines()]
    assert len(sizes) == NUM_KERNELS
    assert all(sizes)
