"""A parser that has learned fifty of the embedded questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.saved_parser import load_parser
from lexitree.tasks.parse.recipe import ParserRecipe
from lexitree.tasks.parse.run import ParserRun, train_parser

TINY_SIZES: dict[str, Any] = {
    "word_size": 24,
    "affix_size": 24,
    "affix_rows": 512,
    "style_size": 4,
    "hidden": 40,
    "layers": 1,
    "span_size": 40,
    "dropout": 0.1,
}
QUICK_TRAINING: dict[str, Any] = {
    "batch_words": 100,
    "learning_rate": 0.01,
    "warm_up": 0.05,
    "averaging": 0.8,
    "word_dropout": 0.0,
    "vector_dropout": 0.0,
}


def mini_recipe(*, num_trees: int = 50, model: dict[str, Any] | None = None, **training: Any) -> ParserRecipe:
    """Train on some of the embedded questions; develop on the same ones, and test on others."""
    treebanks = [
        {"name": "learned", "path": "mini-questions/train", "style": "mini", "last": num_trees},
        {"name": "dev", "path": "mini-questions/train", "part": "dev", "style": "mini", "last": num_trees},
        {"name": "new", "path": "mini-questions/test", "part": "test", "last": 20},
    ]
    return ParserRecipe.from_dict(
        {
            "treebanks": treebanks,
            "min_count": 1,
            "model": {**TINY_SIZES, **(model or {})},
            "training": {**QUICK_TRAINING, **training},
        }
    )


@pytest.fixture(scope="session")
def parser_run(tmp_path_factory: pytest.TempPathFactory) -> ParserRun:
    """A finished run. Do not write into its folder."""
    return train_parser(mini_recipe(epochs=25), tmp_path_factory.mktemp("parser") / "run")


@pytest.fixture(scope="session")
def saved_parser(parser_run: ParserRun) -> Path:
    """The folder of a saved parser. Do not write into it."""
    return parser_run.folder / "model"


@pytest.fixture(params=["numpy", "torch"])
def parser(saved_parser: Path, request: pytest.FixtureRequest) -> NeuralParser:
    return load_parser(saved_parser, library=request.param)


@pytest.fixture
def torch_parser(saved_parser: Path) -> NeuralParser:
    return load_parser(saved_parser, library="torch")
