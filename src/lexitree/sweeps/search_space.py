"""The search space of a sweep: a TOML file of ranges, choices or named variants, checked against a recipe's settings.

    [sweep]                         # optional: how the sweep goes; see `SweepSettings`
    sampler = "tpe"

    [space]                         # what is varied
    "training.learning_rate" = { low = 1e-4, high = 1e-2, log = true }
    "model.dropout" = [0.2, 0.3, 0.4]

Instead of `[space]`, tables such as `[variants.wide]` list the trials one by one, each with the settings it changes.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, cast

from lexitree.errors import ConfigError, Place, SpaceError
from lexitree.files import read_toml
from lexitree.settings import MAX_COUNT, MAX_SEED, DeclaredSetting, Setting, Settings, plain_value
from lexitree.suggestions import close_names, did_you_mean

VARIANT = "variant"
"""The one parameter of a sweep over named variants."""
DEFAULT_TRIALS = 20
"""How many trials are run where the space has no end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSettings(Settings):
    """How a sweep goes: the table `[sweep]` of its file."""

    where_given: ClassVar[str] = "Give these in the table [sweep] of the search space (TOML)."

    trials: Annotated[
        int,
        Setting(
            f"Number of trials; 0 is every point of a grid, every variant, or else {DEFAULT_TRIALS}.",
            at_least=0,
            at_most=MAX_COUNT,
        ),
    ] = 0
    seeds: Annotated[
        tuple[int, ...],
        Setting(
            "Each trial is trained with all of these; its score is their mean.",
            at_least=0,
            at_most=MAX_SEED,
            unique=True,
        ),
    ] = (1,)
    sampler: Annotated[
        Literal["tpe", "random", "grid"],
        Setting(
            "What proposes settings: Optuna's tree-structured Parzen estimator, which learns from earlier trials"
            " (tpe), chance (random), or every combination of choices (grid)."
        ),
    ] = "tpe"
    sampler_seed: Annotated[
        int, Setting("Determines what the sampler proposes.", at_least=0, at_most=MAX_SEED)
    ] = 0
    random_trials: Annotated[
        int,
        Setting("Trials that tpe draws by chance before it learns from them.", at_least=1, at_most=MAX_COUNT),
    ] = 10
    stopping: Annotated[
        Literal["median", "none"],
        Setting(
            "Stop a trial whose development score is below the median of the finished trials at the same epoch"
            " (median), or never (none)."
        ),
    ] = "median"
    unstopped_trials: Annotated[
        int,
        Setting("Trials that must have finished before any is stopped.", at_least=1, at_most=MAX_COUNT),
    ] = 5
    unstopped_epochs: Annotated[
        int,
        Setting("Epochs of each seed after which a trial is not yet stopped.", at_least=0, at_most=MAX_COUNT),
    ] = 2

    def _check_together(self) -> None:
        if not self.seeds:
            raise ConfigError("a trial needs at least one seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Range(Settings):
    """All numbers between two."""

    low: Annotated[float, Setting("The smallest value.", at_least=0, at_most=MAX_COUNT)]
    high: Annotated[float, Setting("The largest value.", at_least=0, at_most=MAX_COUNT)]
    log: Annotated[bool, Setting("Draw small and large values alike often, as for learning rates.")] = False
    step: Annotated[float | None, Setting("Only low, low + step, and so on.", above=0, at_most=MAX_COUNT)] = (
        None
    )

    def _check_together(self) -> None:
        if self.low >= self.high:
            raise ConfigError(f"low ({self.low:g}) must be below high ({self.high:g})")
        if self.log and (self.low <= 0 or self.step is not None):
            raise ConfigError("a logarithmic range begins above 0 and has no step")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A setting that is varied."""

    name: str
    """Its dotted name, such as `training.learning_rate`."""
    values: Range | tuple[Any, ...]
    """A range, or the values to choose from."""
    is_whole: bool = False
    """Whether the setting takes whole numbers only."""

    def as_plain(self) -> Any:
        """What a file says about it."""
        return plain_value(self.values)


@dataclass(frozen=True)
class SearchSpace:
    """What a sweep varies, and how it goes."""

    parameters: Mapping[str, Parameter]
    settings: SweepSettings = field(default_factory=SweepSettings)
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """The settings of each variant by dotted name, if the trials are named variants."""

    @property
    def points(self) -> Sequence[Mapping[str, Any]] | None:
        """The parameters of every trial, where they are known from the start: of a grid and of variants."""
        if not self.variants and self.settings.sampler != "grid":
            return None
        choices = [cast(tuple[Any, ...], each.values) for each in self.parameters.values()]
        return [dict(zip(self.parameters, point, strict=True)) for point in itertools.product(*choices)]

    @property
    def num_trials(self) -> int:
        """How many trials the sweep has."""
        if self.points is None:
            return self.settings.trials or DEFAULT_TRIALS
        return min(self.settings.trials or len(self.points), len(self.points))

    def settings_of(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a trial by dotted name."""
        return dict(self.variants[parameters[VARIANT]]) if self.variants else dict(parameters)

    def as_dict(self) -> dict[str, Any]:
        """What must be the same when a sweep is resumed; there may be more trials."""
        settings = {name: value for name, value in self.settings.as_dict().items() if name != "trials"}
        if self.variants:
            return {"sweep": settings, "variants": plain_value(self.variants)}
        return {
            "sweep": settings,
            "space": {name: each.as_plain() for name, each in self.parameters.items()},
        }


def read_space(path: str | Path, recipe: Settings, changes: Mapping[str, Any] | None = None) -> SearchSpace:
    """Read a search space and check every name and value against the settings of a recipe.

    Args:
        path: The TOML file.
        recipe: The recipe whose settings are varied.
        changes: Settings of the sweep that replace those of the file, such as `{"trials": 50}`.

    Raises:
        FileError: The file cannot be read or is not TOML.
        SpaceError: It names unknown settings or values that are not accepted; the error has the line.
        ConfigError: The changes are not accepted.
    """
    return _SpaceReader(path, recipe).read(changes or {})


class _SpaceReader:
    def __init__(self, path: str | Path, recipe: Settings) -> None:
        self.path = str(path)
        self.recipe = recipe
        self.tables = read_toml(path)
        self.lines = Path(path).read_text(encoding="utf-8").splitlines()

    def read(self, changes: Mapping[str, Any]) -> SearchSpace:
        with self._errors_at("", ""):
            _check_tables(self.tables)
        with self._errors_at("sweep", ""):
            settings = SweepSettings.from_dict(self.tables.get("sweep", {}))
        settings = settings.with_values(changes)
        if tables := self.tables.get("variants"):
            variants = {name: self._read_variant(name, table) for name, table in tables.items()}
            return SearchSpace({VARIANT: Parameter(VARIANT, tuple(variants))}, settings, variants)
        parameters = {
            name: self._read_parameter(name, value, settings)
            for name, value in self._dotted(self.tables["space"])
        }
        return SearchSpace(parameters, settings)

    def _read_parameter(self, name: str, value: object, settings: SweepSettings) -> Parameter:
        with self._errors_at("space", name):
            declared = self.recipe.find_setting(name)
            if isinstance(value, Mapping):
                if settings.sampler == "grid":
                    raise ConfigError(
                        f"{name} is a range, and a grid needs choices",
                        remedy='List the values, or choose sampler = "tpe" in [sweep].',
                    )
                return Parameter(
                    name, _read_range(declared, cast(Mapping[str, Any], value)), is_whole=declared.type is int
                )
            if not isinstance(value, list) or not value:
                raise ConfigError(
                    f"{name} must be a list of choices or a range, not {value!r:.80}",
                    remedy="Write [1, 2, 3] or { low = 1, high = 3 }. Fixed settings belong in the recipe.",
                )
            choices = tuple(cast(list[Any], value))
            for choice in choices:
                _check_value(declared, choice)
            if any(choice in choices[:number] for number, choice in enumerate(choices)):
                raise ConfigError(f"{name} lists the same choice twice")
            return Parameter(name, choices)

    def _read_variant(self, variant: str, table: object) -> dict[str, Any]:
        header = f"variants.{variant}"
        with self._errors_at(header, ""):
            if not isinstance(table, Mapping):
                raise ConfigError(f"{header} must be a table of settings, not {table!r:.80}")
        values = dict(self._dotted(cast(Mapping[str, Any], table)))
        for name, value in values.items():
            with self._errors_at(header, name):
                _check_value(self.recipe.find_setting(name), value)
        with self._errors_at(header, ""):
            self.recipe.with_values(values)
        return values

    def _dotted(self, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Settings by dotted name, whether it is quoted or made of TOML's own tables."""
        tables = {each.name.rpartition(".")[0] for each in self.recipe.describe()} - {""}
        for name, value in table.items():
            if name in tables and isinstance(value, Mapping):
                inner = cast(Mapping[str, Any], value)
                yield from ((f"{name}.{key}", each) for key, each in inner.items())
            else:
                yield name, value

    @contextmanager
    def _errors_at(self, header: str, name: str) -> Generator[None]:
        """Give errors their place in the file."""
        try:
            yield
        except ConfigError as error:
            where = f"[{header}] " if header else ""
            place = Place(self.path, self._find_line(header, name.rpartition(".")[2]))
            raise SpaceError(place, where + error.message, remedy=error.remedy) from error

    def _find_line(self, header: str, key: str) -> int:
        """The line where a key stands, which TOML's reader does not tell; 0 if it is written in some other way."""
        lines = [line.partition("#")[0] for line in self.lines]
        headers = [re.sub(r"[\s\"']", "", line) for line in lines]
        start = headers.index(f"[{header}]") + 1 if f"[{header}]" in headers else 0
        if not key:
            return start
        written = re.compile(rf"(?<![\w-]){re.escape(key)}(?![\w-])")
        return next(
            (number for number, line in enumerate(lines, 1) if number > start and written.search(line)), 0
        )


def _check_tables(tables: Mapping[str, object]) -> None:
    for name, table in tables.items():
        if name not in _TABLES:
            raise ConfigError(f"unknown table: {name}", remedy=did_you_mean(close_names(name, _TABLES)))
        if not isinstance(table, Mapping):
            raise ConfigError(f"{name} must be a table, not {table!r:.80}")
    given = [f"[{name}]" for name in ("space", "variants") if tables.get(name)]
    if len(given) != 1:
        raise ConfigError(
            f"the file has {'both' if given else 'neither'} [space] {'and' if given else 'nor'} [variants]",
            remedy='Write one of them, such as [space] with "model.dropout" = [0.2, 0.3].',
        )


_TABLES = ("sweep", "space", "variants")


def _read_range(declared: DeclaredSetting, value: Mapping[str, Any]) -> Range:
    limits = Range.from_dict(value)
    if declared.type not in (int, float):
        raise ConfigError(
            f"{declared.name} must be {declared.kind}: it has no range", remedy="List the choices: [...]."
        )
    for number in (limits.low, limits.high, limits.step):
        if number is not None and declared.type is int and not isinstance(number, int):
            raise ConfigError(f"{declared.name} takes whole numbers, not {number!r}")
    declared.check(limits.low)
    declared.check(limits.high)
    return limits


def _check_value(declared: DeclaredSetting, value: object) -> None:
    declared.check(tuple(cast(list[object], value)) if isinstance(value, list) else value)
