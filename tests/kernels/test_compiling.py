"""The kernels are compiled where there is a compiler, and whatever else is found in their place is not called."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lexitree.kernels import compiling, library

ROOT = Path(__file__).parents[2]

needs_kernels = pytest.mark.skipif(library.why_absent() is not None, reason=str(library.why_absent()))


@pytest.fixture(autouse=True)
def forget_library() -> Iterator[None]:
    def forget() -> None:
        library._load.cache_clear()
        library.find_sentence_writer.cache_clear()

    forget()
    yield
    forget()


def test_an_absent_library_says_how_to_make_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(compiling, "LIBRARY", tmp_path / "none.so")
    assert "python -m lexitree.kernels.compiling" in str(library.why_absent())
    assert library.supported_targets() == ()


def test_a_damaged_library_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.so"
    damaged.write_bytes(b"no library")
    monkeypatch.setattr(compiling, "LIBRARY", damaged)
    assert "cannot be loaded" in str(library.why_absent())


def test_a_variable_switches_them_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEXITREE_KERNELS", "off")
    assert library.why_absent() == "the kernels are switched off (LEXITREE_KERNELS=off)"
    assert library.find_sentence_writer() is None


@needs_kernels
def test_a_library_of_other_sources_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "source_hash", lambda: "others")
    assert "other sources" in str(library.why_absent())


def test_without_a_compiler_the_reason_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", str(tmp_path / "none"))
    with pytest.raises(compiling.CompilerError, match="no C compiler"):
        compiling.compile_library(tmp_path / "library.so")
    monkeypatch.setenv("CC", "false")
    with pytest.raises(compiling.CompilerError, match="failed"):
        compiling.compile_library(tmp_path / "library.so")
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_the_library_is_compiled(tmp_path: Path) -> None:
    if compiling.find_compiler() is None:
        pytest.skip("no C compiler")
    made = ctypes.CDLL(str(compiling.compile_library(tmp_path / "library.so")))
    for target in compiling.targets():
        assert made[f"bottom_up_forward_f32_{target}"]
    assert made["lexitree_write_sentence"]


@needs_kernels
@pytest.mark.parametrize("target", library.supported_targets())
def test_kernels_read_numpy_arrays(target: str) -> None:
    """One tree, (a b): its head vector by the gate, from NumPy arrays alone."""
    rng = np.random.default_rng(0)
    words, gate, bias = rng.normal(size=(2, 5)), rng.normal(size=(5, 10)), rng.normal(size=5)
    x, pairs, z = np.full((3, 5), np.nan), np.full((1, 10), np.nan), np.full((1, 5), np.nan)
    levels, children = np.array([2, 3]), np.array([0, 1])
    library.find_kernels("f64", target).heads_forward(
        *(words, gate, bias, None), *(5, 2, 1, 3), *(levels, children, x, pairs, z)
    )
    share = 1 / (1 + np.exp(-(gate @ words.reshape(-1) + bias)))
    np.testing.assert_allclose(x, [*words, share * words[0] + (1 - share) * words[1]], atol=1e-12)


class TestBuildHook:
    """hatch_build.py: what an installation compiles, and what a wheel is for."""

    @pytest.fixture
    def hook(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        pytest.importorskip("hatchling")
        build = _load(ROOT / "hatch_build.py")
        made = object.__new__(build.AddBuiltFiles)
        self.warnings: list[str] = []
        app = SimpleNamespace(display_warning=self.warnings.append)
        monkeypatch.setattr(build.AddBuiltFiles, "app", app)
        monkeypatch.setattr(build.AddBuiltFiles, "root", str(ROOT))
        self.compiled: list[Path] = []
        self.recipes = build.recipes_in_wheel(ROOT)
        assert self.recipes[str(ROOT / "recipes" / "everyday.toml")] == "lexitree/recipes/everyday.toml"

        def compile_library() -> Path:
            self.compiled.append(compiling.LIBRARY)
            return compiling.LIBRARY

        stand_in = SimpleNamespace(
            compile_library=compile_library, CompilerError=compiling.CompilerError, fails=False
        )
        monkeypatch.setattr(build, "_load_compiling", lambda root: stand_in)
        self.stand_in = stand_in
        monkeypatch.delenv("LEXITREE_NATIVE", raising=False)
        return made

    @pytest.mark.parametrize(("asked", "platform"), [("0", "linux"), ("", "darwin"), ("", "win32")])
    def test_a_pure_wheel_is_for_every_system(
        self, hook: Any, asked: str, platform: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LEXITREE_NATIVE", asked)
        monkeypatch.setattr(sys, "platform", platform)
        data: dict[str, Any] = {"force_include": {}}
        hook.initialize("standard", data)
        assert data == {"force_include": self.recipes}
        assert not self.compiled

    @pytest.mark.parametrize(("asked", "platform"), [("", "linux"), ("1", "darwin")])
    def test_a_wheel_with_kernels_is_for_this_kind_of_system(
        self, hook: Any, asked: str, platform: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LEXITREE_NATIVE", asked)
        monkeypatch.setattr(sys, "platform", platform)
        data: dict[str, Any] = {"force_include": {}}
        hook.initialize("standard", data)
        kernels = {str(compiling.LIBRARY): "lexitree/kernels/_kernels.so"}
        assert data["force_include"] == {**self.recipes, **kernels}
        assert data["tag"].startswith("py3-none-")
        assert data["tag"] != "py3-none-any"

    def test_an_installation_compiles_and_is_complete_without(
        self, hook: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hook.initialize("editable", {"force_include": {}})
        assert self.compiled

        def fail() -> Path:
            raise compiling.CompilerError("there is no C compiler")

        self.stand_in.compile_library = fail
        for version in ("editable", "standard"):
            data: dict[str, Any] = {"force_include": {}}
            hook.initialize(version, data)
            assert data == {"force_include": {} if version == "editable" else self.recipes}
        assert set(self.warnings) <= {"models will run without the kernels: there is no C compiler"}
        assert self.warnings
        monkeypatch.setenv("LEXITREE_NATIVE", "1")
        with pytest.raises(compiling.CompilerError):
            hook.initialize("standard", {"force_include": {}})


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
