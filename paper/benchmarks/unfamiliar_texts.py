"""Measure how many texts carry a warning that the model does not know them, in English and in other languages.

    python paper/benchmarks/unfamiliar_texts.py sentiment --output results/unfamiliar-texts.json
    python paper/benchmarks/unfamiliar_texts.py vectors-everyday.npz

The English texts are the development parts of the domains under LEXITREE_DATA: at most 0.5 % may carry one. The
threshold (`lexitree.lexicon.unfamiliar`) was chosen on these and on other_languages.tsv. Given a file of vectors
instead of a model, words are looked up in it by `--lookup`.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import root_path  # noqa: F401
from environment import describe_run
from lexitree.corpora.text_files import read_texts
from lexitree.lexicon.unfamiliar import warn_of_unfamiliar
from lexitree.lexicon.vector_files import read_vectors
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.saving.pretrained import from_pretrained
from lexitree.text import split_sentences

LANGUAGES = Path(__file__).with_name("other_languages.tsv")
CountUnknown = Callable[[Sequence[str]], int]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a model, or a file of word vectors")
    parser.add_argument("--lookup", choices=("typed", "folded"), default="folded")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    domains = sorted((Path(os.environ["LEXITREE_DATA"]) / "domains").glob("*/dev.tsv.gz"))
    count_unknown = open_words(options.model, options.lookup)
    rows: list[dict[str, Any]] = [
        {"texts": file.parent.name, **count(domain_texts(file), count_unknown)} for file in domains
    ]
    rows.append(
        {
            "texts": "all domains",
            **{key: sum(row[key] for row in rows) for key in ("num_texts", "num_warned")},
        }
    )
    languages: dict[str, list[str]] = {}
    for line in LANGUAGES.read_text("utf-8").splitlines():
        language, text = line.split("\t")
        languages.setdefault(language, []).append(text)
    rows += [{"texts": language, **count(texts, count_unknown)} for language, texts in languages.items()]
    for row in rows:
        row["share"] = row["num_warned"] / row["num_texts"]
        print(f"{row['texts']:<16}{row['num_warned']:>6} of {row['num_texts']:>6}{row['share']:9.2%}")
    if options.output:
        files = {f"domains/{file.parent.name}/dev": file for file in domains}
        record = {
            **describe_run({**files, LANGUAGES.name: LANGUAGES}),
            "what": "texts that carry a warning that the model does not know them",
            "seeds": [],
            "rows": rows,
        }
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def open_words(name: str, lookup: Any) -> CountUnknown:
    if not name.endswith(".npz"):
        return from_pretrained(name).lexicon.count_unknown
    vocabulary = Vocabulary(read_vectors(name).words, lookup)
    return lambda words: int(np.count_nonzero(vocabulary.indices(words) == 0))


def domain_texts(file: Path) -> Iterator[str]:
    return (row.text for row in read_texts(file).rows)


def count(texts: Iterable[str], count_unknown: CountUnknown) -> dict[str, int]:
    found = [
        bool(warn_of_unfamiliar([sentence.forms for sentence in split_sentences(text)], count_unknown))
        for text in texts
    ]
    return {"num_texts": len(found), "num_warned": sum(found)}


if __name__ == "__main__":
    main()
