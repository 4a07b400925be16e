"""Models and shuffled batches for the GPU benchmarks."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
import torch

from lexitree.batch.tree_examples import Example, make_examples
from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import load_corpus
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.models.word_table import WordTable

PRODUCTS = {"float32": "highest", "tf32": "high"}
"""PyTorch's name for each precision of float32 products."""


def build(
    corpus: Corpus, name: str, backend: str, *, dropout: float = 0.5
) -> tuple[TreeClassifier, list[Example]]:
    vocabulary, examples = prepare(corpus.name)
    torch.manual_seed(1)
    config = ModelConfig(model=name, labels=corpus.label_set.trained_ids, dropout=dropout)
    lexicon = WordTable.random(vocabulary, config.word_size)
    with torch.no_grad():
        # About as large as pretrained vectors.
        lexicon.vectors.mul_(10)
    return TreeClassifier(config, lexicon, backend=backend).cuda(), list(examples)


@functools.cache
def prepare(corpus_name: str) -> tuple[Vocabulary, list[Example]]:
    corpus = load_corpus(corpus_name)
    vocabulary = Vocabulary.from_trees(corpus.train)
    lexicon = WordTable.random(vocabulary, 1)
    return vocabulary, make_examples(
        corpus.train, lexicon, labels=corpus.label_set.trained_ids, direction="right"
    )


def shuffled(examples: list[Example], batch_size: int, seed: int) -> Iterator[list[Example]]:
    order = np.random.default_rng(seed).permutation(len(examples)).tolist()
    for first in range(0, len(order), batch_size):
        yield [examples[index] for index in order[first : first + batch_size]]
