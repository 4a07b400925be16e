"""Settings: every class round-trips, refuses what it does not accept, and takes dotted overrides."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.corpora.text_tables import TableSettings
from lexitree.errors import ConfigError, FileError
from lexitree.learning.schedule import LexicalSettings, TrainingSettings
from lexitree.limits import Limits
from lexitree.models.model_config import ModelConfig, TextReading
from lexitree.models.transformer import TransformerConfig
from lexitree.parsers.parser_config import ParserConfig
from lexitree.server.request_bodies import (
    ExplainRequest,
    LabelRequest,
    LineRequest,
    ParseRequest,
    StreamQuery,
    TextRequest,
)
from lexitree.server.service_settings import ServiceSettings
from lexitree.settings import MAX_SIZE, REQUIRED, DeclaredSetting, Setting, Settings
from lexitree.sweeps.search_space import Range, SweepSettings
from lexitree.tasks.classify.augmentation import AugmentSettings
from lexitree.tasks.classify.more_corpora import CorpusPlan
from lexitree.tasks.classify.recipe import Recipe, TrainingConfig
from lexitree.tasks.parse.recipe import ParserRecipe, ParserTraining, TreebankPlan

EXAMPLES: tuple[Settings, ...] = (
    TableSettings(text="comment", delimiter=";", header=True),
    TextReading(parser="builtin"),
    ModelConfig(labels=("0", "1"), label_names={"0": "bad"}),
    TransformerConfig(name="minilm"),
    Limits(),
    ParserConfig(labels=("S",), tags=("NN",), styles=("wsj",)),
    TrainingSettings(),
    LexicalSettings(),
    TrainingConfig(),
    Recipe(model={"hidden": 5}, teacher="t", teacher_trees=("a", "b")),
    TreebankPlan(name="a", path="a.txt", held_out=0.5, recurring_in=(1, 2)),
    AugmentSettings(typos=0.02),
    CorpusPlan(corpus="a", labels={"good": ["3", "4"]}, spans={"aspect": "none"}),
    ParserTraining(),
    ParserRecipe(treebanks=(TreebankPlan(name="a", path="a.txt", held_out=0.5),)),
    ServiceSettings(),
    TextRequest(text="a"),
    LabelRequest(texts=("a", "b"), include=("heads",)),
    ParseRequest(text="a"),
    ExplainRequest(text="a"),
    LineRequest(text="a", id=1),
    StreamQuery(),
    SweepSettings(),
    Range(low=0, high=1),
)


def subclasses(cls: type[Settings]) -> Iterator[type[Settings]]:
    for each in cls.__subclasses__():
        yield from (each, *subclasses(each))


each_class = pytest.mark.parametrize("settings", EXAMPLES, ids=lambda each: type(each).__name__)
EVERY_SETTING = [
    pytest.param(settings, declared, id=f"{type(settings).__name__}.{declared.name}")
    for settings in EXAMPLES
    for declared in type(settings).declared().values()
]
each_setting = pytest.mark.parametrize(("settings", "declared"), EVERY_SETTING)


def test_every_settings_class_of_the_package_has_an_example() -> None:
    """A base class that is no dataclass cannot be given any settings."""
    ours = [cls for cls in subclasses(Settings) if cls.__module__.startswith("lexitree.")]
    known = {cls.__name__ for cls in ours if is_dataclass(cls)}
    assert known == {type(settings).__name__ for settings in EXAMPLES}


@each_class
def test_settings_come_back_from_their_values(settings: Settings) -> None:
    values = settings.as_dict()
    assert json.loads(json.dumps(values)) == values
    assert type(settings).from_dict(values) == settings
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert settings.with_values({}) == settings


def wrong_values(declared: DeclaredSetting) -> list[object]:
    """Values of all the types that a setting does not take, and values just outside of its range."""
    setting, kind = declared.setting, declared.type
    if kind is Any:
        return []
    if get_origin(kind) is UnionType:
        [kind] = set(get_args(kind)) - {NoneType}
    wrong: list[object] = [object(), {1, 2}, [object()], {"no such name": 1}]
    if str not in (kind, *get_args(kind)):
        wrong += ["neither a number nor a choice"]
    if kind is not bool:
        wrong += [True]
    if kind not in (int, float):
        wrong += [3, 2.5]
    if kind is int:
        wrong += [2.0, 2.5]
    if kind in (int, float):
        wrong += [math.nan, math.inf]
        wrong += [bound - 1 for bound in (setting.at_least, setting.above) if bound is not None]
        wrong += [bound + 1 for bound in (setting.at_most, setting.below) if bound is not None]
        wrong += [bound for bound in (setting.above, setting.below) if bound is not None]
    if get_origin(kind) is Mapping and get_args(kind)[1] is str:
        wrong.remove({"no such name": 1})
        wrong += [{"a": 1}, {1: "a"}]
    if setting.unique:
        wrong += [("same", "same")]
    return wrong


@each_setting
def test_a_wrong_value_is_refused_with_the_name_of_its_setting(
    settings: Settings, declared: DeclaredSetting
) -> None:
    for value in wrong_values(declared):
        with pytest.raises(ConfigError) as caught:
            type(settings).from_dict({**settings.as_dict(), declared.name: value})
        assert declared.name in str(caught.value)


ABSURD = (-1, 2**63, 2**64, 10**20, 16**5000, math.nan, math.inf, -math.inf, 1e308, -1e308)
"""Numbers that overflow somewhere, or that compare with nothing; Python does not even write out the longest."""

NUMERIC = [
    each for each in EVERY_SETTING if {int, float} & {each.values[1].type, *get_args(each.values[1].type)}
]


@pytest.mark.parametrize(("settings", "declared"), NUMERIC)
def test_an_absurd_number_is_refused_with_the_range(settings: Settings, declared: DeclaredSetting) -> None:
    setting = declared.setting
    assert {setting.at_least, setting.above} != {None}
    assert {setting.at_most, setting.below} != {None}
    for number in ABSURD:
        given = [number, number] if get_origin(declared.type) is tuple else number
        with pytest.raises(ConfigError) as caught:
            type(settings).from_dict({**settings.as_dict(), declared.name: given})
        assert declared.name in caught.value.message
        assert setting.range() in caught.value.message or isinstance(number, float)
        assert len(caught.value.message) < 300


def test_the_range_of_a_setting_in_words() -> None:
    assert Setting("", at_least=1, at_most=MAX_SIZE).range() == "at least 1 and at most 65,536"
    assert Setting("", above=0, below=1e-3).range() == "above 0 and below 0.001"


@each_setting
def test_every_setting_has_a_help_text_and_an_accepted_default(
    settings: Settings, declared: DeclaredSetting
) -> None:
    assert declared.setting.help.endswith(".")
    assert declared.kind
    if declared.default is not REQUIRED:
        declared.check(declared.default)


@each_class
def test_an_unknown_name_is_refused_with_the_nearest(settings: Settings) -> None:
    name = next(reversed(settings.as_dict()))
    with pytest.raises(ConfigError, match=rf"unknown setting: {name}x\nDid you mean {name}\?"):
        type(settings).from_dict({**settings.as_dict(), f"{name}x": 1})


@pytest.mark.parametrize("values", [[1], "text", 3, None, {1: 2}])
def test_what_is_no_table_is_refused(values: Any) -> None:
    with pytest.raises(ConfigError):
        Inner.from_dict(values)


def test_a_required_setting_must_be_given() -> None:
    with pytest.raises(ConfigError, match="missing settings: name, path"):
        TreebankPlan.from_dict({})


Color = Literal["red", "blue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner(Settings):
    count: Annotated[int, Setting("How many.", at_least=1)] = 2
    share: Annotated[float, Setting("How much.", at_least=0, below=1)] = 0.5
    color: Annotated[Color, Setting("Which.")] = "red"
    size: Annotated[int, Setting("Found out.")] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer(Settings):
    name: Annotated[str | None, Setting("What it is called.")] = None
    is_on: Annotated[bool, Setting("Whether it is on.")] = False
    files: Annotated[tuple[str, ...], Setting("Some files.")] = ()
    inner: Annotated[Inner, Setting("A table.")] = field(default_factory=Inner)
    part: Annotated[Mapping[str, Any], Setting("Some of it.", table=Inner, derived=("size",))] = field(
        default_factory=dict[str, Any]
    )
    several: Annotated[tuple[Inner, ...], Setting("Tables.")] = ()

    def _check_together(self) -> None:
        if self.is_on and not self.name:
            raise ConfigError("what is on needs a name")


def test_values_by_dotted_names() -> None:
    changed = Outer().with_values({"inner.count": 5, "part.color": "blue", "name": "x", "several": [{}]})
    assert changed == Outer(name="x", inner=Inner(count=5), part={"color": "blue"}, several=(Inner(),))
    assert Outer() == Outer.from_dict({})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("inner.count=7", {"inner": Inner(count=7)}),
        (" inner.share = 0.25 ", {"inner": Inner(share=0.25)}),
        ("inner.color=blue", {"inner": Inner(color="blue")}),
        ("part.share=1e-3", {"part": {"share": 1e-3}}),
        ("name=a b=c", {"name": "a b=c"}),
        ('name="quoted"', {"name": "quoted"}),
        ("name=1e5", {"name": "1e5"}),
        ("name=2024-05-01", {"name": "2024-05-01"}),
        ("name=1\n2", {"name": "1\n2"}),
        ("name=" + "[" * 5000, {"name": "[" * 5000}),
        ("name=", {"name": ""}),
        ('files=["a", "b"]', {"files": ("a", "b")}),
        ("part={count = 3}", {"part": {"count": 3}}),
    ],
)
def test_assignments(text: str, expected: dict[str, Any]) -> None:
    assert Outer().with_values(Outer.parse_assignments([text])) == Outer(**expected)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("inner.count", "not a setting: 'inner.count'"),
        ("count=3", "unknown setting: count\nDid you mean inner.count or part.count?"),
        ("inner.cuont=3", "[inner] unknown setting: cuont\nDid you mean count?"),
        ("outer.count=3", "unknown setting: outer.count\nDid you mean inner.count or part.count?"),
        ("several.count=3", "unknown setting: several.count"),
        ("nothing=3", "unknown setting: nothing"),
        ("=3", "unknown setting: "),
        ("inner.count=0", "[inner] count must be at least 1, not 0"),
        ("inner.count=many", "[inner] count must be a whole number, not 'many'"),
        ("inner.color=green", "[inner] color must be one of red, blue, not 'green'"),
        ("part.count=0", "[part] count must be at least 1, not 0"),
        ("part.size=3", "[part] size follows from the data and cannot be set"),
        ("is_on=True", "is_on must be true or false, not 'True'"),
        ("is_on=true", "what is on needs a name"),
        ("several=[{count = 0}]", "[several] [number 1] count must be at least 1, not 0"),
        ("inner=3", "inner must be a table of settings, not 3"),
        ("inner=0x" + "f" * 5000, "inner must be a table of settings, not a number of thousands of digits"),
        ("files=a.txt", "files must be a list of strings, not 'a.txt'"),
    ],
)
def test_assignments_that_are_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Outer().with_values(Outer.parse_assignments([text]))
    assert str(caught.value).startswith(said)


@given(count=st.integers(min_value=1), share=st.floats(0, 1, exclude_max=True), files=st.lists(st.text()))
def test_what_is_written_in_toml_is_read_again(count: int, share: float, files: list[str]) -> None:
    texts = [f"inner.count={count}", f"inner.share={share!r}"]
    changed = Outer().with_values({**Outer.parse_assignments(texts), "files": files})
    assert changed.inner == Inner(count=count, share=share)
    assert Outer.from_dict(json.loads(json.dumps(changed.as_dict()))) == changed


def test_settings_are_described_by_their_dotted_names() -> None:
    described = {each.name: each for each in Outer.describe()}
    inner = ["count", "share", "color", "size"]
    assert list(described) == [
        *("name", "is_on", "files"),
        *(f"inner.{name}" for name in inner),
        *(f"part.{name}" for name in inner[:-1]),
        *(f"several[].{name}" for name in inner),
    ]
    assert described["part.share"].setting.range() == "at least 0 and below 1"
    assert described["inner.color"].kind == "one of red, blue"
    assert (described["name"].kind, described["name"].default) == ("a string", None)
    assert described["files"].kind == "a list of strings"


def test_a_recipe_file_is_named_in_its_errors(tmp_path: Path) -> None:
    path = tmp_path / "outer.toml"
    path.write_text("[inner]\ncount = 4\n")
    assert Outer.from_toml(path) == Outer(inner=Inner(count=4))
    path.write_text("[inner]\ncolour = 'red'\n")
    with pytest.raises(FileError) as caught:
        Outer.from_toml(path)
    assert str(caught.value) == (
        f"{path}: is not a valid recipe: [inner] unknown setting: colour\nDid you mean color?"
    )


def test_environment_variables() -> None:
    environment = {
        "OUTER_INNER_COUNT": "4",
        "OUTER_NAME": "1e5",
        "OUTER_FILES": "a, 1e5,",
        "OUTER_IS_ON": "true",
        "PATH": "/bin",
    }
    values = Outer.values_from_environment("OUTER_", environment)
    assert values == {"inner.count": 4, "name": "1e5", "files": ["a", "1e5"], "is_on": True}
    assert Outer().with_values(values).files == ("a", "1e5")
    assert Outer.values_from_environment("OUTER_", {"OUTER_FILES": '["a,b"]'}) == {"files": ["a,b"]}
    assert Outer.values_from_environment("OUTER_", {"OUTER_NAME": "none"}) == {"name": None}
    with pytest.raises(ConfigError) as caught:
        Outer.values_from_environment("OUTER_", {"OUTER_INNER_COUNTS": "4"})
    assert caught.value.remedy == "Did you mean OUTER_INNER_COUNT?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen(Settings):
    colors: Annotated[tuple[Literal["red", "blue"], ...] | None, Setting("Some colours.")] = None
    inner: Annotated[Inner, Setting("A table.")] = field(default_factory=lambda: Inner(count=7))


def test_lists_may_be_optional_and_of_choices() -> None:
    assert Chosen.from_dict({"colors": ["red"]}).colors == ("red",)
    assert Chosen.from_dict({"colors": None}).colors is None
    with pytest.raises(ConfigError, match="a list of some of red, blue, not"):
        Chosen.from_dict({"colors": ["green"]})


def test_a_field_can_have_other_defaults_than_its_class() -> None:
    defaults = {each.name: each.default for each in Chosen.describe()}
    assert defaults["inner.count"] == 7
    assert Chosen.from_dict({"inner": {"share": 0.1}}).inner == Inner(count=7, share=0.1)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("training.epoch", "epochs"),
        ("dropout", "model.dropout"),
        ("modle.dropout", "model.dropout"),
        ("encoder.layer", "layers"),
    ],
)
def test_a_setting_is_found_by_its_dotted_name(name: str, said: str) -> None:
    assert Recipe().find_setting("training.epochs").type is int
    assert Recipe().find_setting("model.dropout").name == "model.dropout"
    assert Recipe().find_setting("corpus").type is str
    with pytest.raises(ConfigError, match="unknown setting") as raised:
        Recipe().find_setting(name)
    assert said in raised.value.remedy
