"""The choices that options offer are those of the library, and every number has a range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import typer
from typer.models import ParameterInfo

from lexitree.cli import options
from lexitree.cli.main import make_app
from lexitree.corpora import corpus
from lexitree.lexicon import normal_forms
from lexitree.ops import devices as precision
from lexitree.saving import quantized
from lexitree.trees.binarize import Direction
from tests.cli.conftest import Call, assert_users_error


@pytest.mark.parametrize(
    ("offered", "known"),
    [
        (options.Supervision, corpus.Supervision),
        (options.SplitName, corpus.SplitName),
        (options.Direction, Direction),
        (options.Precision, precision.Precision),
        (options.TableForm, quantized.TableForm),
        (options.Lookup, normal_forms.Lookup),
    ],
)
def test_choices_are_those_of_the_library(offered: object, known: object) -> None:
    assert get_args(offered) == get_args(known)
    assert len(get_args(known)) >= 2


ABSURD = ["-1", str(2**63), str(10**20), "9" * 5000, "nan", "inf", "1e308"]


def all_commands(app: typer.Typer, *names: str) -> Iterator[tuple[tuple[str, ...], Callable[..., object]]]:
    for command in app.registered_commands:
        assert command.callback is not None
        yield (*names, command.name or command.callback.__name__), command.callback
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from all_commands(group.typer_instance, *names, str(group.name))


def numeric_options() -> Iterator[Any]:
    """Every option of every command that takes a number, with its range."""
    for names, callback in all_commands(make_app()):
        for name, hint in get_type_hints(callback, include_extras=True).items():
            kinds = {*get_args(hint), *(inner for part in get_args(hint) for inner in get_args(part))}
            info = next((each for each in kinds if isinstance(each, ParameterInfo)), None)
            if info is not None and {int, float} & kinds:
                # In an annotation, Typer keeps the first name of an option as its default.
                named = [each for each in (info.default, *(info.param_decls or ())) if isinstance(each, str)]
                option = named[0] if named else f"--{name.replace('_', '-')}"
                yield pytest.param(names, option, info, id=" ".join((*names, option)))


NUMERIC = list(numeric_options())
IN_RECIPES = {"train --epochs", "train --batch-size", "parser train --epochs", "parser train --seed"}
"""Options that are settings, whose ranges the recipes declare."""


def test_options_that_are_numbers_are_found() -> None:
    assert len(NUMERIC) > 25
    assert {each.id for each in NUMERIC} > IN_RECIPES


@pytest.mark.parametrize(("names", "option", "info"), [each for each in NUMERIC if each.id not in IN_RECIPES])
def test_an_absurd_number_is_wrong_usage(
    call: Call, names: tuple[str, ...], option: str, info: ParameterInfo
) -> None:
    assert info.min is not None
    assert info.max is not None
    for number in ABSURD:
        finished = call(*names, f"{option}={number}")
        assert finished.code == 2, number
        assert "Traceback" not in finished.err
        assert "Invalid value" in finished.err


@pytest.mark.parametrize("option", sorted(IN_RECIPES))
@pytest.mark.parametrize("number", [number for number in ABSURD if number.lstrip("-").isdecimal()])
def test_an_absurd_number_for_a_setting(call: Call, tmp_path: Path, option: str, number: str) -> None:
    *names, option = option.split()
    arguments = [*names, "-o", tmp_path / "run", f"{option}={number}"]
    if names[0] == "parser":
        (tmp_path / "recipe.toml").write_text('[[treebanks]]\nname="a"\npath="a.txt"\nheld_out=0.5\n')
        arguments += ["--recipe", tmp_path / "recipe.toml"]
    finished = call(*arguments)
    if len(number) > 100:  # Python itself refuses so many digits
        assert finished.code == 2
    else:
        assert_users_error(finished, "must be at least", "and at most", number)


@pytest.mark.parametrize("seeds", ["-1", str(2**64), "9" * 5000, "nan", "1-" + "9" * 30, "١", ""])
@pytest.mark.parametrize("command", [["train"], ["sweep", "x"]])
def test_absurd_seeds(call: Call, tmp_path: Path, command: list[str], seeds: str) -> None:
    finished = call(*command, "-o", tmp_path / "run", f"--seeds={seeds}", "--epochs", "0")
    assert finished.code in (1, 2)
    assert "Traceback" not in finished.err
