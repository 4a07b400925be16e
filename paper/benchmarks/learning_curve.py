"""Measure how many labelled texts a model needs: fine-tuned from `sentiment`, from scratch, and TF-IDF.

    python paper/benchmarks/learning_curve.py --domains sentfin --output results/learning-curve-sentfin.json
    python paper/benchmarks/learning_curve.py --domains finegrained --output results/learning-curve-finegrained.json

Texts of three classes come through LEXITREE_DATA (`domains/NAME/train.tsv.gz`). Of the training part 50, 200 and
1,000 texts are drawn with each of five seeds; the development part, at most 1,000 texts, is scored on. The model
`sentiment` with which the records were made had seen neither domain; later ones have learned from both. The settings
of fine-tuning were chosen on other domains:

    python paper/benchmarks/learning_curve.py --domains hutto-nyt sentihood --sizes 50 200 --seeds 1 2
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import root_path  # noqa: F401
from environment import describe_run
from lexitree.corpora.text_files import read_texts
from lexitree.corpora.text_tables import LabelledText, LabelledTexts, TableSettings
from lexitree.parsers.adapters import open_parser
from lexitree.parsers.protocol import Parser
from lexitree.tasks.classify.recipe import RANDOM_VECTORS, Recipe, TrainingConfig
from lexitree.tasks.classify.run import train
from lexitree.tasks.classify.starting import fine_tuning_recipe
from lexitree.tasks.classify.text_corpus import corpus_from_texts
from lexitree.trees.tree import Tree

SIZES = (50, 200, 1000)
SEEDS = (1, 2, 3, 4, 5)
MAX_SCORED = 1000
SCRATCH = Recipe(vectors=RANDOM_VECTORS, training=TrainingConfig(epochs=15, batch_size=10, patience=3))
"""As many texts per update as fine-tuning has, and more epochs."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--domains", nargs="+", default=["sentfin", "finegrained"])
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS)[:3], choices=list(SYSTEMS))
    parser.add_argument("--set", dest="settings", nargs="*", default=[], help="settings of fine-tuning")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    settings = Recipe.parse_assignments(options.settings)
    cache = CachedParser(open_parser("builtin"))
    runs: list[dict[str, Any]] = []
    # The record itself may be a file of the repository, and change it.
    described = describe_run(
        {f"{file.parent.name}/{file.name}": file for file in data_files(options.domains)}
    )
    for domain in options.domains:
        pool, scored = (read_part(domain, part) for part in ("train", "dev"))
        scored = draw(scored, min(MAX_SCORED, len(scored.rows)), 0)
        for size, seed, system in product(options.sizes, options.seeds, options.systems):
            start = time.process_time()
            accuracy = SYSTEMS[system](draw(pool, size, seed), scored, cache, seed, settings)
            seconds = round(time.process_time() - start, 1)
            run = {"domain": domain, "texts": size, "seed": seed, "system": system}
            runs.append({**run, "accuracy": accuracy, "cpu_seconds": seconds})
            print(*run.values(), f"{100 * accuracy:.1f}", f"{seconds} s", flush=True)
        # After each domain: a run that is stopped has something to show.
        if options.output:
            write_record(options.output, described, options.seeds, settings, runs)
    for row in summarize(runs):
        print(row)


def write_record(
    path: Path,
    described: Mapping[str, Any],
    seeds: Sequence[int],
    settings: Settings,
    runs: list[dict[str, Any]],
) -> None:
    record = {
        **described,
        "what": "accuracy of models trained on few texts, three classes: the mean over draws",
        "seeds": list(seeds),
        "fine_tuning": fine_tuning_recipe("sentiment").with_values(settings).training.as_dict(),
        "from_scratch": SCRATCH.training.as_dict(),
        "rows": summarize(runs),
        "draws": runs,
    }
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def data_files(domains: Iterable[str]) -> list[Path]:
    folder = Path(os.environ["LEXITREE_DATA"]) / "domains"
    return [folder / domain / f"{part}.tsv.gz" for domain in domains for part in ("train", "dev")]


def read_part(domain: str, part: str) -> LabelledTexts:
    return read_texts(Path(os.environ["LEXITREE_DATA"]) / "domains" / domain / f"{part}.tsv.gz")


def draw(texts: LabelledTexts, size: int, seed: int) -> LabelledTexts:
    """Some texts by chance; a larger draw with the same seed holds the smaller one."""
    order = random.Random(seed).sample(range(len(texts.rows)), len(texts.rows))
    return LabelledTexts(texts.name, [texts.rows[row] for row in order[:size]])


class CachedParser:
    """Parses each sentence once, however often it is drawn."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser
        self.trees: dict[tuple[str, ...], Tree] = {}

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        asked = [tuple(words) for words in sentences]
        new = list(dict.fromkeys(words for words in asked if words not in self.trees))
        self.trees.update(zip(new, self.parser.parse_all(new), strict=True))
        return (self.trees[words] for words in asked)


Settings = dict[str, Any]
System = Callable[[LabelledTexts, LabelledTexts, CachedParser, int, Settings], float]


def fine_tuned(
    drawn: LabelledTexts, scored: LabelledTexts, parser: CachedParser, seed: int, settings: Settings
) -> float:
    return _train(fine_tuning_recipe("sentiment").with_values(settings), drawn, scored, parser, seed)


def from_scratch(
    drawn: LabelledTexts, scored: LabelledTexts, parser: CachedParser, seed: int, settings: Settings
) -> float:
    del settings
    return _train(SCRATCH, drawn, scored, parser, seed)


def with_shipped_vectors(
    drawn: LabelledTexts, scored: LabelledTexts, parser: CachedParser, seed: int, settings: Settings
) -> float:
    del settings
    return _train(SCRATCH.with_values({"vectors": "sentiment"}), drawn, scored, parser, seed)


def _train(
    recipe: Recipe, drawn: LabelledTexts, scored: LabelledTexts, parser: CachedParser, seed: int
) -> float:
    table = TableSettings(dev=recipe.table.dev, test=0, seed=seed)
    corpus = corpus_from_texts({"train": drawn, "test": scored}, parser, table)
    with tempfile.TemporaryDirectory() as folder:
        run = train(recipe.with_seed(seed), Path(folder) / "run", corpus=corpus)
    accuracy = run.scores()["test_root"]
    assert accuracy is not None
    return accuracy


def tf_idf(
    drawn: LabelledTexts, scored: LabelledTexts, parser: CachedParser, seed: int, settings: Settings
) -> float:
    """Words and pairs of words; the strength of the penalty is chosen by cross-validation on the drawn texts."""
    del parser, settings
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from threadpoolctl import threadpool_limits

    words = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LogisticRegression(max_iter=2000)
    )
    search = GridSearchCV(
        words,
        {"logisticregression__C": [0.1, 1, 10, 100]},
        cv=StratifiedKFold(5, shuffle=True, random_state=seed),
    )
    # On two cores, the threads of the small products would wait for each other.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rare class may have fewer than five texts
        search.fit(_texts(drawn.rows), drawn.labels)
    return float(search.score(_texts(scored.rows), scored.labels))


def _texts(rows: Sequence[LabelledText]) -> list[str]:
    return [row.text for row in rows]


SYSTEMS: dict[str, System] = {
    "fine-tuned": fine_tuned,
    "from_scratch": from_scratch,
    "TF-IDF": tf_idf,
    "shipped_vectors": with_shipped_vectors,
}


def summarize(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each domain and size, with the mean and deviation of each system."""
    rows: list[dict[str, Any]] = []
    for domain, size in dict.fromkeys((run["domain"], run["texts"]) for run in runs):
        row: dict[str, Any] = {"domain": domain, "texts": size}
        for system in dict.fromkeys(run["system"] for run in runs):
            scores = [
                run["accuracy"]
                for run in runs
                if (run["domain"], run["texts"], run["system"]) == (domain, size, system)
            ]
            row[f"{system}_accuracy"] = statistics.mean(scores)
            row[f"{system}_accuracy_deviation"] = statistics.stdev(scores) if len(scores) > 1 else 0.0
        rows.append(row)
    return rows


if __name__ == "__main__":
    main()
