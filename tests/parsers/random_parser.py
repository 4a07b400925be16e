"""A parser with random weights: its trees are all different, which those of a trained one are not."""

from __future__ import annotations

from typing import Any

import torch

from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.parsers.array_network import ArrayParserNetwork
from lexitree.parsers.network import ParserModel
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.parser_config import ParserConfig
from lexitree.saving.stored_arrays import StoredTable

WORDS = ("the", "film", "is", "good", "not", "a", "bad", "plot", "and", ",", ".")


def random_parser(
    seed: int = 0, *, max_words: int = 250, labels: tuple[str, ...] = (), **settings: Any
) -> NeuralParser:
    torch.manual_seed(seed)
    sizes: dict[str, Any] = {"word_size": 6, "affix_size": 6, "affix_rows": 50, "style_size": 2}
    sizes |= {"hidden": 8, "layers": 1, "span_size": 8, **settings}
    config = ParserConfig(
        labels=labels or ("NP", "VP", "S", "PP", "S+VP", "NP+NP", "ADJP", "SBAR+S+VP", "CONJP", "X"),
        tags=("NN", "VBZ", "DT", "JJ", "CC", ",", "."),
        max_words=max_words,
        **sizes,
    )
    vector_words = Vocabulary(WORDS[:5] if config.vector_size else [])
    model = ParserModel(config, vector_words, Vocabulary(["\x02", "\x03", *WORDS]))
    for weight in (*model.parameters(), model.vectors):
        torch.nn.init.normal_(weight, std=0.8)
    return NeuralParser(model)


def array_copy(parser: NeuralParser) -> NeuralParser:
    """The same parser over NumPy arrays."""
    model = parser.model.torch_network("A test")
    weights = {name: StoredTable(weight.numpy(force=True)) for name, weight in model.state_dict().items()}
    words = model.features.vector_words, model.features.trained_words
    network = ArrayParserNetwork(model.config, *words, weights, StoredTable(model.vectors.numpy()))
    return NeuralParser(network, style=parser.style)


def random_sentences(number: int, longest: int, seed: int = 0) -> list[list[str]]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (number,), generator=generator).tolist()
    picks = torch.randint(0, len(WORDS), (sum(lengths),), generator=generator).tolist()
    words = iter(WORDS[pick] for pick in picks)
    return [[next(words) for _ in range(length)] for length in lengths]
