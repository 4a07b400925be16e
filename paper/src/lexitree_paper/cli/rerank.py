"""`lexitree rerank`: train a reranker, score it, and rerank the candidate trees of a parser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lexitree.cli.console import messages, parse_seeds, show_skipped
from lexitree.cli.console import output as screen
from lexitree.cli.options import (
    BackendOption,
    DataOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    KBestOption,
    MinutesOption,
    OnErrorOption,
    OutputOption,
    QuietOption,
    RecipeOption,
    ResumeOption,
    RunFolderOption,
    SetOption,
    StyleOption,
    flag,
    help_settings,
    number_option,
    plan_recipe,
)
from lexitree.errors import ConfigError, FileError
from lexitree.files import (
    BRACKET_SUFFIXES,
    JSON_LINES_SUFFIXES,
    choose_format,
    display_name,
    read_lines,
)
from lexitree.settings import MAX_COUNT, MAX_PROCESSES
from lexitree.writing import open_output
from lexitree_paper.cli.rerank_heads import RerankerArgument, heads_command, show_details, show_scores

if TYPE_CHECKING:
    from lexitree.cli.train_runs import EpochPrinter


def lists_command(
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The file to write the lists to.")],
    recipe: Annotated[
        Path, typer.Option(help="The TOML recipe of the parser, as for `lexitree parser train`.")
    ],
    folder: Annotated[Path, typer.Option("--runs", help="Folder for the parsers of the folds.")] = Path(
        "runs/jackknife"
    ),
    folds: Annotated[
        int, typer.Option(help="Number of parts that the sentences are split into.", min=2, max=MAX_PROCESSES)
    ] = 5,
    kbest: KBestOption = 8,
    epochs: Annotated[
        int | None,
        typer.Option(
            help="Passes of each parser over its trees. Default: the recipe's.", min=1, max=MAX_COUNT
        ),
    ] = None,
    minutes: Annotated[
        float | None, number_option("Time limit for training one parser.", most=MAX_COUNT)
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            help="Parsers trained at the same time; one GPU has room for all.", min=1, max=MAX_PROCESSES
        ),
    ] = 1,
    quiet: QuietOption = False,
    data: DataOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Write candidate lists for the training sentences of the built-in parser, by jackknifing.

    [bold]Example:[/bold]  lexitree rerank lists lists.jsonl --recipe recipes/parsing/parser.toml
    --device cuda

    A parser has memorized its training sentences: its lists of them are too good, and a reranker would learn to
    trust them. So the training treebanks of the recipe are split into parts, and each part is parsed by a parser that
    was trained on the others. After an interruption, the same command resumes, with any number of --jobs.
    """
    from lexitree.ops.devices import choose_device
    from lexitree.tasks.parse.recipe import ParserRecipe
    from lexitree_paper.rerank.jackknife import write_jackknife_lists

    choose_format(output, {"json": JSON_LINES_SUFFIXES})
    planned = plan_recipe(ParserRecipe.from_toml(recipe), {"training.epochs": epochs}, None)
    num_lists = write_jackknife_lists(
        planned,
        folder,
        output,
        num_folds=folds,
        k=kbest,
        jobs=jobs,
        on_fold=lambda fold: None if quiet else messages.print(f"fold {fold} of {folds} is done"),
        data=data,
        device=choose_device(device),
        minutes=minutes,
        observer_of=None if quiet else _observer_of,
    )
    screen.print(f"{num_lists:,} lists: {output}", soft_wrap=True)


def _observer_of(fold: int) -> EpochPrinter:
    """Called where the fold is trained, which may be another process."""
    from lexitree.cli.train_runs import EpochPrinter

    return EpochPrinter(f"fold {fold} ")


app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Reranking: choose among the k best trees of any parser by a tree LSTM that reads each as a whole.\n\n"
        "Lists are JSON Lines, one sentence a line: "
        '{"candidates": [{"score": -1.5, "tree": "(S ...)"}, ...], "gold": "(S ...)"}. What '
        "lexitree parse --kbest 8 --format json writes is such a line as well.\n\n"
        "[bold]Start here:[/bold]  lexitree rerank train lists.jsonl --vectors glove.npz -o runs/reranker, then "
        "lexitree rerank apply runs/reranker/model others.jsonl"
    ),
)
ListsArgument = Annotated[
    Path, typer.Argument(metavar="LISTS", help="A file of lists; - reads standard input.")
]
BaseWeightOption = Annotated[
    float | None,
    number_option(
        "How much the parser's score counts. Default: what development lists chose.", most=MAX_COUNT
    ),
]


@app.command("train")
def train_command(
    lists: Annotated[
        list[str] | None, typer.Argument(metavar="LISTS", help="Files of lists with gold trees to train on.")
    ] = None,
    folder: RunFolderOption = Path("runs/reranker"),
    recipe: RecipeOption = None,
    assignments: SetOption = None,
    list_settings: Annotated[bool, help_settings("lexitree_paper.rerank.recipe:RerankRecipe")] = False,
    dev: Annotated[
        list[str] | None, typer.Option(help="Lists for development. Default: a tenth of the others.")
    ] = None,
    test: Annotated[list[str] | None, typer.Option(help="Lists to score the result on.")] = None,
    vectors: Annotated[str | None, typer.Option(help="A file of word vectors.")] = None,
    model: Annotated[
        str | None, typer.Option(help="contree, contree-lex or bicontree. Default: contree-lex.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the training lists. Default: 15.", min=1, max=MAX_COUNT)
    ] = None,
    seeds: Annotated[
        str, typer.Option("--seeds", "--seed", help="One seed or several: 3, 1,2,5 or 1-5.")
    ] = "1",
    jobs: Annotated[int, typer.Option(help="Seeds trained at the same time.", min=1, max=MAX_PROCESSES)] = 1,
    minutes: MinutesOption = None,
    resume: ResumeOption = False,
    quiet: QuietOption = False,
    data: DataOption = None,
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
) -> None:
    """Train a reranker on lists with gold trees; keep the best epoch by development F1.

    [bold]Train:[/bold]  lexitree rerank train wsj00.jsonl --vectors glove.npz -o runs/reranker

    The best candidate of each list must win by a margin that grows with the wrong constituents of the others. After
    each epoch the weight of the parser's own score is chosen on the development lists, and kept with the model.

    A list of one candidate teaches nothing and is skipped; lists may be of any length, and in any order. A list
    without a gold tree, without scores, or whose trees have different words is an error that names its line; with
    --on-error skip it is skipped and reported. Test sentences are never trained on. Lists of sentences that the
    parser itself was trained on mislead the reranker: make honest ones with `lexitree rerank lists`.

    The run leaves model/ (the reranker), result.json, metrics.jsonl and checkpoint.safetensors; several seeds leave
    seed-1, seed-2 and so on. --resume continues an interrupted run.
    """
    from lexitree.ops.devices import choose_device
    from lexitree_paper.cli.rerank_runs import run_reranker
    from lexitree_paper.rerank.recipe import RerankRecipe

    planned = plan_recipe(
        RerankRecipe.from_toml(recipe) if recipe else RerankRecipe(),
        {
            "lists": lists,
            "dev": dev,
            "test": test,
            "vectors": vectors,
            "model.model": model,
            "training.epochs": epochs,
        },
        assignments,
    )
    if not planned.lists:
        raise ConfigError("there are no lists to train on", remedy="Name a file of them.")
    options: dict[str, Any] = {
        "data": None if data is None else str(data),
        "device": choose_device(device),
        "backend": backend,
        "minutes": minutes,
        "resume": resume,
        "on_error": on_error,
    }
    run_reranker(planned, parse_seeds(seeds), folder, jobs=jobs, quiet=quiet, **options)


@app.command("evaluate")
def evaluate_command(
    reranker: RerankerArgument,
    lists: ListsArgument,
    base_weight: BaseWeightOption = None,
    parser: Annotated[
        str | None,
        typer.Option(
            metavar="PARSER",
            help="A saved parser: LISTS is then a file of gold Penn trees, and this parser makes the lists of them.",
        ),
    ] = None,
    style: StyleOption = None,
    details: Annotated[bool, flag("--details", text="Also F1 by sentence length and by label.")] = False,
    as_json: JsonOption = False,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
) -> None:
    """Score a reranker on lists with gold trees: labelled F1 as evalb counts it, beside its bounds.

    [bold]With all figures:[/bold]  lexitree rerank evaluate runs/reranker/model wsj00.jsonl --details

    [bold]Behind a parser:[/bold]  lexitree rerank evaluate runs/reranker/model trees.txt --parser runs/parser/model

    The bounds are the parser's own choice (its highest score), the best candidate of each list (the oracle), and
    a candidate at random. p is that of the difference to the parser's own choice, by paired bootstrap over
    sentences, two-sided: about this reranker, not its recipe. The gold tags tell what is punctuation. Every list must
    have a gold tree; with --on-error skip, lists without one and damaged lists are skipped and reported.
    """
    from lexitree.trees.brackets import ReadReport
    from lexitree_paper.rerank.reranker import load_reranker
    from lexitree_paper.rerank.scores import score_reranker

    if parser is None and style is not None:
        raise ConfigError("--style is for the parser of --parser", remedy="Omit it, or name a parser.")
    loaded = load_reranker(reranker, device=device, backend=backend, base_weight=base_weight)
    report = ReadReport()
    if parser is None:
        from lexitree_paper.rerank.lists import read_lists

        found = list(read_lists(lists, encoding=encoding, on_error=on_error, report=report, needs_gold=True))
    else:
        from lexitree.parsers.penn_spans import clean_trees
        from lexitree.parsers.saved_parser import load_parser
        from lexitree.pipeline.inputs import read_tree_files
        from lexitree_paper.rerank.reranker import parse_lists

        gold = list(clean_trees(read_tree_files([lists], encoding, on_error, report)))
        found = list(parse_lists(load_parser(parser, device=device, style=style), gold))
    show_skipped(report.num_errors, report.errors, what="lists" if parser is None else "trees")
    if not found:
        raise FileError(lists, "has no lists")
    scores = score_reranker(loaded, found)
    if as_json:
        typer.echo(json.dumps({"base_weight": loaded.base_weight, **scores.as_dict()}, indent=2))
        return
    show_scores(scores, loaded.base_weight)
    if details:
        show_details(scores)


@app.command("apply")
def apply_command(
    reranker: RerankerArgument,
    lists: ListsArgument = Path("-"),
    output: OutputOption = None,
    form: Annotated[
        Literal["brackets", "json"] | None,
        typer.Option(
            "--format",
            "-f",
            help="The best tree in brackets, or all candidates as JSON. By default, the ending of the output file"
            " decides; brackets without one.",
        ),
    ] = None,
    base_weight: BaseWeightOption = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
) -> None:
    """Choose the best tree of each list; one line out for each line in.

    [bold]Behind our parser:[/bold]  lexitree parse text.txt --kbest 8 -f json | lexitree rerank apply RERANKER

    Trees are not modified. In JSON each line is a list again: `candidates`, best first, each with its `tree`, its
    `score` (that of the tree model and the parser's together), `tree_score`, `base_score` and its `place` in the list
    as it came, from 0. A gold tree is copied to the output and not used. A list of one candidate is returned; one
    of hundreds is reranked whole. An empty line stays an empty line. A damaged list is an error that names its line,
    or becomes an empty line with --on-error skip.
    """
    from lexitree.trees.brackets import ReadReport, tree_to_brackets
    from lexitree_paper.rerank.reranker import load_reranker, ranked_to_json

    endings = {"brackets": BRACKET_SUFFIXES, "json": JSON_LINES_SUFFIXES}
    chosen = choose_format(output, endings, asked=form, option="--format")
    loaded = load_reranker(reranker, device=device, backend=backend, base_weight=base_weight)
    report = ReadReport()
    lines = read_lines(lists, encoding)
    found = loaded.rerank_lines(lines, display_name(lists), on_error=on_error, report=report)
    with open_output(output) as write:
        for ranked in found:
            if ranked is not None:
                write(tree_to_brackets(ranked.best) if chosen == "brackets" else ranked_to_json(ranked))
            write("\n")
    show_skipped(report.num_errors, report.errors, what="lists")


app.command("lists")(lists_command)
app.command("heads")(heads_command)
