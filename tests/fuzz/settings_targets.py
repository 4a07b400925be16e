"""Targets that take settings: recipes, assignments, training with odd values, and the command line."""

from __future__ import annotations

import atexit
import io
import json
import os
import shutil
import sys
import tempfile
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args, get_origin, get_type_hints
from unittest.mock import patch

from typer.main import get_command

from lexitree.cli.main import COMMANDS, make_app
from lexitree.errors import LexitreeError
from lexitree.parsers import adapters
from lexitree.saving import shipped
from lexitree.saving.model_kinds import save_model
from lexitree.settings import REQUIRED, Settings
from lexitree.sweeps.search_space import read_space
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.run import train
from lexitree.tasks.parse.recipe import ParserRecipe
from tests.fuzz.driver import ROOT, target, write_case
from tests.fuzz.mutations import NUMBERS, TEXTS, Case, mutate_json, pieces
from tests.fuzz.saved_targets import this_machine_only
from tests.fuzz.text_targets import CSV, JSON_LINES
from tests.lexicon.vector_files import GLOVE
from tests.saving.edited_models import MAKERS, make
from tests.tiny import SIZES, tiny_recipe, write_treebank

RECIPES: dict[str, type[Settings]] = {"": Recipe, "parsing": ParserRecipe}


def recipes() -> list[Case]:
    return [
        {"recipe.toml": path.read_bytes(), "=kind": kind.encode()}
        for kind in RECIPES
        for path in sorted((ROOT / "recipes" / kind).glob("*.toml"))
    ]


@target("recipes", recipes, 60)
def check_recipe(case: Case, folder: Path) -> None:
    kind = RECIPES[case["=kind"].decode()]
    recipe = kind.from_toml(write_case(case, folder) / "recipe.toml")
    assert kind.from_dict(json.loads(json.dumps(recipe.as_dict()))) == recipe


def spaces() -> list[Case]:
    files = [
        *sorted((ROOT / "paper" / "recipes" / "tuning").glob("*.toml")),
        ROOT / "examples" / "my-space.toml",
    ]
    return [{"space.toml": path.read_bytes()} for path in files]


@target("spaces", spaces, 60)
def check_space(case: Case, folder: Path) -> None:
    space = read_space(write_case(case, folder) / "space.toml", Recipe(encoder={"name": "minilm"}))
    assert space.num_trials > 0
    json.dumps(space.as_dict())


def assignments() -> list[Case]:
    found: list[Case] = []
    for name, kind in RECIPES.items():
        declared = [each for each in kind.describe() if each.default is not REQUIRED]
        lines = [f"{each.name}={json.dumps(each.default)}" for each in declared]
        found += [{"lines": line.encode(), "=kind": name.encode()} for line in lines]
        found.append({"lines": "\n".join(lines).encode(), "=kind": name.encode()})
    return found


@cache
def plain_recipe(kind: str) -> Settings:
    files = {"": "sst-pooled-minilm.toml", "parsing": "parsing/parser.toml"}
    return RECIPES[kind].from_toml(ROOT / "recipes" / files[kind]) if kind in files else RECIPES[kind]()


@target("assignments", assignments, 100)
def check_assignments(case: Case, folder: Path) -> None:
    plain = plain_recipe(case["=kind"].decode())
    lines = case["lines"].decode("utf-8", "surrogateescape").split("\n")
    changed = plain.with_values(plain.parse_assignments(lines))
    assert type(plain).from_dict(json.loads(json.dumps(changed.as_dict()))) == changed


def trainings() -> list[Case]:
    settings = {
        each.name: each.default
        for each in Recipe.describe()
        if each.name.startswith(("model.", "training."))
        and each.default is not REQUIRED
        and each.name.split(".")[-1] not in ("epochs", "averaging", *SIZES)
    }
    seeds = [{name: value} for name, value in settings.items()]
    seeds += [{f"model.{name}": size} for name, size in SIZES.items()]
    seeds += [{"training.seed": seed} for seed in (2**63, 2**64, 10**20)] + [{"model.model": "rntn"}]
    return [{"settings.json": json.dumps(each).encode()} for each in seeds]


def mutate_settings(case: Case, rng: Random, other: Case) -> Case:
    """Only whole values are changed: a size of a few thousand would be valid, and slow."""
    joined = {**json.loads(case["settings.json"]), **json.loads(other["settings.json"])}
    return {"settings.json": mutate_json(json.dumps(joined).encode(), rng, b"")}


@cache
def work_folder() -> Path:
    """Files of every kind that commands read; it is copied for each case."""
    folder = Path(tempfile.mkdtemp(prefix="lexitree-fuzz-"))
    atexit.register(shutil.rmtree, folder)
    for kind in MAKERS:
        save_model(make(kind, hidden=4), folder / kind)
        save_model(make(kind, hidden=4), folder / "shipped" / kind.replace("classifier", "sentiment"))
    write_treebank(folder / "bank", {"train": 4, "dev": 2, "test": 2})
    shutil.copy(folder / "bank" / "train.txt", folder / "trees.txt")
    (folder / "reviews.csv").write_text(CSV)
    (folder / "rows.jsonl").write_text(JSON_LINES)
    (folder / "vectors.txt").write_bytes(GLOVE)
    shutil.copy(ROOT / "recipes" / "sst-bicontree.toml", folder / "recipe.toml")
    shutil.copy(ROOT / "recipes" / "parsing" / "parser.toml", folder / "parser.toml")
    return folder


@target("training", trainings, 8, mutate=mutate_settings)
def check_training(case: Case, folder: Path) -> None:
    shutil.rmtree(folder)
    settings = json.loads(case["settings.json"])
    if not isinstance(settings, dict):
        return
    recipe = tiny_recipe(work_folder() / "bank", epochs=1).with_values(settings)
    train(recipe, folder / "run", minutes=0)


OMITTED = ("demo", "--engine", "--jobs", "--help", "--install-completion", "--show-completion")
"""What trains for minutes, starts processes, or prints a page."""
STUBBED = (
    "lexitree.cli.train.run_classifier",
    "lexitree.cli.sweep_runs.run_sweep",
    "lexitree.cli.train_runs.run_parser",
    "lexitree.server.serving.serve",
)
"""Training, which has a target of its own, and serving, which would not end."""
NAMES = (
    *pieces("bank trees.txt reviews.csv rows.jsonl vectors.txt recipe.toml parser.toml - out.txt out.svg"),
    *pieces("missing classifier parser sentiment mini-reviews builtin brackets:trees.txt review"),
    *("x=classifier", "a good film", "(0 (1 good) (0 film))", "model.hidden=5", "1-5", "3"),
)
ODD = tuple(text for text in TEXTS if not set(text) & set("\0./\ud800"))
"""What a command line can hold, without ways out of the folder."""


@cache
def commands() -> dict[tuple[str, ...], Any]:
    """All commands by their words."""
    waiting: list[tuple[tuple[str, ...], Any]] = [
        ((), get_command(make_app([name for name in COMMANDS if name not in OMITTED])))
    ]
    for words, command in waiting:
        waiting.extend(((*words, name), inner) for name, inner in getattr(command, "commands", {}).items())
    return dict(waiting)


def draw_value(kind: Any, rng: Random) -> str:
    """Something that fits the type of a parameter, or does not."""
    kinds = (kind, *get_args(kind))
    fitting = [choice for each in kinds if get_origin(each) is Literal for choice in get_args(each)]
    fitting = fitting or (NUMBERS if int in kinds or float in kinds else NAMES)
    return rng.choice(fitting if rng.random() < 0.8 else (*NUMBERS, *NAMES, *ODD))


def draw_arguments(case: Case, rng: Random, other: Case) -> Case:
    """A command with the arguments that it needs, and some of its options."""
    words = rng.choice(list(commands()))
    arguments, kinds = list(words), get_type_hints(commands()[words].callback or print)
    for parameter in commands()[words].params:
        name = rng.choice(parameter.opts)
        if name not in OMITTED and rng.random() < (0.95 if parameter.required else 0.15):
            arguments += [name] if parameter.param_type_name == "option" else []
            kind = kinds.get(parameter.name)
            arguments += [] if kind is bool else [draw_value(kind, rng)]
    if rng.random() < 0.1:
        arguments.insert(rng.randrange(len(arguments) + 1), rng.choice(ODD))
    return {"arguments.json": json.dumps(arguments).encode()}


@target("options", lambda: [{}], 5, mutate=draw_arguments)
def check_options(case: Case, folder: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(work_folder(), folder)
    with ExitStack() as stack:
        for name in STUBBED:
            stack.enter_context(patch(name, side_effect=LexitreeError("not done here")))
        for context in (
            patch.object(shipped, "FOLDER", folder / "shipped"),
            patch.object(adapters, "BUILTIN_MODEL", folder / "shipped" / "parser"),
            patch.dict(os.environ, {"LEXITREE_CACHE": "cache", "HF_HUB_OFFLINE": "1", "COLUMNS": "100"}),
            patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a good film\n(0 (1 a) (0 b))\n"))),
            redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)),
            redirect_stderr(io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")),
            this_machine_only(),
            chdir(folder),
            # Wrong usage exits, and `main` shows what the system refuses, such as a full disk.
            suppress(SystemExit, OSError),
        ):
            stack.enter_context(context)
        commands()[()].main(json.loads(case["arguments.json"]), prog_name="lexitree")
