"""`lexitree parser`: train a constituency parser, score it, and parse sentences with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lexitree.cli.completion import complete_models
from lexitree.cli.console import output, percent, show_skipped
from lexitree.cli.options import (
    DataOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    KBestOption,
    MinutesOption,
    OnErrorOption,
    QuietOption,
    ResumeOption,
    RunFolderOption,
    SetOption,
    flag,
    help_settings,
    plan_recipe,
)
from lexitree.errors import FileError
from lexitree.files import read_lines
from lexitree.settings import MAX_PROCESSES

if TYPE_CHECKING:
    from lexitree.parsers.neural import NeuralParser
    from lexitree.parsers.protocol import Candidate, KBestParser

app = typer.Typer(
    no_args_is_help=True,
    help="Constituency parsing: train a parser on Penn treebanks, score it, and parse sentences with it.",
)
Format = Literal["brackets", "json"]
ParserArgument = Annotated[
    str,
    typer.Argument(
        metavar="PARSER",
        help="A parser: `parser`, which comes with the package, or the directory of a saved one.",
        autocompletion=complete_models,
    ),
]
StyleOption = Annotated[
    str | None,
    typer.Option(
        help="The treebank whose conventions the trees follow ('' is none in particular). Default: the parser's own."
    ),
]
RerankOption = Annotated[
    str | None,
    typer.Option(
        metavar="RERANKER",
        help="A saved reranker, which chooses among the 8 most probable trees (or --kbest, if that is more).",
    ),
]


@app.command("train")
def train_command(
    folder: RunFolderOption,
    recipe: Annotated[Path, typer.Option(help="A TOML file of settings; other options override it.")],
    assignments: SetOption = None,
    list_settings: Annotated[bool, help_settings("lexitree.tasks.parse.recipe:ParserRecipe")] = False,
    data: DataOption = None,
    resume: ResumeOption = False,
    quiet: QuietOption = False,
    epochs: Annotated[int | None, typer.Option(help="Passes over the training trees.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed than the recipe's.")] = None,
    minutes: MinutesOption = None,
    small: Annotated[
        bool, flag("--small", text="Use the sizes of a parser of about 15 MB in place of the recipe's.")
    ] = False,
    threads: Annotated[int, typer.Option(help="CPU threads.", min=1, max=MAX_PROCESSES)] = 1,
    device: DeviceOption = "auto",
) -> None:
    """Train a parser, keep the best epoch by development F1, and score it on the recipe's test treebanks.

    [bold]On a GPU:[/bold]  lexitree parser train --recipe recipes/parsing/parser.toml -o runs/parser --device cuda

    The run leaves model/ (the parser), result.json (scores, settings, checksums), metrics.jsonl (a line per epoch)
    and checkpoint.safetensors. --resume continues a run that was interrupted at any moment.
    """
    from lexitree.cli.train_runs import run_parser
    from lexitree.ops.devices import choose_device
    from lexitree.ops.threads import openmp_threads
    from lexitree.tasks.parse.recipe import ParserRecipe, small_sizes

    planned = ParserRecipe.from_toml(recipe)
    sizes = {f"model.{name}": size for name, size in small_sizes(planned).items()} if small else {}
    planned = plan_recipe(planned, {**sizes, "training.epochs": epochs, "training.seed": seed}, assignments)
    with openmp_threads(threads):
        run_parser(
            planned,
            folder,
            quiet=quiet,
            data=data,
            device=choose_device(device),
            minutes=minutes,
            resume=resume,
        )


@app.command("evaluate")
def evaluate_command(
    parser: ParserArgument,
    trees: Annotated[Path, typer.Argument(help="Gold Penn trees; - reads standard input.")],
    kbest: KBestOption = 1,
    style: StyleOption = None,
    rerank: RerankOption = None,
    as_json: JsonOption = False,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
) -> None:
    """Parse the words of gold trees and compare: labelled F1 as evalb counts it, tags and complete matches.

    Traces, function tags and ROOT are removed from the gold trees first; their tags tell what is punctuation. With
    --kbest 8 also the F1 of the best among the 8 most probable trees of each sentence. With --rerank the tree is the
    one that the reranker chooses among them.
    """
    from lexitree.parsers.penn_spans import clean_trees
    from lexitree.parsers.saved_parser import load_parser
    from lexitree.pipeline.inputs import read_tree_files
    from lexitree.tasks.parse.task import score_parser
    from lexitree.trees.brackets import ReadReport

    report = ReadReport()
    gold = list(clean_trees(read_tree_files([trees], encoding, on_error, report)))
    if not gold:
        raise FileError(trees, "has no trees")
    loaded = load_parser(parser, device=device, style=style)
    scores = score_parser(_with_reranker(loaded, rerank, device), gold, k=kbest).as_dict()
    show_skipped(report.num_errors, report.errors)
    if as_json:
        output.file.write(json.dumps({"style": loaded.style, **scores}) + "\n")
        return
    output.print(
        f"{scores['sentences']:,} sentences:  F1 [bold]{percent(scores['f1'])}[/bold]"
        f"  precision {percent(scores['precision'])}  recall {percent(scores['recall'])}"
        f"  tags {percent(scores['tags'])}  complete {percent(scores['complete_match'])}"
        + (f"  best of {kbest} {percent(scores['oracle_f1'])}" if kbest > 1 else "")
    )


@app.command("parse")
def parse_command(
    parser: ParserArgument,
    sentences: Annotated[
        Path,
        typer.Argument(help="One sentence per line, its words separated by spaces; - reads standard input."),
    ] = Path("-"),
    kbest: KBestOption = 1,
    form: Annotated[
        Format, typer.Option("--format", "-f", help="Trees in brackets, or a line of JSON.")
    ] = "brackets",
    style: StyleOption = None,
    rerank: RerankOption = None,
    encoding: EncodingOption = "utf-8",
    device: DeviceOption = "auto",
) -> None:
    """Parse tokenized sentences; trees are written as they are found, in the order of the sentences.

    [bold]One sentence:[/bold]  echo "It works ." | lexitree parser parse runs/parser/model

    In brackets each sentence has one line or, with --kbest, a line `log probability<TAB>tree` for each tree and an
    empty line after the last. In JSON each sentence is one line: a tree with its log_probability or, with --kbest,
    a list of them as `parses`. An empty line stays an empty line. With --rerank the trees come in the order of the
    reranker, with the parser's own probabilities.
    """
    from lexitree.parsers.saved_parser import load_parser

    loaded = _with_reranker(load_parser(parser, device=device, style=style), rerank, device)
    # Whoever types expects an answer to each line; a file is read ahead, to batch sentences of similar length.
    read_ahead = 1 if str(sentences) == "-" and sys.stdin.isatty() else READ_AHEAD
    lines = (line.split() for _, line in read_lines(sentences, encoding))
    for text in _parse_lines(loaded, lines, kbest, form, read_ahead):
        sys.stdout.write(text)
        sys.stdout.flush()


def _with_reranker(parser: NeuralParser, reranker: str | None, device: str) -> KBestParser:
    """The parser as it is, or with a reranker behind it."""
    if reranker is None:
        return parser
    from lexitree.tasks.rerank.reranker import RerankedParser, load_reranker

    return RerankedParser(parser, load_reranker(reranker, device=device))


READ_AHEAD = 128


def _parse_lines(
    parser: KBestParser, lines: Iterator[list[str]], k: int, form: Format, read_ahead: int
) -> Iterator[str]:
    while chunk := list(islice(lines, read_ahead)):
        texts = _parse_chunk(parser, [words for words in chunk if words], k, form)
        for words in chunk:
            yield (next(texts) if words else "") + "\n"


def _parse_chunk(
    parser: KBestParser, sentences: Sequence[Sequence[str]], k: int, form: Format
) -> Iterator[str]:
    """Yield the text of each sentence, without the end of its last line."""
    from lexitree.trees.brackets import tree_to_brackets

    if k == 1 and form == "brackets":
        yield from map(tree_to_brackets, parser.parse_all(sentences))
        return
    for candidates in parser.parse_all_k_best(sentences, k):
        yield _as_json(candidates, k) if form == "json" else _as_lines(candidates)


def _as_json(candidates: Sequence[Candidate], k: int) -> str:
    """The tree as an object with its log probability or, where several are asked for, a list of such objects."""
    from lexitree.trees.jsonl import tree_to_json

    parses = [
        {**tree_to_json(candidate.tree), "log_probability": candidate.log_probability}
        for candidate in candidates
    ]
    return json.dumps(parses[0] if k == 1 else {"parses": parses}, ensure_ascii=False)


def _as_lines(candidates: Sequence[Candidate]) -> str:
    from lexitree.trees.brackets import tree_to_brackets

    return "".join(
        f"{candidate.log_probability:.4f}\t{tree_to_brackets(candidate.tree)}\n" for candidate in candidates
    )
