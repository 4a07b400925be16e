"""The analysis of how often learned heads agree with Collins' head rules, beside chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexitree.corpora.locations import DATA_VARIABLE, data_folders
from lexitree.corpora.mini import load_mini_parses
from lexitree.corpora.named import find_corpus
from lexitree.corpora.treebank import strip_trees
from lexitree.errors import CorpusNotFoundError
from lexitree.files import read_lines
from lexitree.models.classifier import TreeClassifier
from lexitree.trees.brackets import read_bracket_lines
from lexitree.trees.tree import Tree
from lexitree_paper.analyses.job import Findings, Job
from lexitree_paper.analyze.head_overlap import CHOICES, HeadOverlap, model_overlap, read_penn_trees
from lexitree_paper.experiments import Experiment
from lexitree_paper.report import NOT_RUN, Report, Table, percent, spread, training_notes
from lexitree_paper.trained import TrainedSystem

_SST_SPLITS = ("dev", "test")
_WSJ_FILE = "treebanks/wsj.sample.txt"
"""NLTK's sample of the Penn Treebank in the data folder: `file<TAB>tree` on every line."""
_EMBEDDED_PARSES = "mini-questions"
LEARNED, *CHANCE = CHOICES
PAPER_COUNTS = "all inner nodes"
"""The row of the paper's figures."""


@dataclass(frozen=True, slots=True)
class PennTreebank:
    """Trees with Penn labels, and the files they come from."""

    name: str
    trees: Sequence[Tree]
    num_left_out: int = 0
    """Trees that are skipped because the sentiment treebank brackets them differently."""
    files: tuple[Path, ...] = ()


def analyse_overlap(job: Job) -> Findings:
    """Measure every model on every treebank that is available."""
    treebanks, missing = find_treebanks(job)
    systems = job.train()
    measured = [_measure(treebank, systems) for treebank in treebanks]
    figures = {"treebanks": measured, "missing": missing}
    files = [path for treebank in treebanks for path in treebank.files]
    return Findings(systems, figures, files, _EMBEDDED_PARSES)


def find_treebanks(job: Job) -> tuple[list[PennTreebank], list[str]]:
    """Return the available treebanks and the missing files.

    Raises:
        CorpusNotFoundError: None of them is available.
    """
    if job.settings.smoke:
        parses = load_mini_parses()
        return [PennTreebank(f"{_EMBEDDED_PARSES} {split}", parses[split]) for split in _SST_SPLITS], []
    folder = find_corpus(job.recipe.corpus, job.settings.data)
    wanted = {f"SST {split}": folder / f"{split}.tags" for split in _SST_SPLITS}
    there = {name: path for name, path in wanted.items() if path.is_file()}
    missing = [f"sst/{path.name}" for name, path in wanted.items() if name not in there]
    treebanks = [_read_sst(name, path) for name, path in there.items()]
    wsj = [path for known in data_folders(job.settings.data) if (path := known.path / _WSJ_FILE).is_file()]
    treebanks += [PennTreebank("WSJ sample", list(read_wsj(path)), files=(path,)) for path in wsj[:1]]
    missing += [] if wsj else [_WSJ_FILE]
    if not treebanks:
        raise CorpusNotFoundError(
            f"no trees with Penn labels were found: {', '.join(missing)}",
            remedy=f"Set {DATA_VARIABLE} or --data to a folder with one of these files.",
        )
    return treebanks, missing


def _read_sst(name: str, tags: Path) -> PennTreebank:
    sentiment = tags.with_suffix(".txt")
    trees, num_left_out = read_penn_trees(tags, same_as=sentiment)
    return PennTreebank(name, trees, num_left_out, (tags, sentiment))


def read_wsj(path: Path) -> Iterator[Tree]:
    """Read the trees of NLTK's sample without traces; the text before the tab is a file name."""
    lines = ((number, line.rpartition("\t")[2]) for number, line in read_lines(path))
    return strip_trees(read_bracket_lines(lines, str(path)), ["traces"])


def _measure(treebank: PennTreebank, systems: Sequence[TrainedSystem]) -> dict[str, Any]:
    learned: dict[str, list[HeadOverlap]] = {}
    unknown: dict[str, float] = {}
    for system in systems:
        for model in system.models():
            learned.setdefault(system.name, []).append(model_overlap(model, treebank.trees))
            unknown[system.name] = unknown_share(model, treebank.trees)
    overlaps = next(iter(learned.values()))[0]
    return {
        "name": treebank.name,
        "num_trees": len(treebank.trees),
        "num_left_out": treebank.num_left_out,
        "unknown_words": unknown,
        "rows": [
            {
                "phrases": row.phrases,
                "num_phrases": row.num_phrases,
                **{choice: getattr(row, choice) for choice in CHANCE},
                LEARNED: {
                    name: [found.rows()[place].learned for found in by_seed]
                    for name, by_seed in learned.items()
                },
            }
            for place, row in enumerate(overlaps.rows())
        ],
    }


def unknown_share(model: TreeClassifier, trees: Sequence[Tree]) -> float:
    """Return the share of words that the model does not know; it has only the vectors of its own corpus."""
    num_unknown = sum(model.lexicon.count_unknown(tree.words) for tree in trees)
    return num_unknown / sum(tree.num_words for tree in trees)


def report_overlap(experiment: Experiment, record: Mapping[str, Any]) -> Report:
    """Make a table with one row per treebank and kind of phrase."""
    systems: list[str] = list(record["systems"])
    treebanks: list[dict[str, Any]] = record["figures"]["treebanks"]
    columns = (
        "treebank",
        "phrases",
        "count",
        *systems,
        *(name.replace("_", " ") for name in CHANCE),
        "the paper",
    )
    rows = [
        (
            treebank["name"],
            row["phrases"],
            f"{row['num_phrases']:,}",
            *(spread(row[LEARNED][name]) for name in systems),
            *(percent(row[choice]) for choice in CHANCE),
            _paper(experiment, treebank["name"], row["phrases"]),
        )
        for treebank in treebanks
        for row in treebank["rows"]
    ]
    return Report((Table(columns, tuple(rows), tuple(_notes(record)), "", 2),))


def _paper(experiment: Experiment, treebank: str, phrases: str) -> str:
    figure = experiment.details["paper"].get(treebank)
    return f"{figure:.1f}" if figure is not None and phrases == PAPER_COUNTS else NOT_RUN


def _notes(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on the models and the treebanks."""
    yield "heads that agree with Collins' rules, in percent"
    yield from training_notes(record["systems"].values())
    for treebank in record["figures"]["treebanks"]:
        if treebank["num_left_out"]:
            yield f"{treebank['name']}: {treebank['num_left_out']} trees with other brackets are skipped"
        unknown = max(treebank["unknown_words"].values())
        if unknown >= 0.01:
            yield f"{treebank['name']}: {percent(unknown)} % of the words are unknown to the models"
    yield "the paper does not say which nodes it counts"
    if record["figures"]["missing"]:
        yield f"not found: {', '.join(record['figures']['missing'])}"
