"""Runs the training commands: progress bars while they train, and scores when they are done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from lexitree.cli.console import messages, output, percent, show_skipped, show_table
from lexitree.errors import ConfigError
from lexitree.learning.observers import BatchProgress, EpochRecord, SilentObserver

if TYPE_CHECKING:
    from lexitree.corpora.corpus import Corpus
    from lexitree.learning.seeds import SeedSummary
    from lexitree.tasks.classify.prepared_run import RunResult
    from lexitree.tasks.classify.recipe import Recipe
    from lexitree.tasks.parse.recipe import ParserRecipe
    from lexitree.tasks.parse.run import ParserRun


class TrainingProgress:
    """A bar for each run: its epoch, running loss, speed and development scores.

    Args:
        num_epochs: The number of epochs of each run.
        unit: What is trained on: trees or lists.
        quiet: Show nothing.
    """

    def __init__(self, num_epochs: int, unit: str = "trees", *, quiet: bool = False) -> None:
        self.num_epochs = num_epochs
        self.unit = unit
        self.quiet = quiet
        self.tasks: dict[str, TaskID] = {}
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("epoch {task.fields[epoch]}/{task.fields[num_epochs]}"),
            TextColumn("loss {task.fields[loss]}"),
            TextColumn(f"{{task.fields[speed]}} {unit}/s"),
            TextColumn("{task.fields[scores]}"),
            TimeRemainingColumn(),
            console=messages,
            transient=True,
            disable=quiet,
        )

    def __enter__(self) -> TrainingProgress:
        self.bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bars.stop()

    def on_event(self, seed: int, event: BatchProgress | EpochRecord) -> None:
        """Show what the run of a seed reports."""
        if self.quiet:
            return
        name = f"seed {seed}"
        if isinstance(event, BatchProgress):
            self._show_batch(name, event)
            return
        if name in self.tasks:
            self.bars.update(self.tasks[name], scores=_describe_scores(event.scores))
        _print_epoch(name, event, self.unit)

    def _show_batch(self, name: str, progress: BatchProgress) -> None:
        if name not in self.tasks:
            fields: dict[str, Any] = {"num_epochs": self.num_epochs, "scores": ""}
            self.tasks[name] = self.bars.add_task(
                name, total=progress.num_examples * self.num_epochs, epoch=1, loss="–", speed="–", **fields
            )
        self.bars.update(
            self.tasks[name],
            completed=(progress.epoch - 1) * progress.num_examples + progress.num_done,
            epoch=progress.epoch,
            loss=f"{progress.loss:.2f}",
            speed=f"{progress.examples_per_second:.0f}",
        )


class ProgressObserver(SilentObserver):
    """Passes the events of a run in this process to the bars."""

    def __init__(self, bars: TrainingProgress, seed: int) -> None:
        self.bars = bars
        self.seed = seed

    def on_batch(self, progress: BatchProgress) -> None:
        self.bars.on_event(self.seed, progress)

    def on_epoch(self, record: EpochRecord) -> None:
        self.bars.on_event(self.seed, record)


class EpochPrinter(SilentObserver):
    """Prints a line per epoch and no bars, for one of several runs in processes of their own."""

    def __init__(self, name: str, unit: str = "trees") -> None:
        self.name = name
        self.unit = unit

    def on_epoch(self, record: EpochRecord) -> None:
        _print_epoch(self.name, record, self.unit)


def _print_epoch(name: str, record: EpochRecord, unit: str) -> None:
    messages.print(
        f"{name} epoch {record.epoch:>2}  loss {record.loss:6.3f}  {_describe_scores(record.scores)}"
        f"  {record.examples_per_second:.0f} {unit}/s" + ("  [green]best[/green]" if record.is_best else ""),
        soft_wrap=True,
    )


def _describe_scores(scores: Mapping[str, Any]) -> str:
    """Development scores on one line, such as `dev root 48.5  dev phrase 81.2`."""
    parts: list[str] = []
    for name, value in scores.items():
        if isinstance(value, Mapping):
            shares = cast(Mapping[str, float | Mapping[str, float]], value)
            inner = ", ".join(f"{key} {_describe_shares(share)}" for key, share in shares.items())
            parts.append(f"({inner})")
        elif name == "base_weight":
            parts.append(f"weight {value:.2f}")
        elif value is not None:
            parts.append(f"{name.replace('_', ' ').replace('f1', 'F1')} {percent(value)}")
    return "  ".join(parts)


def _describe_shares(shares: float | Mapping[str, float]) -> str:
    return "/".join(map(percent, shares.values() if isinstance(shares, Mapping) else [shares]))


def run_classifier(
    recipe: Recipe, seeds: Sequence[int], folder: Path, *, jobs: int | None, quiet: bool, **options: Any
) -> None:
    """Train a classifier with one seed, or with several in parallel, and print its scores.

    Of several processes that train together, the first one prints.
    """
    from lexitree.learning.distributed import is_data_parallel, join_processes, own_device
    from lexitree.tasks.classify.building import load_recipe_corpus
    from lexitree.tasks.classify.run import train, train_seeds

    options["device"] = own_device(options["device"])
    with join_processes() as processes:
        if len(seeds) > 1 and is_data_parallel():
            raise ConfigError(
                "several processes train one seed together",
                remedy="Give one seed, or train the seeds side by side: --seeds 1-3 --jobs 3 and no --processes.",
            )
        quiet = quiet or not processes.is_first
        # With several seeds every process reads the corpus itself: here it is read to be shown, and to fail early.
        corpus = processes.from_first(lambda: load_recipe_corpus(recipe))
        if processes.is_first:
            _describe_corpus(recipe, corpus, options, quiet, processes.size)
        bars = TrainingProgress(recipe.training.epochs, quiet=quiet)
        if len(seeds) == 1:
            with bars:
                observer = ProgressObserver(bars, seeds[0])
                run = train(recipe.with_seed(seeds[0]), folder, corpus=corpus, observer=observer, **options)
            if processes.is_first:
                _show_classifier(run)
        else:
            options |= {"corpus": corpus, "jobs": jobs}
            with bars:
                summary = train_seeds(recipe, seeds, folder, on_event=bars.on_event, **options)
            show_summary(summary, recipe.corpus, folder)


def _describe_corpus(
    recipe: Recipe, corpus: Corpus, options: dict[str, Any], quiet: bool, num_processes: int
) -> None:
    """Say what is trained on and where it runs; skipped trees are reported even to the quiet."""
    show_skipped(corpus.num_skipped, corpus.skipped)
    if quiet:
        return
    sizes = ", ".join(f"{len(trees):,} {split}" for split, trees in corpus.splits.items())
    messages.print(
        f"[bold]{corpus.name}[/bold]: {sizes} trees; {corpus.inference or corpus.supervision}", soft_wrap=True
    )
    from lexitree.models.catalog import operations_of
    from lexitree.ops.registry import describe_report, get_backend

    backend = get_backend(options["backend"], options["device"], training=True)
    runs = describe_report(backend.report(operations_of(recipe.model)))
    device, together = options["device"], ""
    if num_processes > 1:
        device, together = device.partition(":")[0], f", in {num_processes} processes"
    messages.print(f"running {runs} on {device}, {options['precision']}{together}")
    if recipe.teacher and not options["resume"]:
        messages.print(
            f"first, {recipe.teacher} labels the {len(corpus.train):,} training trees", soft_wrap=True
        )


def _show_classifier(run: RunResult) -> None:
    from lexitree.learning.run_folder import MODEL_FOLDER

    scores = run.scores()
    output.print(
        f"best epoch {run.best.epoch}:  dev root {percent(scores['dev_root'])}"
        f" phrase {percent(scores['dev_phrase'])}  |  test root {percent(scores['test_root'])}"
        f" phrase {percent(scores['test_phrase'])}  |  {run.training.seconds:.0f} s"
    )
    output.print(f"model: {run.folder / MODEL_FOLDER}", soft_wrap=True)


def show_summary(summary: SeedSummary, title: str, folder: Path) -> None:
    """A table of the scores of several seeds."""
    from lexitree.learning.run_folder import MODEL_FOLDER, seed_folder

    rows: list[list[str]] = []
    for seed, result in summary.results.items():
        scores = [percent(result[score]) for score in summary.scores]
        rows.append([str(seed), str(result["best_epoch"]), *scores, f"{result['seconds']:.0f}"])
    spreads = [summary.spread(score) for score in summary.scores]
    cells = [f"{percent(spread.mean)} ± {percent(spread.deviation)}" if spread else "–" for spread in spreads]
    rows.append(["mean", "", *cells, ""])
    columns = ("seed", "epoch", *(score.replace("_", " ") for score in summary.scores), "s")
    show_table(columns, rows, title=f"{title}, {len(summary.results)} seeds")
    best = seed_folder(folder, summary.best_seed) / MODEL_FOLDER
    output.print(f"best model by development score: {best}", soft_wrap=True)


def run_parser(recipe: ParserRecipe, folder: Path, *, quiet: bool, **options: Any) -> None:
    """Train a parser and print its scores."""
    from lexitree.tasks.parse.run import train_parser

    with TrainingProgress(recipe.training.epochs, quiet=quiet) as bars:
        observer = ProgressObserver(bars, recipe.training.seed)
        run = train_parser(recipe, folder, observer=observer, **options)
    _show_parser(run)


def _show_parser(run: ParserRun) -> None:
    from lexitree.learning.run_folder import MODEL_FOLDER

    best, num_epochs = run.best, len(run.training.history)
    output.print(f"best epoch {best.epoch} of {num_epochs}:  dev F1 {percent(best.scores['dev_f1'])}")
    if run.test:
        columns = ("test treebank", "style", "F1", "generic F1", "tags", "complete", "best of 8")
        kinds = ("f1", "generic_f1", "tags", "complete_match", "oracle_f1")
        rows = [
            (name, scores["style"] or "generic", *(percent(scores[kind]) for kind in kinds))
            for name, scores in run.test.items()
        ]
        show_table(columns, rows, numbers=())
    output.print(f"parser: {run.folder / MODEL_FOLDER}", soft_wrap=True)
