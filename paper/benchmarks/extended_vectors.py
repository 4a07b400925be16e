"""Measure how good the vectors are that words get which a file of vectors lacks, and what they tell of sentiment.

    python paper/benchmarks/extended_vectors.py glove.840B.300d.npz \
        --encoder minilm --output results/extended-vectors.json

Of the words in lower case, some are held out. Vectors are predicted for them by each way there is: the mean of
all vectors, their letters (`fit_guesser`), the table of a transformer's pieces, its states, and table and states
together, which is what `lexitree vectors extend` does. They are compared with their own vectors, by cosine, and by a
linear probe that is fitted to the valences of VADER's lexicon (Hutto and Gilbert 2014; the package vaderSentiment)
on the other words: how often it gives the right sign for the predicted vectors of held-out words, and for words of
the lexicon that have no vector at all, such as `omg` and `yummy`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

import root_path  # noqa: F401
from environment import describe_run
from lexitree.arrays import FloatArray
from lexitree.lexicon.vector_extension import cosines, fit_map
from lexitree.lexicon.vector_files import read_vectors, with_length
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.guesses import fit_guesser
from lexitree.models.lone_words import LoneWordReader

Predict = Callable[[Sequence[str]], FloatArray]
RIDGE = 10.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--encoder", required=True, help="the transformer")
    parser.add_argument("--held-out", type=int, default=1500)
    parser.add_argument("--fitted", type=int, default=12_000, help="words that the ways are fitted to")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    vectors = with_length(read_vectors(options.vectors), 6.0)
    known = Vocabulary(vectors.words, "folded")
    row_of = dict(zip(vectors.words, vectors.vectors, strict=True))
    valences = read_valences()
    plain = [word for word in vectors.words if word == word.lower() and word.isalpha() and len(word) > 1]
    random.Random(1).shuffle(plain)
    # Half of the held-out words have a valence, or few would.
    held_out = [word for word in plain if word in valences][: options.held_out // 2]
    held_out += [word for word in plain if word not in valences][: options.held_out - len(held_out)]
    hidden = set(held_out)
    fitted = [word for word in plain if word not in hidden][: options.fitted]
    missing = [word for word in valences if word.isalpha() and not known.index(word)]
    probe = fit_probe([word for word in plain if word in valences and word not in hidden], row_of, valences)
    rows: list[dict[str, Any]] = []
    truth = np.array([row_of[word] for word in held_out])
    for name, predict in ways(fitted, row_of, options.encoder).items():
        guesses = predict(held_out)
        row = {
            "way": name,
            "similarity": float(cosines(guesses, truth).mean()),
            "sign_held_out": share_of_signs(probe, held_out, guesses, valences),
            "sign_without_vector": share_of_signs(probe, missing, predict(missing), valences),
        }
        rows.append(row)
        print(json.dumps(row), flush=True)
    rows.append({"way": "own vectors", "sign_held_out": share_of_signs(probe, held_out, truth, valences)})
    print(json.dumps(rows[-1]))
    if options.output:
        record = {
            **describe_run({"vectors": options.vectors}),
            "what": "vectors predicted for words that a file lacks",
            "seeds": [1],
            "num_held_out": len(held_out),
            "num_fitted": len(fitted),
            "num_without_vector": len(missing),
            "rows": rows,
        }
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def read_valences() -> dict[str, float]:
    """The words of VADER's lexicon, without emoticons, and their mean valence from -4 to 4."""
    analyzer = importlib.import_module("vaderSentiment.vaderSentiment").SentimentIntensityAnalyzer()
    return {word: float(valence) for word, valence in analyzer.lexicon.items() if word.isalpha()}


def ways(words: Sequence[str], row_of: Mapping[str, FloatArray], encoder: str) -> dict[str, Predict]:
    """Ways to predict the vectors of other words, fitted to these."""
    truth = np.array([row_of[word] for word in words])
    mean = truth.mean(0)
    guesser = fit_guesser(list(words), torch.from_numpy(truth)).guesser
    reader = LoneWordReader(encoder)
    features = reader.features(words)
    half = features.shape[1] // 2
    parts = {"table": slice(0, half), "states": slice(half, None), "table and states": slice(None)}
    mapped: dict[str, Predict] = {}
    for name, part in parts.items():
        linear = fit_map(features[:, part], truth)
        mapped[name] = lambda asked, linear=linear, part=part: linear(reader.features(asked)[:, part])
    return {
        "mean of all": lambda asked: np.tile(mean, (len(asked), 1)),
        "letters": lambda asked: guesser(list(asked)).numpy(),
        **mapped,
    }


def fit_probe(
    words: Sequence[str], row_of: Mapping[str, FloatArray], valences: Mapping[str, float]
) -> Callable[[FloatArray], FloatArray]:
    inputs = np.array([row_of[word] for word in words])
    outputs = np.array([valences[word] for word in words])
    centre, target = inputs.mean(0), outputs.mean()
    x = inputs - centre
    gram = x.T @ x + RIDGE * np.eye(x.shape[1])
    weights = cast(FloatArray, np.linalg.solve(gram, x.T @ (outputs - target)))
    return lambda rows: (rows - centre) @ weights + target


def share_of_signs(
    probe: Callable[[FloatArray], FloatArray],
    words: Sequence[str],
    rows: FloatArray,
    valences: Mapping[str, float],
) -> float:
    """How often the probe gives the sign of the valence, among words that have one: the mean over both signs."""
    gold = np.array([valences.get(word, 0.0) for word in words])
    is_right = np.sign(probe(rows)) == np.sign(gold)
    return float(np.mean([is_right[gold > 0].mean(), is_right[gold < 0].mean()]))


if __name__ == "__main__":
    main()
