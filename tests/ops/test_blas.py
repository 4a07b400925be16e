"""One BLAS thread where NumPy does the products, and the setting of the process afterwards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import ThreadpoolController

from lexitree.ops.numpy import blas

CONTROLLER = ThreadpoolController().select(user_api="blas")
pytestmark = pytest.mark.skipif(not CONTROLLER.info(), reason="no BLAS whose threads can be set")


def num_threads() -> set[int]:
    return {each["num_threads"] for each in CONTROLLER.info()}


def test_there_is_one_thread_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "why_absent", lambda: "not compiled")
    with CONTROLLER.limit(limits=2):
        with blas.one_blas_thread(), blas.one_blas_thread():
            assert num_threads() == {1}
        assert num_threads() == {2}


def test_nothing_changes_beside_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "why_absent", lambda: None)
    with CONTROLLER.limit(limits=2), blas.one_blas_thread():
        assert num_threads() == {2}


def test_it_holds_in_every_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "why_absent", lambda: "not compiled")

    def enter(_: int) -> set[int]:
        with blas.one_blas_thread():
            return num_threads()

    with ThreadPoolExecutor(1) as threads:
        assert list(threads.map(enter, range(3))) == [{1}] * 3
