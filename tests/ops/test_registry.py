"""Backends are chosen by name, device and what is installed, and a wrong choice says what to do."""

from __future__ import annotations

import importlib.util

import pytest
import torch

from lexitree.errors import BackendError
from lexitree.ops import registry
from lexitree.ops.registry import LEVELWISE, REFERENCE, check_backend, get_backend, why_not_fused


def test_backends_by_name() -> None:
    assert get_backend("reference") is REFERENCE
    assert get_backend("levelwise") is LEVELWISE
    assert get_backend("auto") is LEVELWISE
    assert get_backend("reference", "cuda") is REFERENCE


def test_unknown_backend_names_the_known_ones() -> None:
    with pytest.raises(BackendError, match="quantum") as error:
        get_backend("quantum")
    assert "levelwise" in str(error.value)
    with pytest.raises(BackendError, match="quantum"):
        check_backend("quantum")


def test_fused_needs_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_is_interpreted", lambda: False)
    with pytest.raises(BackendError, match=r"cannot run: .*(CUDA|Triton)"):
        get_backend("fused", "cpu")


def test_fused_computes_in_no_other_precision() -> None:
    assert why_not_fused("cuda", torch.float64) is not None


def test_without_triton_auto_is_level_wise_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        registry.importlib.util, "find_spec", lambda name: None if name == "triton" else find(name)
    )
    registry._report_fallback.cache_clear()
    with pytest.warns(UserWarning, match=r"level-wise backend runs on this GPU.*Triton is not installed"):
        assert get_backend("auto", "cuda") is LEVELWISE
    with pytest.raises(BackendError, match="Triton is not installed"):
        get_backend("fused", "cuda")


@pytest.mark.parametrize(
    ("triton", "capability", "obstacle"),
    [("3.2.0", (9, 0), "Triton 3.2.0"), ("3.6.0", (7, 5), "matrix units"), ("3.3.0", (8, 0), None)],
)
def test_old_triton_and_old_gpus_are_told(
    monkeypatch: pytest.MonkeyPatch, triton: str, capability: tuple[int, int], obstacle: str | None
) -> None:
    monkeypatch.setattr(registry.importlib.metadata, "version", lambda _: triton)
    monkeypatch.setattr(registry.importlib.util, "find_spec", lambda _: object())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "an old GPU")
    registry._why_not_on_this_gpu.cache_clear()
    found = why_not_fused("cuda", torch.float32)
    registry._why_not_on_this_gpu.cache_clear()
    assert found is None if obstacle is None else found is not None and obstacle in found
