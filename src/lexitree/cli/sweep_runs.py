"""Runs a sweep from the command line: a line for each trial, and the report at the end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from lexitree.cli.console import messages, output, percent, printable, show_table
from lexitree.errors import ConfigError

if TYPE_CHECKING:
    from lexitree.sweeps.ledger import FinishedTrial, Sweep
    from lexitree.sweeps.search_space import SearchSpace
    from lexitree.tasks.classify.recipe import Recipe

NUM_SHOWN = 10
"""How many trials the table at the end shows."""


def run_sweep(
    recipe: Recipe,
    space: SearchSpace,
    folder: Path,
    *,
    engine: str,
    address: str | None,
    resume: bool,
    quiet: bool,
    jobs: int,
    options: Mapping[str, Any],
) -> None:
    """Run a sweep, write its report and print the best trials."""
    from lexitree.sweeps.ledger import best_trial, open_sweep
    from lexitree.sweeps.sweep_report import BEST_FILE, REPORT_FILE, rank_trials, write_report
    from lexitree.sweeps.trial import read_trial_corpus

    if address and engine != "ray":
        raise ConfigError("there is a cluster, but not the engine for it", remedy="Add --engine ray.")
    _require(engine)
    # Every process reads the corpus for itself: here it is read to fail early.
    corpus = read_trial_corpus(recipe)
    lines = _SweepProgress(quiet)
    arguments: dict[str, Any] = {"jobs": jobs, "options": options, "on_trial": lines.on_trial}
    with open_sweep(folder, recipe, space, resume=resume, **arguments) as sweep:
        lines.describe(sweep, corpus.name)
        try:
            with lines.bars:
                _run(sweep, engine, address, lines)
        finally:
            trials = sweep.finished()
            if trials:
                write_report(sweep)
    best = best_trial(trials)
    _show_trials(rank_trials(trials)[:NUM_SHOWN], len(trials), sweep.score)
    output.print(
        f"best: trial {best.number}, {printable(describe_settings(best))}", soft_wrap=True, markup=False
    )
    output.print(f"recipe: {folder / BEST_FILE}", soft_wrap=True)
    output.print(f"report: {folder / REPORT_FILE}", soft_wrap=True)


def _require(engine: str) -> None:
    """Fail before anything is written if an extra is missing."""
    from lexitree.sweeps.proposals import require_optuna
    from lexitree.sweeps.sweep_report import require_report

    require_optuna()
    require_report()
    if engine == "ray":
        from lexitree.integrations.tune_engine import require_tune

        require_tune()


def _run(sweep: Sweep, engine: str, address: str | None, lines: _SweepProgress) -> None:
    if sweep.is_done:
        return
    if engine == "ray":
        from lexitree.integrations.tune_engine import run_with_tune

        run_with_tune(sweep, address=address, on_progress=lines.on_epoch)
    else:
        from lexitree.sweeps.local_engine import run_locally

        run_locally(sweep, on_progress=lines.on_epoch)


class _SweepProgress:
    """A bar for the sweep with the newest epoch, and a line for each trial that has ended."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.score = ""
        columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
        self.bars = Progress(*columns, console=messages, transient=True, disable=quiet)
        self.bar = self.bars.add_task("", total=None)

    def describe(self, sweep: Sweep, corpus: str) -> None:
        """Say what will be done."""
        self.score = sweep.score
        num_done = len(sweep.store.trials)
        self.bars.update(self.bar, total=sweep.num_trials, completed=num_done)
        if not self.quiet:
            before = f", {num_done} of them done before" if num_done else ""
            seeds = ", ".join(map(str, sweep.space.settings.seeds))
            messages.print(f"{sweep.num_trials} trials{before}; seeds {seeds}; {corpus}", soft_wrap=True)

    def on_epoch(self, number: int, seed: int, epoch: int, score: float) -> None:
        """Show the newest score."""
        self.bars.update(self.bar, description=f"trial {number} seed {seed} epoch {epoch}: {percent(score)}")

    def on_trial(self, trial: FinishedTrial) -> None:
        """Print how a trial has ended."""
        self.bars.update(self.bar, advance=1)
        if not self.quiet:
            text = f"trial {trial.number:>3}  {describe_outcome(trial, self.score):<24}  {describe_settings(trial)}"
            messages.print(printable(text), soft_wrap=True, markup=False)


def describe_outcome(trial: FinishedTrial, score: str) -> str:
    """`dev root 84.2 ± 0.5`, `stopped at epoch 3`, or `failed: ...`."""
    outcome = trial.outcome
    if outcome.spread is not None:
        deviation = f" ± {percent(outcome.spread.deviation)}" if len(outcome.curves) > 1 else ""
        return f"{score} {percent(outcome.spread.mean)}{deviation}"
    if outcome.state == "failed":
        return f"failed: {outcome.error}"
    seed, curve = list(outcome.curves.items())[-1]
    where = f" of seed {seed}" if len(outcome.curves) > 1 else ""
    return f"stopped after epoch {len(curve)}{where}"


def describe_settings(trial: FinishedTrial) -> str:
    """`learning_rate=0.00118 dropout=0.2`: what a trial changes, or the name of its variant."""
    return " ".join(
        f"{name.rpartition('.')[2]}={f'{value:.4g}' if isinstance(value, float) else value}"
        for name, value in trial.parameters.items()
    )


def _show_trials(trials: list[FinishedTrial], num_trials: int, score: str) -> None:
    rows = [[str(trial.number), describe_outcome(trial, score), describe_settings(trial)] for trial in trials]
    title = (
        f"{num_trials} trials"
        if len(trials) == num_trials
        else f"the first {len(trials)} of {num_trials} trials"
    )
    show_table(("trial", "result", "settings"), rows, title=title, numbers=("trial",))
