"""A parser of our own that has learned nothing: its trees are trees, and it is made at once."""

from __future__ import annotations

from pathlib import Path

import torch

from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.parsers.network import ParserModel
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.parser_config import ParserConfig
from lexitree.saving.model_kinds import save_model


def save_untrained_parser(folder: Path) -> Path:
    torch.manual_seed(1)
    config = ParserConfig(
        labels=("S", "NP"), tags=("NN", "."), affix_rows=64, hidden=8, layers=1, span_size=8
    )
    model = ParserModel(config, Vocabulary([]), Vocabulary(["the", "film", "is"]))
    return save_model(NeuralParser(model), folder)
