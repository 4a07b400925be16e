"""The analysis of root accuracy by sentence length, with its plot."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from lexitree.views.plots import require_plots
from lexitree_paper.analyses.job import Findings, Job, collect_test_answers
from lexitree_paper.analyze.comparison import LengthBin, accuracy_by_length
from lexitree_paper.analyze.curves import plot_lengths
from lexitree_paper.analyze.mistakes import kind_masks, take_slice
from lexitree_paper.experiments import Experiment
from lexitree_paper.report import NOT_RUN, Picture, Report, Table, percent, training_notes

PLOT = "accuracy-by-length"
_FEWEST_SENTENCES = 20
"""The last bin has at least this many sentences: an accuracy over one sentence means nothing."""


def analyse_lengths(job: Job) -> Findings:
    """Compute accuracy in bins of five words, as in the paper's plot, and on long and shorter sentences."""
    # Fail before anything is trained.
    require_plots(PLOT)
    answers, found, corpus = collect_test_answers(job)
    bins = accuracy_by_length(answers, fewest=_FEWEST_SENTENCES)
    path = job.picture_path(PLOT)
    plot_lengths(bins, path)
    long = [
        take_slice(title, answers, chosen)
        for title, chosen in kind_masks(answers[0]).items()
        if "words" in title
    ]
    figures = {
        "split": f"{corpus.name} test",
        "bins": [part.as_dict() for part in bins],
        "long_sentences": [part.as_dict() for part in long],
    }
    return dataclasses.replace(found, figures=figures, pictures=[path.name])


def report_lengths(experiment: Experiment, record: Mapping[str, Any]) -> Report:
    """Report the plot and its figures."""
    figures = record["figures"]
    systems: list[str] = list(record["systems"])
    bins = [(LengthBin(**part).title, part) for part in figures["bins"]]
    parts = [*bins, *((part["title"], part) for part in figures["long_sentences"])]
    rows = [
        (title, str(part["num_sentences"]), *(share_with_deviation(part, name) for name in systems))
        for title, part in parts
    ]
    notes = [f"{figures['split']}, root accuracy", *training_notes(record["systems"].values())]
    notes += [f"the paper, {title}: {said}" for title, said in experiment.details["paper"].items()]
    table = Table(("words", "sentences", *systems), tuple(rows), tuple(notes))
    return Report((table,), (Picture(record["pictures"][0], experiment.title),))


def share_with_deviation(part: Mapping[str, Any], system: str) -> str:
    """Format an accuracy in percent, with the deviation if seeds differ."""
    share, deviation = part["accuracies"][system], part["deviations"][system]
    if share is None:
        return NOT_RUN
    return percent(share) + (f" ± {percent(deviation)}" if deviation else "")
