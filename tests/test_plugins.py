"""The registries: what is built in, registered and installed, and which package an error comes from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lexitree.errors import ConfigError, PluginError
from lexitree.plugins import GROUPS, Registry, Source, blame, register
from tests.installed import install

GROUP = GROUPS["teacher"]
SOURCE = "import sys\ndef works(): return 1\nnumber = 7\ndef fails(): raise ValueError(works())\n"


class Wrong:
    """Nothing that any registry would have."""


def admit(name: str, value: Any, source: Source) -> Any:
    if not callable(value):
        raise TypeError("must be a function")
    return value


@pytest.fixture
def registry() -> Registry[Any]:
    return Registry("teacher", {"own": len}, admit)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = {"good": "some_plugin:works", "number": "some_plugin:number", "twice": "some_plugin:works"}
    install(monkeypatch, tmp_path / "a", "some-plugin", SOURCE, {GROUP: points})
    points = {"twice": "broken_plugin:works", "broken": "broken_plugin:works", "own": "broken_plugin:works"}
    points["nothing"] = "?"
    install(monkeypatch, tmp_path / "b", "broken-plugin", "import absent_module", {GROUP: points})
    yield
    sys.modules.pop("some_plugin", None)


@pytest.mark.usefixtures("installed")
@pytest.mark.filterwarnings("ignore:the package broken-plugin")
def test_packages_are_listed_without_being_imported_and_loaded_when_asked_for(
    registry: Registry[Any],
) -> None:
    assert list(registry) == ["own", *(name for name in registry if name != "own")]
    assert set(registry) == {"own", "good", "number", "twice", "broken", "nothing"}
    assert "good" in registry
    assert len(registry) == 6
    assert "some_plugin" not in sys.modules
    assert registry["good"]() == 1
    assert registry["good"] is registry["good"]
    assert registry.source("good") == Source("some_plugin", "some-plugin", "0.1")
    assert registry.source("own") is registry.source("absent") is None
    with pytest.raises(KeyError):
        registry["absent"]
    with pytest.raises(ConfigError, match="unknown teacher 'goood'") as caught:
        registry.find("goood")
    assert "Did you mean good?" in caught.value.remedy


@pytest.mark.usefixtures("installed")
@pytest.mark.filterwarnings("ignore:the package broken-plugin")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("broken", r"'broken' of the package broken-plugin 0\.1 cannot be imported .*absent_module"),
        ("nothing", r"'nothing' of the package broken-plugin 0\.1 cannot be imported"),
        ("number", r"'number' of the package some-plugin 0\.1 must be a function"),
        ("twice", r"claimed by the package .* 0\.1 and the package .* 0\.1"),
    ],
)
def test_an_error_names_the_package(registry: Registry[Any], name: str, problem: str) -> None:
    with pytest.raises(PluginError, match=problem):
        registry[name]
    with pytest.raises(PluginError, match=problem):
        registry.find(name)


@pytest.mark.usefixtures("installed")
def test_a_package_that_fails_is_a_warning_to_those_who_did_not_ask_for_it(registry: Registry[Any]) -> None:
    with pytest.warns(UserWarning, match="broken-plugin") as caught:
        assert {name for name, _ in registry.working()} == {"own", "good"}
    assert any("offers a teacher 'own'; the one of lexitree is used" in str(each.message) for each in caught)
    assert registry["own"] is len


@pytest.mark.usefixtures("installed")
@pytest.mark.filterwarnings("ignore:the package broken-plugin")
def test_what_is_registered_here(registry: Registry[Any]) -> None:
    def here() -> None: ...

    registry.register("mine", here)
    registry.register("mine", here)
    assert registry["mine"] is here
    assert registry.source("mine") == Source(__name__)
    assert str(registry.source("mine")) == f"the module {__name__}"
    for name, value, problem in (
        ("own", here, "already a teacher 'own', that is built in"),
        ("mine", Registry.find, f"already a teacher 'mine', of the module {__name__}"),
        ("a name", here, "a name that it cannot have: 'a name'"),
    ):
        with pytest.raises(PluginError, match=problem):
            registry.register(name, value)
    with pytest.raises(PluginError, match=r"'error' of the module .* must be a function"):
        registry.register("error", Wrong())
    registry.register("good", here)
    with pytest.raises(PluginError, match=r"claimed by the module .* and the package some-plugin 0\.1"):
        registry["good"]


def test_only_what_has_a_registry_can_be_registered() -> None:
    with pytest.raises(PluginError, match="nothing of the kind 'command'") as caught:
        register("command", "mine")
    assert "model, head method, parser, corpus, format, teacher" in caught.value.remedy


@pytest.mark.parametrize(
    "kind", [kind for kind in GROUPS if kind not in ("command", "recipe table", "shipped model")]
)
def test_every_kind_refuses_what_is_of_the_wrong_type(kind: Any) -> None:
    wrong: Any = Wrong if kind in ("model", "head method", "parser", "format", "teacher") else Wrong()
    with pytest.raises(PluginError, match=f"the {kind} 'wrong' of the module {__name__} must be a"):
        register(kind, "wrong")(wrong)


@pytest.mark.usefixtures("installed")
def test_an_error_in_a_package_is_blamed_on_it(registry: Registry[Any]) -> None:
    import some_plugin  # pyright: ignore[reportMissingImports]

    def error_of(run: Any) -> Exception:
        with pytest.raises(ValueError, match=r"1|invalid") as caught:
            run()
        return caught.value

    assert blame(error_of(some_plugin.fails)) == Source("some_plugin", "some-plugin", "0.1")
    assert blame(error_of(lambda: int("x"))) is None
