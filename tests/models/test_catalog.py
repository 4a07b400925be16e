"""The models and their sizes: the paper's counts, taken from real modules."""

from __future__ import annotations

import pytest

from lexitree.errors import ConfigError, NotEnoughMemoryError
from lexitree.models import catalog
from lexitree.models.catalog import check_memory, count_parameters, encoder_class, list_models
from lexitree.models.model_config import ModelConfig
from lexitree.models.registries import ENCODERS
from lexitree.settings import MAX_SIZE
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
    ("contree-le", 150, 718_223),
    ("bilstm-plain", 150, 580_373),
    ("deptree", 150, 290_573),
]


READ_WORDS = [name for name, encoder in ENCODERS.items() if encoder.reads == "word"]


@pytest.mark.parametrize(("name", "hidden", "count"), PAPER_COUNTS)
def test_parameter_counts_are_the_papers(name: str, hidden: int, count: int) -> None:
    assert count_parameters(ModelConfig(model=name, hidden=hidden, labels=LABELS)) == count


@pytest.mark.parametrize("name", READ_WORDS)
def test_the_count_is_that_of_the_model_in_use(name: str) -> None:
    size = 5 if ENCODERS[name].words_are_states else 7
    config = ModelConfig(model=name, hidden=5, word_size=size, output=4, labels=LABELS)
    assert make_model(config, 3).num_parameters() == count_parameters(config)


def test_bilstm_formula() -> None:
    h, d, o, k = 20, 30, 8, 5
    config = ModelConfig(model="bilstm", hidden=h, word_size=d, output=o, labels=LABELS)
    assert count_parameters(config) == 2 * (4 * h * d + 7 * h * h + 4 * h) + 2 * o * h + o + o * k + k


@pytest.mark.parametrize(("d", "count"), [(25, 63_905), (35, 174_165)])
def test_rntn_counts(d: int, count: int) -> None:
    """V, W and b; then W_s with its bias, and no layer between."""
    config = ModelConfig(model="rntn", hidden=d, word_size=d, output=0, labels=LABELS)
    assert count == d * (2 * d) ** 2 + d * 2 * d + d + 5 * d + 5
    assert count_parameters(config) == count
    listed = {(model.name, model.hidden): model.num_parameters for model in list_models()}
    assert listed["rntn", d] == count


@pytest.mark.parametrize("name", READ_WORDS)
def test_without_an_output_layer_the_scores_are_one_product(name: str) -> None:
    size = 5 if ENCODERS[name].words_are_states else 7
    sizes = {"model": name, "hidden": 5, "word_size": size, "labels": LABELS}
    features = 5 * ENCODERS[name].num_states
    with_layer, without = (count_parameters(ModelConfig(**sizes, output=output)) for output in (4, 0))
    assert with_layer - without == (features * 4 + 4 + 4 * 5 + 5) - (features * 5 + 5)


def test_finer_labels_are_what_is_scored() -> None:
    answers = {"hidden": 4, "word_size": 7, "output": 3, "labels": ("no", "yes")}
    finer = ModelConfig(**answers, finer_labels={"0": "no", "1": "", "2": "yes"})
    # A row of weights and a bias for each label.
    assert count_parameters(finer) - count_parameters(ModelConfig(**answers)) == 3 + 1


def test_words_of_rntn_are_its_states() -> None:
    with pytest.raises(ConfigError, match="the word size is 300 and the state size 25"):
        count_parameters(ModelConfig(model="rntn", hidden=25, output=0, labels=LABELS))


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


def test_a_model_that_is_larger_than_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    config = ModelConfig(labels=LABELS)
    needed = 4 * count_parameters(config)
    monkeypatch.setattr(catalog, "_memory_bytes", lambda: needed)
    check_memory(config)
    monkeypatch.setattr(catalog, "_memory_bytes", lambda: needed - 1)
    with pytest.raises(NotEnoughMemoryError, match=r"model\.hidden=150"):
        check_memory(config)


@pytest.mark.parametrize("name", ENCODERS)
def test_the_largest_model_is_counted_without_building_it(name: str) -> None:
    word_size = MAX_SIZE if encoder_class(name).words_are_states else 300
    config = ModelConfig(model=name, labels=LABELS, hidden=MAX_SIZE, word_size=word_size)
    assert count_parameters(config) > MAX_SIZE or name == "pooled"
