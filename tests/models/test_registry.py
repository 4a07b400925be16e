"""The models and their sizes: the paper's counts, taken from real modules."""

from __future__ import annotations

import pytest

from lexitree.errors import ConfigError
from lexitree.models.config import ModelConfig
from lexitree.models.registry import ENCODERS, count_parameters, encoder_class
from tests.ops.comparison import make_model

LABELS = tuple("01234")

PAPER_COUNTS = [
    ("contree", 150, 538_223),
    ("contree-lex", 75, 376_673),
    ("contree-lex", 150, 763_523),
    ("contree-lex", 215, 1_253_493),
    ("contree-lex", 300, 2_110_973),
    ("bicontree", 75, 564_923),
    ("bicontree", 150, 1_297_523),
    # Not in the paper's table; from its equations.
    ("topdown", 150, 715_073),
    ("contree-nary", 150, 380_723),
    ("deptree", 150, 290_573),
]


@pytest.mark.parametrize(("name", "hidden", "count"), PAPER_COUNTS)
def test_parameter_counts_are_the_papers(name: str, hidden: int, count: int) -> None:
    assert count_parameters(ModelConfig(model=name, hidden=hidden, labels=LABELS)) == count


@pytest.mark.parametrize("name", ENCODERS)
def test_the_count_is_that_of_the_model_in_use(name: str) -> None:
    config = ModelConfig(model=name, hidden=5, word_size=7, output=4, labels=LABELS)
    assert make_model(config, 3).num_parameters() == count_parameters(config)


def test_bilstm_formula() -> None:
    h, d, o, k = 20, 30, 8, 5
    config = ModelConfig(model="bilstm", hidden=h, word_size=d, output=o, labels=LABELS)
    assert count_parameters(config) == 2 * (4 * h * d + 7 * h * h + 4 * h) + 2 * o * h + o + o * k + k


def test_unshared_topdown_inputs_are_the_equations_as_printed() -> None:
    h, d = 6, 5
    sizes = {"model": "topdown", "hidden": h, "word_size": d, "output": 4, "labels": LABELS}
    shared = count_parameters(ModelConfig(**sizes))
    assert count_parameters(ModelConfig(**sizes, share_topdown_inputs=False)) - shared == 4 * h * d + 4 * h


@pytest.mark.parametrize("method", "LRA")
def test_fixed_head_methods_have_no_parameters(method: str) -> None:
    d = 9
    learned = count_parameters(ModelConfig(hidden=4, word_size=d, labels=LABELS))
    fixed = count_parameters(
        ModelConfig.from_dict({"hidden": 4, "word_size": d, "labels": LABELS, "head_method": method})
    )
    assert learned - fixed == 2 * d * d + d


def test_an_unknown_model_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match="Did you mean bicontree"):
        encoder_class("BiConTre")
