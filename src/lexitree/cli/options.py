"""Options that several commands share, and the names that the shell completes. Nothing here imports torch.

Among the options are --recipe, --set and --help-settings of the training commands.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from lexitree.errors import OnError
from lexitree.settings import MAX_COUNT, REQUIRED, DeclaredSetting, Settings

RUNS = Path("runs")
"""Where the examples of the documentation put their runs."""


def complete_models(incomplete: str) -> list[tuple[str, str]]:
    """The models of the package, and those of the runs in `runs/`."""
    from lexitree.saving.shipped import shipped_names

    trained = sorted(RUNS.glob("*/model/config.json"))
    names = [(name, "comes with lexitree") for name in shipped_names()]
    return _beginning(incomplete, [*names, *((path.parent.as_posix(), "trained here") for path in trained)])


def complete_corpora(incomplete: str) -> list[tuple[str, str]]:
    """The named corpora."""
    from lexitree.corpora.named import CORPORA

    return _beginning(incomplete, ((entry.name, entry.what) for _, entry in CORPORA.working()))


def complete_downloads(incomplete: str) -> list[tuple[str, str]]:
    """What `lexitree data fetch` knows."""
    from lexitree.corpora.locations import PACKAGES

    return _beginning(incomplete, ((package.name, package.what) for package in PACKAGES.values()))


def _beginning(incomplete: str, names: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, about) for name, about in names if name.startswith(incomplete)]


TABLE = "Table of texts"
"""The heading of the options that are for a table of texts with labels."""


def column_values(text: str | None, label: str | None, delimiter: str | None) -> dict[str, Any]:
    """What the options for a table say, as its settings."""
    names = {"tab": "\t", "\\t": "\t"}
    separator = names.get(delimiter, delimiter) if delimiter else None
    return {"text": text, "label": label, "delimiter": separator}


def flag(*names: str, text: str, panel: str | None = None) -> Any:
    """An option without a value; the empty metavar keeps Typer from printing <bool> after it."""
    return typer.Option(*names, metavar="", help=text, rich_help_panel=panel)


def number_option(text: str, *, most: float) -> Any:
    """An option for a number from 0 to `most` that need not be whole."""

    def refuse_nan(value: float | None) -> float | None:
        # No comparison with it is true, so Typer finds it within every range.
        if value is not None and math.isnan(value):
            raise typer.BadParameter("nan is not a number")
        return value

    return typer.Option(help=text, min=0, max=most, callback=refuse_nan, show_default=False)


# Copies of the library's choices: importing them from there would import numpy and torch, and a command must start
# at once. tests/cli/test_options.py compares the two.
Supervision = Literal["all", "root"]
SplitName = Literal["train", "dev", "test"]
Direction = Literal["left", "right", "head"]
Precision = Literal["float32", "tf32", "bf16"]
TableForm = Literal["float32", "float16", "int8"]
Lookup = Literal["written", "typed", "folded"]

EncodingOption = Annotated[str, typer.Option(help="Encoding of the input; never guessed.")]
OnErrorOption = Annotated[
    OnError, typer.Option(help="On malformed input: stop (raise), or skip and report (skip).")
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", help="Folder with corpora, searched first.", show_default=False),
]
StripTracesOption = Annotated[bool, flag("--strip-traces", text="Remove the -NONE- leaves of Penn trees.")]
StripTagsOption = Annotated[bool, flag("--strip-function-tags", text="Reduce labels such as NP-SBJ-1 to NP.")]
JsonOption = Annotated[bool, flag("--json", text="Print JSON.")]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
BACKEND_HELP = (
    "Implementation: auto (the fastest available), fused (GPU), native or numpy (CPU, without torch),"
    " levelwise or reference."
)
BackendOption = Annotated[str, typer.Option(help=BACKEND_HELP)]
PrecisionOption = Annotated[
    Precision, typer.Option(help="Full precision (float32), or faster and less exact on a GPU (tf32, bf16).")
]
LabelsOption = Annotated[
    int | None,
    typer.Option(
        help="How many labels to answer with: 3 (negative, neutral, positive), 2, or the model's own (default).",
        min=2,
        max=MAX_COUNT,
        show_default=False,
    ),
]
_MODEL_HELP = "A model: its name in the package, its directory, or owner/name on the Hugging Face hub."
ModelArgument = Annotated[str, typer.Argument(help=_MODEL_HELP, autocompletion=complete_models)]
ModelOrInputArgument = Annotated[
    str | None,
    typer.Argument(help=f"{_MODEL_HELP} If omitted: sentiment.", autocompletion=complete_models),
]
CorpusArgument = Annotated[
    str,
    typer.Argument(
        help="A corpus by name, or a folder or file of labelled trees.", autocompletion=complete_corpora
    ),
]
SplitOption = Annotated[SplitName, typer.Option(help="Which split of a corpus.")]
ColumnOption = Annotated[
    str | None, typer.Option(help="The column of CSV or JSON Lines that holds the texts.")
]
TextColumnOption = Annotated[
    str | None,
    typer.Option("--text", help="Column of the texts in a table.", show_default=False, rich_help_panel=TABLE),
]
LabelColumnOption = Annotated[
    str | None,
    typer.Option("--label", help="Column of the labels.", show_default=False, rich_help_panel=TABLE),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        help="What separates the cells, such as ; or tab. Default: what fits.",
        show_default=False,
        rich_help_panel=TABLE,
    ),
]
KBestOption = Annotated[
    int, typer.Option("--kbest", "-k", help="Number of trees per sentence.", min=1, max=1000)
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Output file, replaced only when complete; standard output by default."
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="The model; all arguments are then input.",
        show_default=False,
        autocompletion=complete_models,
    ),
]
InputKindOption = Annotated[
    Literal["auto", "trees", "text"],
    typer.Option("--input", help="Whether the input is trees, which begin with a bracket, or text."),
]
ParserOption = Annotated[
    str | None,
    typer.Option(
        "--parser",
        help="The parser for text: builtin, brackets:FILE, stanford:FOLDER, command:PROGRAM and others.",
        show_default=False,
    ),
]
StyleOption = Annotated[
    str | None,
    typer.Option(
        help="The treebank whose conventions the trees follow ('' is none in particular). Default: the parser's own."
    ),
]
OneSentenceOption = Annotated[bool, flag("--one-sentence", text="Take each text as a single sentence.")]
TEXT = "Text"
"""The heading of the options that are for text only."""
TextOption = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        help="A text, never taken for a file, a model or an option; can be repeated.",
        rich_help_panel=TEXT,
        show_default=False,
    ),
]
LimitOption = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=VALUE",
        help="Limits on one text, such as words=100000; none removes a limit, and beyond=cut truncates instead of"
        " refusing. Repeatable.",
        rich_help_panel=TEXT,
    ),
]


def read_arguments(
    context: typer.Context,
    first: str | None,
    others: list[str] | None,
    model: str | None,
    texts: list[str] | None = None,
) -> tuple[str, tuple[str, ...]]:
    """The model and the inputs among the arguments; with none at all, nobody is made to type on a terminal."""
    from lexitree.pipeline.inputs import split_arguments

    if first is None and model is None and not texts and sys.stdin.isatty():
        raise typer.BadParameter("a text is needed, or a model and trees", ctx=context)
    return split_arguments([*([] if first is None else [first]), *(others or [])], model, texts or ())


Recipe = TypeVar("Recipe", bound=Settings)

RunFolderOption = Annotated[
    Path, typer.Option("--output", "-o", help="Folder of the run: checkpoint, metrics, model, scores.")
]
ResumeOption = Annotated[bool, flag("--resume", text="Continue an interrupted run.")]
QuietOption = Annotated[bool, flag("--quiet", "-q", text="Print only the result.")]
MinutesOption = Annotated[
    float | None,
    number_option("Start no epoch that would end later than this; --resume continues.", most=MAX_COUNT),
]
RecipeOption = Annotated[
    Path | None,
    typer.Option("--recipe", help="A TOML file of settings; other options override it.", show_default=False),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change any setting, such as training.averaging=0.99; can be repeated.",
        show_default=False,
    ),
]


def help_settings(*homes: str) -> Any:
    """The option --help-settings of a command with settings classes at `homes`, such as `package.module:Class`."""

    def show(is_given: bool) -> None:
        if is_given:
            width = min(shutil.get_terminal_size().columns, 100)
            places = [home.partition(":") for home in homes]
            classes = [getattr(import_module(module), name) for module, _, name in places]
            typer.echo("\n\n".join("\n".join(_settings_page(each, width)) for each in classes))
            raise typer.Exit

    return typer.Option(
        "--help-settings",
        metavar="",
        help="List all settings with defaults, ranges and help, and exit.",
        callback=show,
        is_eager=True,
    )


def plan_recipe(recipe: Recipe, values: Mapping[str, object], assignments: Sequence[str] | None) -> Recipe:
    """A recipe with the options that were given, and then with what --set says."""
    given = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in values.items()
        if value is not None
    }
    return recipe.with_values({**given, **recipe.parse_assignments(assignments or ())})


def _settings_page(recipe: type[Settings], width: int) -> Iterator[str]:
    """All settings of a recipe, by table."""
    tables: dict[str, list[DeclaredSetting]] = {"": []}
    for each in recipe.describe():
        tables.setdefault(each.name.rpartition(".")[0], []).append(each)
    yield recipe.where_given
    for table, settings in tables.items():
        name = table.removesuffix("[]")
        title = f"[[{name}]]" if table != name else f"[{name}]"
        yield ""
        yield from [] if not table else [f"{title}  {recipe.declared()[name].setting.help}", ""]
        for each in settings:
            yield from _setting_lines(each, width)


def _setting_lines(declared: DeclaredSetting, width: int) -> Iterator[str]:
    if declared.default is REQUIRED:
        default = "required"
    else:
        default = "none" if declared.default is None else json.dumps(declared.default)
    accepted = ", ".join(filter(None, (declared.kind, declared.setting.range())))
    yield f"  {declared.name} = {default}  ({accepted})"
    indent = " " * 6
    yield from textwrap.wrap(declared.setting.help, width, initial_indent=indent, subsequent_indent=indent)
