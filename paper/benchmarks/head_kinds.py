"""Count which kinds of words a model takes for the heads of phrases, and how sure it is of them.

    python paper/benchmarks/head_kinds.py sentiment runs/mine/model --output results/head-kinds.json
    python paper/benchmarks/head_kinds.py sentiment --candidates content --rows 200

Sentences are those of SST's development part and of the domains' (`domains/NAME/dev.tsv.gz` and the texts of
`mams/dev.spans.jsonl.gz` under LEXITREE_DATA; of each set, the first rows). Phrases of three words or more are
counted, by the tags that the parser gives their head words: a telling head is a noun, verb, adjective, adverb or
negation, and punctuation counts only where the phrase has other words. SST's root accuracy from its own trees is
given too. Then the head word of each polar sentence is read alone: does it have the side of the whole?
`--candidates` overrides the setting that a model was trained with.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

import lexitree
import root_path  # noqa: F401
from environment import describe_run
from lexitree import Sentence, TextPipeline, TokenizedText, detokenize
from lexitree.arrays import DoubleArray
from lexitree.corpora.named import find_corpus, load_corpus
from lexitree.corpora.text_files import read_texts
from lexitree.models.classifier import TreeClassifier
from lexitree.models.head_methods import HeadComposer
from lexitree.ops.weights import HeadCandidates
from lexitree.text.word_kinds import WordKind, word_kind
from polarity_systems import NEGATIVE, NEUTRAL, POSITIVE, SIDES, by_side

MIN_WORDS = 3
OPEN_CLASSES = ("NN", "VB", "JJ", "RB")
"""Beginnings of the tags of nouns, verbs, adjectives and adverbs."""
NEGATIONS = frozenset({"not", "n't", "no", "never", "none", "nothing", "nobody", "neither", "nor", "without"})
PUNCTUATION_TAGS = frozenset({",", ":", ".", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"})
SST_NEUTRAL = "2"
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", help="shipped models or folders")
    parser.add_argument("--candidates", choices=("all", "words", "content"), help="override the models' own")
    parser.add_argument("--rows", type=int, default=400, help="sentences of each set")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    described = describe_run({"sst": find_corpus("sst") / "dev.txt", **dict(data_files())})
    pipes = {name: open_model(name, options.candidates) for name in options.models}
    tables = {
        "heads": [row for name, pipe in pipes.items() for row in measure_heads(name, pipe, options.rows)],
        "sst": [measure_sst(name, pipe) for name, pipe in pipes.items()],
        "alone": [row for name, pipe in pipes.items() for row in measure_alone(name, pipe, options.rows)],
    }
    if options.output:
        record = {**described, "seeds": [], **tables}
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def open_model(name: str, candidates: HeadCandidates | None) -> TextPipeline:
    """The model as `lexitree.load` opens it or, to have other candidates, in torch, whose modules can be changed."""
    if candidates is None:
        return lexitree.load(name, reads="text", parser="builtin")
    pipe = lexitree.load(name, reads="text", parser="builtin", backend="levelwise")
    model = pipe.predictor.model
    assert isinstance(model, TreeClassifier)
    assert isinstance(model.encoder.heads, HeadComposer)
    model.encoder.heads.candidates = candidates
    model.config = replace(model.config, head_candidates=candidates)
    return pipe


def measure_heads(name: str, pipe: TextPipeline, num_rows: int) -> Iterator[Row]:
    """A row for each set of texts, and one for all of them."""
    about: Row = {"model": name, "candidates": pipe.predictor.model.config.head_candidates}
    total: Counter[str] = Counter()
    for set_name, texts in read_sets(num_rows):
        counts = count_heads(pipe, texts)
        total += counts
        yield show({**about, "set": set_name}, counts)
    yield show({**about, "set": "all"}, total)


def measure_sst(name: str, pipe: TextPipeline) -> Row:
    scores = pipe.predictor.evaluate(load_corpus("sst-fine").dev)
    print(f"{name} on SST's own trees: {scores.root.accuracy:.2%}")
    return {"model": name, "root_accuracy": scores.root.accuracy}


def read_sets(num_rows: int) -> Iterator[tuple[str, list[str | TokenizedText]]]:
    yield "sst", [as_tokens(tree.words) for tree in load_corpus("sst-fine").dev[:num_rows]]
    for name, path in data_files():
        if path.name.endswith(".tsv.gz"):
            yield name, [row.text for row in read_texts(path).rows[:num_rows]]
        else:
            with gzip.open(path, "rt", encoding="utf-8") as stream:
                yield name, [json.loads(line)["text"] for line in stream][:num_rows]


def data_files() -> Iterator[tuple[str, Path]]:
    for folder in sorted((Path(os.environ["LEXITREE_DATA"]) / "domains").iterdir()):
        for name in ("dev.tsv.gz", "dev.spans.jsonl.gz"):
            if (folder / name).is_file():
                yield folder.name, folder / name
                break


def measure_alone(name: str, pipe: TextPipeline, num_rows: int) -> Iterator[Row]:
    """How often the head word of a sentence, read alone, has the side of the sentence; a row for each set."""
    total: Counter[str] = Counter()
    for set_name, texts in read_polar(num_rows):
        counts = count_alone(pipe, texts)
        total += counts
        yield show_alone({"model": name, "set": set_name}, counts)
    yield show_alone({"model": name, "set": "all"}, total)


def read_polar(num_rows: int) -> Iterator[tuple[str, list[str]]]:
    """Sentences of each set that are labelled negative or positive, as plain text, spread over the set."""
    trees = load_corpus("sst-fine").dev
    yield "sst", spread([detokenize(tree.words) for tree in trees if tree.label != SST_NEUTRAL], num_rows)
    for name, path in data_files():
        if path.name.endswith(".tsv.gz"):
            polar = [row.text for row in read_texts(path).rows if row.label != SIDES[NEUTRAL]]
            yield name, spread(polar, num_rows)


def spread(texts: list[str], num: int) -> list[str]:
    """At most so many, at equal distances: some sets are sorted by label."""
    return [texts[place] for place in np.linspace(0, len(texts) - 1, min(num, len(texts)), dtype=int)]


def count_alone(pipe: TextPipeline, texts: list[str]) -> Counter[str]:
    """How many heads of whole texts are labelled, when read alone, with the side that their text has."""
    roots = [
        document.sentences[0] for document in pipe.stream(texts, one_sentence=True) if document.sentences
    ]
    heads = [head_word(sentence) for sentence in roots]
    words = list(dict.fromkeys(heads))
    alone = [document.sentences[0] for document in pipe.stream([as_tokens((word,)) for word in words])]
    side_of = dict(zip(words, shares_by_side(alone).argmax(axis=1).tolist(), strict=True))
    of_roots = shares_by_side(roots)
    leans = np.where(of_roots[:, POSITIVE] > of_roots[:, NEGATIVE], POSITIVE, NEGATIVE)
    found = np.array([side_of[head] for head in heads])
    return Counter(
        {
            "sentences": len(roots),
            "same": int((found == leans).sum()),
            "neutral": int((found == NEUTRAL).sum()),
        }
    )


def head_word(sentence: Sentence) -> str:
    """The head word of the whole sentence."""
    assert sentence.head_index is not None
    return sentence.words[int(sentence.head_index[0])]


def shares_by_side(sentences: list[Sentence]) -> DoubleArray:
    """The probabilities of negative, neutral and positive labels of whole sentences."""
    scores = sentences[0].label_set.scores
    assert scores is not None, "the labels of this model have no order"
    return by_side(
        np.array([each.node_probabilities[0] for each in sentences], dtype=float), np.array(scores)
    )


def show_alone(about: Row, counts: Counter[str]) -> Row:
    num, same, neutral = (counts[key] for key in ("sentences", "same", "neutral"))
    row = {
        **about,
        "sentences": num,
        "same_side_share": same / num,
        "called_neutral_share": neutral / num,
        "opposite_side_share": (num - same - neutral) / num,
    }
    print(json.dumps(row), flush=True)
    return row


def as_tokens(words: tuple[str, ...]) -> TokenizedText:
    """A sentence whose tokens are the treebank's."""
    ends = np.cumsum([len(word) + 1 for word in words]).tolist()
    spans = [(end - 1 - len(word), end - 1) for word, end in zip(words, ends, strict=True)]
    return TokenizedText.from_spans(" ".join(words), [spans])


def count_heads(pipe: TextPipeline, texts: list[str | TokenizedText]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for document in pipe.stream(texts):
        for sentence in document.sentences:
            count_sentence(sentence, counts)
    return counts


def count_sentence(sentence: Sentence, counts: Counter[str]) -> None:
    parse, tree = sentence.parse, sentence.source
    tags = [parse.labels[leaf] for leaf in cast(list[int], parse.leaves.tolist())]
    words = [word.lower().replace("’", "'") for word in sentence.words]
    assert sentence.head_index is not None
    assert sentence.head_weight is not None
    for node, (start, end) in enumerate(tree.spans):
        if end - start < MIN_WORDS:
            continue
        head = int(sentence.head_index[node])
        is_whole = "sentences" if node == 0 else "phrases"
        is_telling = tags[head].startswith(OPEN_CLASSES) or words[head] in NEGATIONS
        is_mark = is_punctuation(tags[head], words[head])
        is_alone = all(is_punctuation(tags[each], words[each]) for each in range(start, end))
        counts[is_whole] += 1
        counts[f"{is_whole} told"] += is_telling
        counts["weight"] += round(1000 * float(sentence.head_weight[node]))
        counts["punctuation"] += is_mark and not is_alone
        if not is_telling:
            counts[f"other {tags[head]}"] += 1


def is_punctuation(tag: str, word: str) -> bool:
    return tag in PUNCTUATION_TAGS and word_kind(word) == WordKind.PUNCTUATION


def show(about: Row, counts: Counter[str]) -> Row:
    num_phrases = counts["sentences"] + counts["phrases"]
    others = [(key[6:], count) for key, count in counts.most_common() if key.startswith("other ")]
    row = {
        **about,
        "phrases": num_phrases,
        "telling_head_share": (counts["sentences told"] + counts["phrases told"]) / num_phrases,
        "telling_head_of_sentence_share": counts["sentences told"] / max(counts["sentences"], 1),
        "punctuation_share": counts["punctuation"] / num_phrases,
        "mean_head_weight": counts["weight"] / 1000 / num_phrases,
        "other_tags": others[:8],
    }
    print(json.dumps(row), flush=True)
    return row


if __name__ == "__main__":
    main()
