"""C reads and writes inside the arrays that it is given: right sizes run clean under AddressSanitizer, wrong ones are refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lexitree.errors import SizeError
from lexitree.kernels import compiling, library

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(library.why_absent() is not None, reason=str(library.why_absent()))


def call_every_kernel(compiled: Path, **variables: str) -> str:
    command = [sys.executable, "-m", "tests.kernels.every_kernel", str(compiled)]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "JAXTYPING_DISABLE": "1", **variables},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_right_sizes_run_and_wrong_ones_are_refused() -> None:
    assert "refused" in call_every_kernel(compiling.LIBRARY)


def find_sanitizer() -> str:
    """The library of AddressSanitizer, which must be loaded before all others; empty without gcc or without it."""
    try:
        asked = ["gcc", "-print-file-name=libasan.so"]
        found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
    return found if Path(found).is_absolute() and Path(found).exists() else ""


@pytest.mark.slow
def test_no_kernel_reads_or_writes_outside_of_its_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sanitizer = find_sanitizer()
    if not sanitizer:
        pytest.skip("gcc or its libasan is not installed")
    monkeypatch.setenv("CC", "gcc -fsanitize=address -g")
    # Not optimized, every access stays where it was written, and compiling takes seconds instead of minutes.
    monkeypatch.setattr(compiling, "FLAGS", [flag for flag in compiling.FLAGS if flag != "-O3"])
    compiled = compiling.compile_library(tmp_path / "sanitized.so")
    variables = {
        "LD_PRELOAD": sanitizer,
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=99",
    }
    assert "refused" in call_every_kernel(compiled, **variables)
    # The check of this test: the same library does notice a number too many.
    kernel = f"dense_forward_f32_{library.supported_targets()[0]}"
    program = f"import ctypes; run = ctypes.CDLL({str(compiled)!r}).{kernel}; room = ctypes.create_string_buffer(64)\n"
    program += "run(room, room, *map(ctypes.c_int64, (1, 1, 16, 0)), room)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "AddressSanitizer: heap-buffer-overflow" in done.stderr


def test_errors_name_both_sizes() -> None:
    kernels = library.find_kernels("f32")
    weight, bias, packed = np.zeros((3, 5), np.float32), np.zeros(3, np.float32), np.zeros(96, np.float32)
    kernels.dense_pack(weight, bias, 5, 3, packed)
    with pytest.raises(SizeError, match=r"'weight' of the kernel dense_pack .*\[3, 5\], .*\[3, 6\]"):
        kernels.dense_pack(weight, bias, 6, 3, packed)
    with pytest.raises(SizeError, match=r"'weight' .* type float64, and the kernel reads float32"):
        kernels.dense_pack(weight.astype(np.float64), bias, 5, 3, packed)
    with pytest.raises(SizeError, match=r"'weight' .* its rows one after the other"):
        kernels.dense_pack(np.zeros((5, 3), np.float32).T, bias, 5, 3, packed)
    with pytest.raises(SizeError, match=r"'weight' .* missing"):
        kernels.dense_pack(None, bias, 5, 3, packed)


def test_indices_beyond_their_sizes_are_refused() -> None:
    kernels = library.find_kernels("f32")
    words, gate = np.zeros((2, 5), np.float32), np.zeros((5, 10), np.float32)
    made = [np.zeros(shape, np.float32) for shape in ((3, 5), (1, 10), (1, 5))]
    for levels, children in (([2, 3], [0, 3]), ([2, 3], [-1, 1]), ([2, 9], [0, 1]), ([0, 3], [0, 1])):
        indices = np.array(levels), np.array(children)
        with pytest.raises(SizeError, match=r"kernel heads_forward .* nodes 3\): 'level_offset' from"):
            kernels.heads_forward(words, gate, gate[:, 0].copy(), None, 5, 2, 1, 3, *indices, *made)
