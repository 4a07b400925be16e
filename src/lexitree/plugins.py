"""What other packages add to lexitree: models, trained or not, head methods, parsers, corpora and so on.

Each of these has one `Registry`. Its entries are built in, added by the decorator `register` in the running program,
or named by an entry point of an installed package, which is imported only when the entry is asked for:

    [project.entry-points."lexitree.models"]
    mean-tree = "my_package:MeanTree"
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, Literal, TypeVar, cast

from lexitree.errors import ConfigError, PluginError
from lexitree.suggestions import close_names, did_you_mean

Kind = Literal[
    "model",
    "model kind",
    "shipped model",
    "head method",
    "parser",
    "corpus",
    "format",
    "teacher",
    "recipe table",
    "command",
]
"""What can be added."""

GROUPS: dict[Kind, str] = {
    "model": "lexitree.models",
    "model kind": "lexitree.model_kinds",
    "shipped model": "lexitree.shipped_models",
    "head method": "lexitree.head_methods",
    "parser": "lexitree.parsers",
    "corpus": "lexitree.corpora",
    "format": "lexitree.formats",
    "teacher": "lexitree.teachers",
    "recipe table": "lexitree.recipes",
    "command": "lexitree.commands",
}
"""The entry points of each kind."""

_HOMES: dict[Kind, str] = {
    "model": "lexitree.models.registries:ENCODERS",
    "head method": "lexitree.models.registries:HEAD_METHODS",
    "parser": "lexitree.parsers.adapters:PARSER_KINDS",
    "corpus": "lexitree.corpora.named:CORPORA",
    "format": "lexitree.pipeline.known_formats:FORMATS",
    "teacher": "lexitree.tasks.classify.teaching:TEACHERS",
    "model kind": "lexitree.saving.model_kinds:KINDS",
}
"""Where the registries are that `register` adds to. Commands are found before anything is imported; a trained model
is a folder and a recipe is a file, which need no other name in a running program."""

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
"""A name must fit on a command line, before a colon and into an error message."""

Entry = TypeVar("Entry")
Added = TypeVar("Added", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Source:
    """Where an entry that is not built in comes from."""

    module: str
    """The module that defines it."""
    package: str = ""
    """The installed distribution that names it as an entry point; empty if it was added by `register`."""
    version: str = ""

    def __str__(self) -> str:
        return f"the package {self.package} {self.version}" if self.package else f"the module {self.module}"

    def as_dict(self) -> dict[str, str]:
        """The parts that are not empty, for the files of a model that needs it."""
        parts = {"module": self.module, "package": self.package, "version": self.version}
        return {name: value for name, value in parts.items() if value}


@dataclass(frozen=True, slots=True)
class Later:
    """A built-in entry in a module that is imported when the entry is asked for, and not when names are listed."""

    home: str
    """The module and the name in it: `lexitree.models.catalog:RNTN`."""

    def load(self) -> Any:
        module, _, attribute = self.home.partition(":")
        return getattr(importlib.import_module(module), attribute)


class Registry(Mapping[str, Entry], Generic[Entry]):
    """Everything of one kind by name.

    Names can be listed without importing any package. A built-in entry always keeps its name; a name that two
    packages claim belongs to neither. Every error says which package caused it.

    Args:
        kind: What it holds.
        built_in: The entries of lexitree itself; those that are `Later` are imported when they are asked for.
        admit: Makes an entry of a name and what a package has under it, or raises a `TypeError` that says what it
            must be.
    """

    def __init__(
        self,
        kind: Kind,
        built_in: Mapping[str, Entry | Later] | None = None,
        admit: Callable[[str, Any, Source], Entry] = lambda _, value, __: value,
    ) -> None:
        self.kind: Kind = kind
        self.built_in = dict(built_in or {})
        self._admit = admit
        self._added: dict[str, tuple[Source, Entry]] = {}
        self._loaded: dict[EntryPoint, Entry] = {}

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __iter__(self) -> Iterator[str]:
        """The names: built-in, added and installed ones."""
        yield from self.built_in
        yield from dict.fromkeys([*self._added, *self._installed()])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or name in self._added or name in self._installed()

    def __getitem__(self, name: str) -> Entry:
        """The entry of a name.

        Raises:
            KeyError: There is none.
            PluginError: Its package cannot be imported, offers something else, or is not the only one.
        """
        if name in self.built_in:
            found = self.built_in[name]
            if isinstance(found, Later):
                found = self.built_in[name] = cast(Entry, found.load())
            return found
        source = self._only_source(name)
        if name in self._added:
            return self._added[name][1]
        (point,) = self._installed()[name]
        if point not in self._loaded:
            self._loaded[point] = self._check(name, self._load(point, source), source)
        return self._loaded[point]

    def find(self, name: str) -> Entry:
        """The entry of a name; unlike `[]`, it suggests other names if there is none.

        Raises:
            ConfigError: There is none.
            PluginError: As for `[]`.
        """
        if name in self:
            return self[name]
        meant = did_you_mean(close_names(name, self))
        remedy = f"{meant} The {self.kind}s are: {', '.join(self)}.".lstrip()
        raise ConfigError(f"unknown {self.kind} '{name}'", remedy=remedy)

    def working(self) -> Iterator[tuple[str, Entry]]:
        """All entries, built-in ones first; a package that fails is a warning, since nobody has asked for it."""
        for name in self:
            try:
                yield name, self[name]
            except PluginError as error:
                warnings.warn(str(error), stacklevel=2)

    def source(self, name: str) -> Source | None:
        """Where an entry comes from; None for a built-in one, and for a name that there is not."""
        return None if name in self.built_in or name not in self else self._only_source(name)

    def register(self, name: str, value: Any) -> None:
        """Add an entry in this process. One of the same module and class is replaced, as in a notebook.

        Raises:
            PluginError: The name is taken, or the value is not of the right type.
        """
        source = Source(getattr(value, "__module__", type(value).__module__))
        before = self._added.get(name)
        if name in self.built_in or (before is not None and before[0] != source):
            owner = f"of {before[0]}" if before else "that is built in"
            raise PluginError(
                f"there is already a {self.kind} {name!r}, {owner}", remedy="Choose another name."
            )
        self._added[name] = source, self._check(name, value, source)

    def _installed(self) -> dict[str, list[EntryPoint]]:
        """The entry points of other packages, by name."""
        found = dict(_entry_points(tuple(sys.path))[GROUPS[self.kind]])
        for name in [name for name in found if name in self.built_in]:
            source = _source_of(found.pop(name)[0])
            warnings.warn(
                f"{source} offers a {self.kind} {name!r}; the one of lexitree is used", stacklevel=2
            )
        return found

    def _only_source(self, name: str) -> Source:
        """Who claims a name, other than lexitree itself."""
        points = self._installed().get(name, [])
        sources = [_source_of(point) for point in points]
        if name in self._added:
            added = self._added[name][0]
            # A package may use the decorator for what it also names as its entry point.
            sources = [added, *(each for each in sources if _top(each.module) != _top(added.module))]
        if not sources:
            raise KeyError(name)
        if len(sources) > 1:
            claims = " and ".join(map(str, sources))
            packages = " or ".join(each.package for each in sources if each.package)
            raise PluginError(
                f"the {self.kind} {name!r} is claimed by {claims}", remedy=f"Uninstall {packages}."
            )
        return sources[0]

    def _load(self, point: EntryPoint, source: Source) -> Any:
        try:
            return point.load()
        except Exception as error:  # whatever the code of another package raises when it is imported
            raise PluginError(
                f"the {self.kind} {point.name!r} of {source} cannot be imported ({type(error).__name__}: {error})",
                remedy=f"Reinstall the package, or remove it: pip uninstall {source.package}",
            ) from error

    def _check(self, name: str, value: Any, source: Source) -> Entry:
        if not _NAME.fullmatch(name):
            raise PluginError(
                f"{source} gives a {self.kind} a name that it cannot have: {name!r:.80}",
                remedy="Names have letters, digits, dots, hyphens and underscores, and start with a letter or digit.",
            )
        try:
            return self._admit(name, value, source)
        except (TypeError, ValueError) as error:
            raise PluginError(f"the {self.kind} {name!r} of {source} {error}") from error


def register(kind: Kind, name: str) -> Callable[[Added], Added]:
    """Add a model, head method, parser, corpus, output format, teacher or kind of model to the running program.

    An installed package names it as an entry point instead; then it is there in every process and every command.

        @lexitree.register("corpus", "weather")
        def load_weather() -> lexitree.Corpus: ...

    Args:
        kind: What it is: `model`, `head method`, `parser`, `corpus`, `format`, `teacher` or `model kind`.
        name: Its name in recipes and on the command line.

    Returns:
        A decorator, which returns what it decorates.

    Raises:
        PluginError: The name is taken, or what is decorated is not of the right type.
    """
    if kind not in _HOMES:
        raise PluginError(
            f"nothing of the kind {kind!r} can be registered", remedy=f"Choose one of: {', '.join(_HOMES)}."
        )
    module, _, attribute = _HOMES[kind].partition(":")

    def decorate(value: Added) -> Added:
        getattr(importlib.import_module(module), attribute).register(name, value)
        return value

    return decorate


def blame(error: BaseException) -> Source | None:
    """The package in whose code an error was raised, if it is one that adds something to lexitree."""
    by_module = {
        _top(source.module): source
        for group in _entry_points(tuple(sys.path)).values()
        for points in group.values()
        for source in map(_source_of, points)
        if source.package != "lexitree"
    }
    trace, found = error.__traceback__, None
    while trace is not None:
        top = _top(str(trace.tb_frame.f_globals.get("__name__", "")))
        # The innermost frame of either side counts: a wrong call by a package is its error, a wrong call of it ours.
        found = by_module.get(top, None if top == "lexitree" else found)
        trace = trace.tb_next
    return found


@functools.cache
def _entry_points(path: tuple[str, ...]) -> dict[str, dict[str, list[EntryPoint]]]:
    """The entry points of all groups by group and name; a changed `sys.path` is searched anew.

    Reading the metadata of all installed packages takes 20 ms, so it is done once.
    """
    del path
    installed = entry_points()
    found: dict[str, dict[str, list[EntryPoint]]] = {group: {} for group in GROUPS.values()}
    for group, by_name in found.items():
        for point in installed.select(group=group):
            by_name.setdefault(point.name, []).append(point)
    return found


def _source_of(point: EntryPoint) -> Source:
    # Not `point.module`, which fails for a value that names no module.
    module = point.value.partition(":")[0].strip()
    return Source(module, *((point.dist.name, point.dist.version) if point.dist else ()))


def _top(module: str) -> str:
    return module.partition(".")[0]
