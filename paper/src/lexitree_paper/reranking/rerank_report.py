"""The tables of the reranking experiment beside the paper's figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lexitree.evaluation.significance import RecipeDifference
from lexitree_paper.experiments import Experiment
from lexitree_paper.report import NOT_RUN, Picture, Report, Table, percent, spread, training_notes

BOUNDS = {
    "random_f1": "a candidate at random",
    "first_f1": "the parser's own choice",
    "oracle_f1": "{k}-best oracle",
}
_MIN_GOLD = 50
"""Labels that are rarer in the gold trees are omitted."""


def report_reranking(experiment: Experiment, record: Mapping[str, Any]) -> Report:
    """Report F1 with its bounds, comparisons of systems, one system by length and label, and heads."""
    figures = record["figures"]
    tables = [
        _score_table(experiment, record),
        _comparison_table(figures),
        _detail_table(experiment, figures, "by_length", "sentence length"),
        _detail_table(experiment, figures, "by_label", "label"),
        _head_table(figures),
    ]
    pictures = tuple(Picture(file, _caption(figures)) for file in record["pictures"])
    return Report(tuple(table for table in tables if table is not None), pictures)


def _caption(figures: Mapping[str, Any]) -> str:
    drawn = figures["drawn"]
    title = figures["lists"][drawn["lists"]]["title"]
    return f"Head words that {drawn['system']} has learned on {title}, seed {drawn['seed']}"


def _score_table(experiment: Experiment, record: Mapping[str, Any]) -> Table:
    figures = record["figures"]
    lists: Mapping[str, Mapping[str, Any]] = figures["lists"]
    columns = ["choice"]
    for values in lists.values():
        columns += [f"{values['title']} F1", "gap closed (%)", "p"]
    columns += ["the paper, WSJ 23", "gap closed (%)"]
    at_random, first, oracle = (_bound_row(key, lists, experiment.details["paper"]) for key in BOUNDS)
    systems = [_system_row(name, values, lists, experiment) for name, values in figures["systems"].items()]
    rows = [at_random, first, *systems, oracle]
    return Table(tuple(columns), tuple(rows), _notes(record))


def _bound_row(
    key: str, lists: Mapping[str, Mapping[str, Any]], paper: Mapping[str, float]
) -> tuple[str, ...]:
    title = BOUNDS[key].format(k=max(values["k"] for values in lists.values()))
    cells = [cell for values in lists.values() for cell in (percent(values[key]), NOT_RUN, NOT_RUN)]
    return title, *cells, (f"{paper[key]:.2f}" if key in paper else NOT_RUN), NOT_RUN


def _system_row(
    name: str, system: Mapping[str, Any], lists: Mapping[str, Any], experiment: Experiment
) -> tuple[str, ...]:
    cells: list[str] = []
    for key in lists:
        figures = system.get(key)
        if figures is None:
            cells += [NOT_RUN] * 3
            continue
        tested = figures["significance"]
        shown = RecipeDifference(**tested).shown_p() if tested else NOT_RUN
        cells += [spread(figures["f1"]), spread(figures["gap_closed"]), shown]
    printed = {values["name"]: values.get("paper") for values in experiment.details["systems"]}.get(name)
    return name, *cells, *_paper_cells(printed, experiment.details["paper"])


def _paper_cells(printed: float | None, paper: Mapping[str, float]) -> tuple[str, str]:
    if printed is None:
        return NOT_RUN, NOT_RUN
    gap = (printed - paper["first_f1"]) / (paper["oracle_f1"] - paper["first_f1"])
    return f"{printed:.2f}", percent(gap)


def _notes(record: Mapping[str, Any]) -> tuple[str, ...]:
    notes = training_notes([record])
    for values in record["figures"]["lists"].values():
        how = f"in {values['folds']} folds" if values["folds"] else "with other texts to train on"
        held_out = f"{100 * values['dev_share']:g} % of the training lists held out for development"
        notes.append(f"{values['title']}: {values['sentences']:,} sentences, {how}, {held_out}")
    notes.append("gap closed: share of the distance from the parser's own choice to the oracle")
    notes.append("p: against the parser's own choice, two-sided, over seeds and sentences together")
    return tuple(notes)


def _comparison_table(figures: Mapping[str, Any]) -> Table | None:
    if not figures["comparisons"]:
        return None
    rows = [
        (
            f"{row['first']} minus {row['second']}",
            figures["lists"][row["lists"]]["title"],
            f"{100 * row['difference']:+.2f}",
            f"{100 * row['low']:+.2f} to {100 * row['high']:+.2f}",
            RecipeDifference(**{name: row[name] for name in RecipeDifference.__slots__}).shown_p(),
        )
        for row in figures["comparisons"]
    ]
    columns = ("systems", "lists", "difference in F1", "95 %", "p")
    return Table(columns, tuple(rows), (), "systems against each other", 2)


def _detail_table(experiment: Experiment, figures: Mapping[str, Any], key: str, what: str) -> Table | None:
    """Tabulate F1 of one system and of the parser, on the first set of lists."""
    name = experiment.details["shown"]
    lists = next(iter(figures["lists"]))
    shown = figures["systems"].get(name, {}).get(lists)
    if shown is None:
        return None
    if key == "by_length":
        count = "sentences"
        parts = [(f"{row['first']}–{row['last']} words", row["sentences"], row) for row in shown[key]]
    else:
        count = "in gold trees"
        parts = [(row["label"], row["gold"], row) for row in shown[key] if row["gold"] >= _MIN_GOLD]
    rows = [
        (part, f"{number:,}", percent(row["first_f1"]), percent(row["f1"])) for part, number, row in parts
    ]
    title = f"{figures['lists'][lists]['title']} by {what}, {name}"
    return Table((what, count, "the parser's F1", "the reranker's F1"), tuple(rows), (), title)


def _head_table(figures: Mapping[str, Any]) -> Table | None:
    """Tabulate how often learned heads agree with Collins' rules, for rerankers and sentiment models."""
    if not figures["heads"]:
        return None
    rows = [
        (
            f"{row['system']}, {figures['lists'][row['lists']]['title']}",
            row["phrases"],
            f"{row['num_phrases']:,}",
            spread(row["learned"]),
            *(percent(row[choice]) for choice in ("always_left", "always_right", "random_child")),
        )
        for row in figures["heads"]
    ]
    sentiment = figures.get("sentiment_heads")
    if sentiment:
        rows += [
            (
                f"{system} for sentiment, {sentiment['treebank']}",
                phrases,
                NOT_RUN,
                spread(shares),
                *[NOT_RUN] * 3,
            )
            for phrases, systems in sentiment["rows"].items()
            for system, shares in systems.items()
        ]
    columns = ("model", "phrases", "count", "learned", "always left", "always right", "random child")
    title = "learned heads that are Collins' heads (%)"
    return Table(columns, tuple(rows), ("gold trees of sentences that were not trained on",), title, 2)
