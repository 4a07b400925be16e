"""Settings classes whose fields are declared once, with type, range and help.

A settings class is a frozen dataclass; what a field accepts and means stands beside it:

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Training(Settings):
        epochs: Annotated[int, Setting("Passes over the training data.", at_least=1, at_most=MAX_COUNT)] = 30

Recipes (`from_toml`), saved files (`from_dict`), the command line (`parse_assignments`) and its help (`describe`) all
read these declarations. Plain dataclasses do the work because msgspec and pydantic are compiled and missing on some
of the machines that lexitree runs on.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import tomllib
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, Union, cast, get_args, get_origin, get_type_hints

from lexitree.errors import ConfigError, FileError
from lexitree.files import read_toml
from lexitree.suggestions import close_names, did_you_mean

REQUIRED = dataclasses.MISSING
"""The default of a setting that must be given."""

# Every number has a range, so that a typo is refused where it enters, not as an overflow deep inside.
MAX_SIZE = 1 << 16
"""The largest size of a vector or layer."""
MAX_COUNT = 10**9
"""The largest number of epochs, rows, words and other things that are counted."""
MAX_BATCH = 10**6
"""The largest number of examples that are read, or that make an update, together."""
MAX_SEED = 10**18
MAX_STEP = 1e3
"""The largest learning rate, or weight in a loss or score; more would overflow before any loss could show it."""
MAX_PROCESSES = 1024
"""The largest number of processes or threads."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a field of a settings class accepts and means; it goes into the field's `Annotated` type."""

    help: str
    """What it means, in a sentence or two."""
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    choices: Collection[str] = ()
    unique: bool = False
    """A list may not hold the same item twice."""
    table: type[Settings] | None = None
    """The field holds some of the settings of this class, as a mapping; the others keep their defaults."""
    derived: tuple[str, ...] = ()
    """Settings of `table` that follow from the data and cannot be given."""

    def range(self) -> str:
        """The range in words, such as `at least 0 and below 1`; empty if there is none."""
        bounds = {
            "at least": self.at_least,
            "above": self.above,
            "at most": self.at_most,
            "below": self.below,
        }
        return " and ".join(
            f"{word} {bound:{',' if isinstance(bound, int) else 'g'}}"
            for word, bound in bounds.items()
            if bound is not None
        )

    def contains(self, number: float) -> bool:
        """Whether a number is within the range; infinity and NaN never are."""
        return (
            (isinstance(number, int) or math.isfinite(number))
            and (self.at_least is None or number >= self.at_least)
            and (self.above is None or number > self.above)
            and (self.at_most is None or number <= self.at_most)
            and (self.below is None or number < self.below)
        )


@dataclass(frozen=True, slots=True)
class DeclaredSetting:
    """One setting with everything that is declared about it."""

    name: str
    """The name with its tables before it, such as `training.epochs`."""
    type: Any
    """The type as it is annotated, such as `int` or `Literal["last", "mix"]`."""
    default: Any
    """The default value, or `REQUIRED`."""
    setting: Setting

    @property
    def kind(self) -> str:
        """The type in words, such as `a whole number`."""
        return _kind_in_words(self.type, self.setting)

    def check(self, value: object) -> None:
        """Raise a ConfigError unless the value has the right type and is within range."""
        if not _fits(value, self.type) or (self.setting.choices and value not in self.setting.choices):
            raise ConfigError(f"{self.name} must be {self.kind}, not {_shown(value)}")
        items = cast(tuple[object, ...], value if isinstance(value, tuple) else (value,))
        for item in items:
            if isinstance(item, int | float) and not self.setting.contains(item):
                raise ConfigError(
                    f"{self.name} must be {self.setting.range() or 'finite'}, not {_shown(item)}"
                )
        if self.setting.unique and len(set(items)) != len(items):
            raise ConfigError(f"{self.name} must not hold the same item twice")
        if self.setting.table is not None:
            self._check_table(self.setting.table, cast(Mapping[str, Any], value))

    def _check_table(self, table: type[Settings], values: Mapping[str, Any]) -> None:
        """Check a partial table: each value by itself, since the others are not known yet."""
        for name in self.setting.derived:
            if name in values:
                raise ConfigError(f"[{self.name}] {name} follows from the data and cannot be set")
        with _errors_in_table(self.name):
            declared = table.for_values(values).declared()
            _refuse_unknown(values, declared)
            for name, value in values.items():
                declared[name].check(_convert(value, declared[name].type))


class Settings:
    """The base of settings classes: frozen dataclasses with fields of `Annotated[TYPE, Setting(...)]`."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    file_kind: ClassVar[str] = "recipe"
    """What a file of these settings is called."""
    where_given: ClassVar[str] = "Give settings in a recipe (TOML), or as --set NAME=VALUE."
    """The first line of the page that lists them."""

    def __post_init__(self) -> None:
        for name, declared in self.declared().items():
            given = getattr(self, name)
            if given is declared.default:
                continue
            if isinstance(declared.default, Settings) and isinstance(given, Mapping):
                # Some settings of a table: the others are those of this field, not of its class.
                given = {**declared.default.as_dict(), **cast(Mapping[str, Any], given)}
            with _errors_in_table(name):
                value = _convert(given, declared.type)
            declared.check(value)
            object.__setattr__(self, name, value)
        self._check_together()

    @classmethod
    def for_values(cls, values: Mapping[str, Any]) -> type[Self]:
        """The class that checks these values: a subclass, where one of them decides what else can be set."""
        return cls

    def _check_together(self) -> None:
        """Raise a ConfigError if settings contradict each other; for classes to override."""

    @classmethod
    def declared(cls) -> dict[str, DeclaredSetting]:
        """The settings of this class by name, without those of its tables."""
        return _declared(cls)

    @classmethod
    def describe(cls, prefix: str = "") -> Iterator[DeclaredSetting]:
        """All settings that can be given, those of tables included, with dotted names.

        Settings of a list of tables are named like `treebanks[].weight`.
        """
        for declared in cls.declared().values():
            name = prefix + declared.name
            inner = declared.setting.table or _settings_class(declared.type)
            if inner is None:
                yield dataclasses.replace(declared, name=name)
                continue
            listed = "[]" if get_origin(declared.type) is tuple else ""
            hidden = {f"{name}{listed}.{each}" for each in declared.setting.derived}
            for each in inner.describe(f"{name}{listed}."):
                if each.name not in hidden:
                    # A field can have other defaults than its class.
                    own = getattr(declared.default, each.name.rpartition(".")[2], each.default)
                    yield dataclasses.replace(each, default=own)

    def as_dict(self) -> dict[str, Any]:
        """All settings as plain values that JSON can hold."""
        return {name: plain_value(getattr(self, name)) for name in self.declared()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of `as_dict`; settings that are not given have their defaults.

        Raises:
            ConfigError: If a name is unknown, a required one is missing, or a value is not accepted.
        """
        # What a file holds may be anything.
        if not isinstance(cast(object, values), Mapping):
            raise ConfigError(f"a table of settings is needed, not {_shown(values)}")
        cls = cls.for_values(values)
        declared = cls.declared()
        _refuse_unknown(values, declared)
        missing = [name for name, each in declared.items() if each.default is REQUIRED and name not in values]
        if missing:
            raise ConfigError(f"missing {_plural('setting', missing)}: {', '.join(missing)}")
        return cls(**values)

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read settings from a TOML file.

        Raises:
            FileError: If the file cannot be read or holds settings that are not accepted.
        """
        values = read_toml(path)
        try:
            return cls.from_dict(values)
        except ConfigError as error:
            raise FileError(
                path, f"is not a valid {cls.file_kind}: {error.message}", remedy=error.remedy
            ) from error

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """A copy with other values by dotted name, such as `{"training.averaging": 0.99}`."""
        changed = self.as_dict()
        for name, value in values.items():
            table, _, inner = name.rpartition(".")
            if isinstance(changed.get(table), dict):
                changed[table][inner] = value
            elif name in changed:
                changed[name] = value
            else:
                _refuse_unknown([name], [each.name for each in self.describe() if "[]" not in each.name])
        return self.from_dict(changed)

    def find_setting(self, name: str) -> DeclaredSetting:
        """The declaration of a setting by its dotted name, such as `training.averaging`.

        Raises:
            ConfigError: There is no such setting, or it follows from the data; similar names are suggested.
        """
        table, _, inner = name.rpartition(".")
        declared = self.declared()
        if not table and name in declared:
            return declared[name]
        if table not in declared:
            _refuse_unknown([name], [each.name for each in self.describe() if "[]" not in each.name])
        values: object = getattr(self, table)
        if isinstance(values, Settings):
            known = values.declared()
        else:
            chosen = cast(type[Settings], declared[table].setting.table)
            known = chosen.for_values(cast(Mapping[str, Any], values)).declared()
        known = {key: each for key, each in known.items() if key not in declared[table].setting.derived}
        with _errors_in_table(table):
            _refuse_unknown([inner], known)
        return dataclasses.replace(known[inner], name=name)

    @classmethod
    def parse_assignments(cls, assignments: Iterable[str]) -> dict[str, Any]:
        """Values for `with_values` from texts such as `training.averaging=0.99`.

        Values are written as in TOML; a text that is not valid TOML is taken as it is.
        """
        types = {each.name: each.type for each in cls.describe()}
        values: dict[str, Any] = {}
        for assignment in assignments:
            name, sign, text = (part.strip() for part in assignment.partition("="))
            if not sign:
                raise ConfigError(
                    f"not a setting: {assignment!r}",
                    remedy="Write NAME=VALUE, as in training.averaging=0.99.",
                )
            values[name] = _read_value(text, types.get(name, Any))
        return values

    @classmethod
    def values_from_environment(cls, prefix: str, environment: Mapping[str, str]) -> dict[str, Any]:
        """Values for `with_values` from environment variables.

        With the prefix `LEXITREE_SERVE_`, the variable `LEXITREE_SERVE_LIMITS_WORDS` is the setting `limits.words`.
        Values are written as for `parse_assignments`; `none` stands for no value, and commas separate the items of a
        list.

        Raises:
            ConfigError: A variable with this prefix is not the name of a setting.
        """
        declared = {prefix + each.name.upper().replace(".", "_"): each for each in cls.describe()}
        given = {variable: text for variable, text in environment.items() if variable.startswith(prefix)}
        _refuse_unknown(given, declared)
        return {
            declared[variable].name: _read_variable(text.strip(), declared[variable].type)
            for variable, text in given.items()
        }


@functools.cache
def _declared(cls: type[Settings]) -> dict[str, DeclaredSetting]:
    hints = get_type_hints(cls, include_extras=True)
    found: dict[str, DeclaredSetting] = {}
    for field in dataclasses.fields(cls):
        kind, *extras = get_args(hints[field.name])
        assert get_origin(hints[field.name]) is Annotated, f"{cls.__name__}.{field.name} has no Setting"
        factory = cast(Any, field.default_factory)
        default = field.default if factory is dataclasses.MISSING else factory()
        setting = next(each for each in extras if isinstance(each, Setting))
        found[field.name] = DeclaredSetting(field.name, kind, default, setting)
    return found


def _fits(value: object, kind: Any) -> bool:
    """Whether a value is of an annotated type; a whole number is a number, and a bool is neither."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin in (UnionType, Union):
        return any(_fits(value, each) for each in inner)
    if origin is tuple:
        return isinstance(value, tuple) and all(
            _fits(item, inner[0]) for item in cast(tuple[object, ...], value)
        )
    if origin is Mapping:
        return isinstance(value, Mapping) and all(
            _fits(key, inner[0]) and _fits(item, inner[1])
            for key, item in cast(Mapping[object, object], value).items()
        )
    if kind in (int, float):
        return isinstance(value, int | kind) and not isinstance(value, bool)
    return isinstance(value, kind)


def _kind_in_words(kind: Any, setting: Setting | None = None) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    choices = inner if origin is Literal else setting.choices if setting else ()
    if choices:
        return f"one of {', '.join(choices)}"
    if origin in (UnionType, Union):
        return " or ".join(_kind_in_words(each) for each in inner if each is not NoneType)
    if origin is tuple:
        if get_origin(inner[0]) is Literal:
            return f"a list of some of {', '.join(get_args(inner[0]))}"
        return f"a list of {_PLURALS.get(inner[0], 'tables')}"
    if origin is Mapping:
        return f"a table of {_PLURALS.get(inner[1], 'settings')}"
    return _NAMES.get(kind, "a table of settings")


_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}
_PLURALS = {int: "whole numbers", float: "numbers", str: "strings"}


def _settings_class(kind: Any) -> type[Settings] | None:
    """The settings class of a table, or of each table of a list."""
    inner = get_args(kind)[0] if get_origin(kind) is tuple else kind
    return inner if isinstance(inner, type) and issubclass(inner, Settings) else None


def _convert(value: object, kind: Any) -> object:
    """Make tuples of lists and settings of tables; anything else is left to the check."""
    if get_origin(kind) in (UnionType, Union):
        kind = next((each for each in get_args(kind) if get_origin(each) is tuple), kind)
    if get_origin(kind) is tuple and isinstance(value, list | tuple):
        if _settings_class(kind) is None:
            return tuple(cast(list[object], value))
        items: list[object] = []
        for number, item in enumerate(cast(list[object], value), 1):
            with _errors_in_table(f"number {number}"):
                items.append(_convert(item, get_args(kind)[0]))
        return tuple(items)
    cls = _settings_class(kind)
    if cls is not None and isinstance(value, Mapping):
        return cls.from_dict(cast(Mapping[str, Any], value))
    return value


@contextmanager
def _errors_in_table(name: str) -> Generator[None, None, None]:
    """Name the table in errors that are raised inside of it."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"[{name}] {error.message}", remedy=error.remedy) from error


def _shown(value: object) -> str:
    """A value in an error message."""
    try:
        return f"{value!r:.80}"
    except ValueError:
        return "a number of thousands of digits"  # which Python refuses to write out


def plain_value(value: object) -> Any:
    """A value of a setting as JSON can hold it."""
    if isinstance(value, Settings):
        return value.as_dict()
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in cast(list[object], value)]
    if isinstance(value, Mapping):
        return {key: plain_value(item) for key, item in cast(Mapping[str, object], value).items()}
    return value


def _refuse_unknown(names: Iterable[str], known: Collection[str]) -> None:
    unknown = [str(name) for name in names if name not in known]
    if not unknown:
        return
    near = {close for name in unknown for close in _near(name, known)}
    problem = f"unknown {_plural('setting', unknown)}: {', '.join(unknown)}"
    raise ConfigError(problem, remedy=did_you_mean(sorted(near)))


def _near(name: str, known: Collection[str]) -> list[str]:
    """Known names that are spelled alike, or are the same but for their table."""
    same = [each for each in known if each.rpartition(".")[2] == name.rpartition(".")[2]]
    return same or close_names(name, known, most=1)


def _plural(noun: str, items: Collection[object]) -> str:
    return noun if len(items) == 1 else f"{noun}s"


def _read_value(text: str, kind: Any) -> Any:
    try:
        (value,) = tomllib.loads(f"value = {text}").values()
    except (ValueError, RecursionError):
        return text
    # What looks like a number can be a name, such as the commit 1e5.
    return text if _fits(text, kind) and not _fits(value, kind) else value


def _read_variable(text: str, kind: Any) -> Any:
    if text == "none" and _fits(None, kind):
        return None
    if get_origin(kind) is tuple and not text.startswith("["):
        return [_read_value(item.strip(), get_args(kind)[0]) for item in text.split(",") if item.strip()]
    return _read_value(text, kind)
