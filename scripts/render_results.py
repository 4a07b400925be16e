"""Fill the blocks between `<!-- results: NAME -->` and `<!-- /results -->` of README and docs from records.

    python scripts/render_results.py            # fill the blocks
    python scripts/render_results.py --check    # exit 1 if a file is not up to date

NAME is a record of results/, `NAME:TABLE` one of the tables of a record, `tour/STEP` or `plugin/STEP` (a command with
its output), `file/NAME` (a file of the tour), `example/FILE`, `reproduce/EXPERIMENT`, or one of the tables that are
counted from the package itself or put together from several records: limits, models, recipes, embedded-corpora,
speed, gpu-training-time, robustness, training-losses.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from markdown_text import DEVIATION, fence, make_table, show_cell, show_percent, show_spread, show_title
from result_records import RESULTS, ROOT, current_command, read_record

BLOCK = re.compile(r"(<!-- results: (?P<name>\S+) -->\n).*?(<!-- /results -->)", re.DOTALL)
NOT_MEASURED = "*Not measured yet.*"
SCORES = ("dev_root", "dev_phrase", "test_root", "test_phrase")


def pages() -> list[Path]:
    """The files that may hold blocks."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def render_page(text: str, images: str = "images") -> str:
    """The text with every block filled anew; `images` is the folder of the pictures as seen from the page."""
    return BLOCK.sub(lambda block: f"{block[1]}{render(block['name'], images)}\n{block[3]}", text)


def images_of(page: Path) -> str:
    """The folder of the pictures as seen from a page."""
    depth = len(page.relative_to(ROOT).parts)
    return "docs/images" if depth == 1 else "../" * (depth - 2) + "images"


def render(name: str, images: str = "images") -> str:
    """The content of one block."""
    kind, slash, rest = name.partition("/")
    if kind == "reproduce":
        return render_experiment(rest, images)
    if slash:
        return _PREFIXED[kind](rest)
    if name in _COUNTED:
        return _COUNTED[name]()
    name, _, table = name.partition(":")
    record = read_record(name)
    return render_record(record, table) if record and (not table or table in record) else NOT_MEASURED


def render_record(record: Mapping[str, Any], table: str = "") -> str:
    """The figures of a record, or one table of them, and where they come from."""
    parts = [record["what"][0].upper() + record["what"][1:] + "."] if "what" in record and not table else []
    parts.append(_runs_table(record["runs"]) if "runs" in record else _rows_table(record[table or "rows"]))
    # Tables of one record may have been measured one by one.
    parts.append(_origin({**record, **record.get("origins", {}).get(table, {})}))
    return "\n\n".join(parts)


def _runs_table(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """One row a seed, and the mean with the standard deviation."""
    scores = [score for score in SCORES if all(run[score] is not None for run in runs.values())]
    rows = [
        [
            seed,
            str(run["best_epoch"]),
            *(show_percent(run[score]) for score in scores),
            f"{run['seconds']:.0f}",
        ]
        for seed, run in runs.items()
    ]
    rows.append(["mean", "", *(show_spread([run[score] for run in runs.values()]) for score in scores), ""])
    return make_table(["seed", "best epoch", *map(show_title, scores), "seconds"], rows)


def _rows_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows of a benchmark; lists stay in the record, deviations stand with their means."""
    columns = [
        name
        for name in dict.fromkeys(name for row in rows for name in row)
        if not name.endswith(DEVIATION) and not any(isinstance(row.get(name), list) for row in rows)
    ]
    return make_table(
        [show_title(name) for name in columns], [[show_cell(row, name) for name in columns] for row in rows]
    )


def _origin(record: Mapping[str, Any]) -> str:
    machine = record["machine"]
    processor = machine.get("gpu") or f"{machine['cpu']}, {machine['cores']} cores"
    lines = [
        f"`{current_command(record['command'])}`",
        f"Commit `{record['commit']}`, {record['date']}; {processor}, {machine['memory_gib']} GiB, Python"
        f" {machine['python']}, torch {machine['torch']}."
        + (f" {record['note']}" if "note" in record else ""),
    ]
    return "<br>\n".join(lines)


def render_step(name: str, record: str = "tour") -> str:
    """A command of the tour, or of another record of commands, and what it printed."""
    steps = (read_record(record) or {}).get("steps", {})
    if name not in steps:
        return NOT_MEASURED
    output = steps[name]["output"]
    return fence("console", f"$ {steps[name]['command']}" + (f"\n{output}" if output else ""))


def render_file(name: str) -> str:
    """A file that the tour works on."""
    files = (read_record("tour") or {}).get("files", {})
    return fence("toml" if name.endswith(".toml") else "text", files[name].rstrip("\n"))


def render_example(name: str) -> str:
    """A program of examples/, or another file there."""
    text = (ROOT / "examples" / name).read_text(encoding="utf-8")
    return fence("toml" if name.endswith(".toml") else "python", text.rstrip("\n"))


def render_experiment(name: str, images: str) -> str:
    """An experiment of the paper: what is recorded of it, beside the paper's figures."""
    from lexitree_paper.experiments import find_experiment
    from lexitree_paper.kinds import make_report
    from lexitree_paper.report import to_markdown
    from lexitree_paper.score_tables import read_records

    experiment = find_experiment(name)
    return to_markdown(make_report(experiment, read_records(experiment, RESULTS)), images=images)


def render_models() -> str:
    """Every model with its parameter count at the paper's sizes, counted from the modules."""
    from lexitree.models.catalog import list_models

    rows = [
        [f"`{model.name}`", model.title, str(model.hidden), f"{model.num_parameters:,}", model.about]
        for model in list_models()
    ]
    return make_table(["name", "in the paper", "state size", "parameters", "what it does"], rows)


def render_recipes() -> str:
    """Every recipe with its target, and what was measured with it."""
    from lexitree.models.model_config import DEFAULT_MODEL
    from lexitree.tasks.classify.recipe import Recipe

    rows: list[list[str]] = []
    for path in sorted((ROOT / "recipes").glob("*.toml")):
        recipe = Recipe.from_toml(path)
        text = path.read_text(encoding="utf-8")
        aims = [re.search(rf"^# {name}: (.*)$", text, re.M) for name in ("Paper", "Target")]
        rows.append(
            [
                f"`{path.name}`",
                str(recipe.model.get("model", DEFAULT_MODEL)),
                recipe.corpus,
                *(aim[1] if aim else "" for aim in aims),
                _measured(path.stem),
            ]
        )
    return make_table(
        [
            "recipe",
            "model",
            "corpus",
            "the paper's figures",
            "our own target",
            "measured here: test, mean of seeds",
        ],
        rows,
    )


def _measured(name: str) -> str:
    record = read_record(name)
    if record is None:
        return "not measured yet"
    runs = record["runs"].values()
    scores = [score for score in ("test_root", "test_phrase") if all(run[score] is not None for run in runs)]
    shown = "; ".join(
        f"{show_title(score)[5:]} {show_spread([run[score] for run in runs])}" for score in scores
    )
    return f"{shown} ({len(runs)} seeds, {record['recipe']['training']['epochs']} epochs)"


HEADLINE = (
    ("SST, 5 classes", "main-table", "sst-bicontree", "fine", "sst-fine"),
    ("SST, 2 classes", "main-table", "sst-binary-bicontree", "binary", "sst-binary"),
    ("TREC, 6 question types", "questions", "trec-bicontree", "coarse", "trec"),
)
"""Task, the experiment that has the paper's figure, the record of BiConTree, the task over MiniLM, the corpus."""


def render_headline() -> str:
    """The main results of the three tasks beside the paper's figures."""
    raw = {
        row["corpus"]: row
        for row in (read_record("raw-text-accuracy") or {"rows": []})["rows"]
        if "own_trees_accuracy" in row  # VADER reads no trees
    }
    rows = [
        [
            task,
            _paper_figure(experiment, record),
            _mean_root(read_record(record)),
            *_roots_over_transformer(over_transformer),
            show_percent(raw[corpus]["raw_text_accuracy"]) if corpus in raw else NOT_MEASURED,
        ]
        for task, experiment, record, over_transformer, corpus in HEADLINE
    ]
    header = [
        "task",
        "paper",
        "BiConTree",
        "MiniLM without a tree",
        "BiConTree over MiniLM",
        "shipped model, raw text",
    ]
    return make_table(header, rows)


def _paper_figure(experiment: str, run: str) -> str:
    from lexitree_paper.experiments import find_experiment

    figures = [planned.paper for planned in find_experiment(experiment).runs if planned.name == run]
    return f"{figures[0]['root']:.1f}" if figures and "root" in figures[0] else "–"


def _roots_over_transformer(task: str) -> tuple[str, str]:
    """The transformer alone, and the BiConTree over it with the best development score: the test does not choose."""
    from lexitree_paper.experiments import find_experiment
    from lexitree_paper.score_tables import read_records

    experiment = find_experiment("transformer")
    records = read_records(experiment, RESULTS)
    found = {
        system: records[tasks[task].name]
        for system, tasks in experiment.rows.items()
        if task in tasks and tasks[task].name in records
    }
    trees = [record for system, record in found.items() if system.startswith("BiConTree")]
    best = max(trees, key=_mean_development_root, default=None)
    return _mean_root(found.get("no tree")), _mean_root(best)


def _mean_development_root(record: Mapping[str, Any]) -> float:
    return statistics.fmean(run["dev_root"] for run in record["runs"].values())


def _mean_root(record: Mapping[str, Any] | None) -> str:
    return show_spread([run["test_root"] for run in record["runs"].values()]) if record else NOT_MEASURED


def render_speed() -> str:
    """A few figures of the records on speed, each with where all of them stand."""
    rows: list[list[str]] = []
    if gpu := read_record("gpu-speed"):
        name = gpu["machine"]["gpu"]
        rows += [
            [
                f"an epoch of SST, BiConTree, {name}, batch {row['batch_size']}, {row['precision']}"
                f" ({row['backend']})",
                f"{row['epoch_seconds']:.2f} s",
            ]
            for row in gpu["training"]
        ]
        best = max(gpu["inference"], key=lambda row: row["trees_per_second"])
        rows.append(
            [
                f"inference, {name}, batch {best['batch_size']}, {best['precision']}",
                f"{best['trees_per_second']:,.0f} trees a second",
            ]
        )
    if (seeds := read_record("sst-bicontree")) and "wall_seconds" in seeds:
        epochs = seeds["recipe"]["training"]["epochs"]
        rows.append(
            [
                f"{len(seeds['seeds'])} seeds of {epochs} epochs on one {seeds['machine']['gpu']}, all of it",
                f"{seeds['wall_seconds']:.0f} s",
            ]
        )
    if floor := read_record("cpu-floor"):
        row = next(row for row in floor["rows"] if (row["model"], row["batch_size"]) == ("bicontree", 25))
        rows.append(
            [
                "a training step of BiConTree, one CPU thread, batch 25: share of the time of its matrix products",
                f"{100 * row['share_of_floor']:.0f} %",
            ]
        )
    if peers := read_record("lexitree-vs-peers"):
        rows += [
            [
                f"training against {row['system']} {next(iter(peers['versions'][row['system']].values()))}"
                f" ({row['cell']} cell, one CPU thread, batch 25)",
                f"{row['ratio']:.1f} times as fast ({row['lowest_ratio']:.1f} to {row['highest_ratio']:.1f})",
            ]
            for row in peers["rows"]
            if row["batch_size"] == 25 and row["system"] != "lexitree"
        ]
    return make_table(["what", "measured"], rows) if rows else NOT_MEASURED


def render_gpu_training_time() -> str:
    """How long the systems of the training-time experiment take on a GPU, by the records of their five seeds."""
    rows: list[list[str]] = []
    for system in ("contree", "contree-lex", "bicontree"):
        record = read_record(f"sst-{system}")
        if record is None or not record["machine"].get("gpu"):
            return NOT_MEASURED
        runs = record["runs"].values()
        seconds = sum(run["seconds"] for run in runs) / len(runs)
        rows.append(
            [
                f"`{system}`",
                f"{seconds:.0f}",
                f"{record['wall_seconds']:.0f}",
                str(len(runs)),
                str(record["recipe"]["training"]["epochs"]),
                f"`{record['commit']}`, {record['machine']['gpu']}",
            ]
        )
    header = [
        "system",
        "seconds a seed",
        "seconds, all seeds side by side",
        "seeds",
        "epochs",
        "commit, machine",
    ]
    return make_table(header, rows)


def render_robustness() -> str:
    """What hostile input and faults have done, by their records."""
    rows: list[list[str]] = []
    if fuzz := read_record("fuzz"):
        failures = sum(len(target["failures"]) for target in fuzz["targets"].values())
        what = f"{fuzz['cases']:,} damaged inputs for {len(fuzz['targets'])} readers and commands"
        rows.append(
            [
                what,
                f"{failures} foreign exceptions, peak memory {fuzz['peak_mib']:,} MiB",
                _origin(fuzz).replace("\n", " "),
            ]
        )
    if faults := read_record("fault-injection"):
        what = (
            f"{faults['num_faults']:,} faults at file-system calls of {len(faults['faults'])} operations, and"
            f" {faults['num_kills']} kills at random moments"
        )
        rows.append(
            [what, f"{faults['num_violations']} files damaged or lost", _origin(faults).replace("\n", " ")]
        )
    return make_table(["tried", "outcome", "command, commit and machine"], rows) if rows else NOT_MEASURED


AUTHORS_LOSSES = {1: 20.4, 2: 17.3, 3: 16.1, 4: 15.3, 5: 14.7, 10: 13.1, 30: 11.1}
"""The mean training loss of a sentence by epoch, from the log that the authors released with their code."""


def render_losses() -> str:
    """The training losses of BiConTree by epoch, beside those of the authors' log."""
    rows = [["the authors' log, one seed", *(f"{loss:.1f}" for loss in AUTHORS_LOSSES.values())]]
    for title, name in (
        ("one sentence per update", "sst-bicontree-batch-1"),
        ("batches of 25", "sst-bicontree"),
    ):
        record = read_record(name)
        if record is None:
            return NOT_MEASURED
        runs = record["runs"].values()
        means = [
            statistics.fmean(run["epochs"][epoch - 1]["loss"] for run in runs) for epoch in AUTHORS_LOSSES
        ]
        rows.append([f"{title}, mean of {len(runs)} seeds", *(f"{mean:.1f}" for mean in means)])
    return make_table(["BiConTree, five classes", *(f"epoch {epoch}" for epoch in AUTHORS_LOSSES)], rows)


def render_embedded_corpora() -> str:
    """The sizes of the embedded corpora, counted."""
    from lexitree.corpora.named import load_corpus

    rows: list[list[str]] = []
    for name in ("mini-reviews", "mini-questions"):
        corpus = load_corpus(name)
        for split in corpus.splits:
            counts = corpus.counts(split)
            labels = ", ".join(
                f"{corpus.label_set.name_of(label)} {num}" for label, num in counts.root_labels.items()
            )
            rows.append(
                [
                    name,
                    split,
                    f"{counts.num_trees:,}",
                    f"{counts.num_words:,}",
                    f"{counts.num_labelled:,}",
                    labels,
                ]
            )
    return make_table(
        ["corpus", "split", "sentences", "words", "labelled nodes", "labels of the sentences"], rows
    )


def render_limits() -> str:
    """The limits of the library and of a service, with what they are about."""
    from lexitree.limits import Limits

    columns = [Limits().as_dict(), Limits.for_service().as_dict()]
    rows = [
        [f"`{each.name}`", each.setting.help, *(show_cell(column, each.name) for column in columns)]
        for each in Limits.describe()
    ]
    return make_table(["limit", "what it is about", "`Limits()`", "`Limits.for_service()`"], rows)


_PREFIXED: dict[str, Callable[[str], str]] = {
    "tour": render_step,
    "plugin": partial(render_step, record="plugin"),
    "file": render_file,
    "example": render_example,
}
_COUNTED: dict[str, Callable[[], str]] = {
    "headline": render_headline,
    "speed": render_speed,
    "gpu-training-time": render_gpu_training_time,
    "training-losses": render_losses,
    "robustness": render_robustness,
    "limits": render_limits,
    "models": render_models,
    "recipes": render_recipes,
    "embedded-corpora": render_embedded_corpora,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a file is stale")
    check_only = parser.parse_args().check
    stale: list[str] = []
    for path in pages():
        text = path.read_text(encoding="utf-8")
        rendered = render_page(text, images_of(path))
        if rendered != text:
            stale.append(str(path.relative_to(ROOT)))
            if not check_only:
                path.write_text(rendered, encoding="utf-8")
    if check_only and stale:
        print(f"not up to date with {RESULTS.name}/: {', '.join(stale)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
