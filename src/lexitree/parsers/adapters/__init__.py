"""Adapters for other parsers, and `open_parser`, which opens any parser by name, such as `brackets:FILE`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from lexitree.errors import ConfigError
from lexitree.parsers.adapters.adapter import penn_spelling
from lexitree.parsers.adapters.bracket_files import BracketsParser
from lexitree.parsers.adapters.command_line import CommandParser
from lexitree.parsers.adapters.corenlp import CoreNLPParser
from lexitree.parsers.adapters.python_packages import BeneparParser, StanzaParser
from lexitree.parsers.adapters.stanford import StanfordParser
from lexitree.parsers.protocol import Parser
from lexitree.plugins import Registry, Source
from lexitree.saving import shipped

__all__ = [
    "PARSER_KINDS",
    "BeneparParser",
    "BracketsParser",
    "CommandParser",
    "CoreNLPParser",
    "StanfordParser",
    "StanzaParser",
    "open_parser",
    "parser_options",
    "penn_spelling",
]

BUILTIN_MODEL = shipped.FOLDER / "parser"
"""The folder of the parser that comes with the package."""


def _open_builtin(model: str = "", *, device: str = "auto", style: str | None = None) -> Parser:
    """Load the built-in parser from a folder; by default the one that comes with the package."""
    # Imported here because the adapters work without torch, which takes a second to import.
    from lexitree.parsers.saved_parser import load_parser

    if not model and not BUILTIN_MODEL.is_dir():
        raise ConfigError(
            "this version comes without a trained parser",
            remedy="Train one with `lexitree parser train` and give its folder: builtin:FOLDER",
        )
    return load_parser(model or BUILTIN_MODEL, device=device, style=style)


@dataclass(frozen=True, slots=True)
class ParserKind:
    """How a kind of parser is opened, and what follows its name after a colon."""

    open: Callable[..., Parser]
    form: str
    needs: str = ""
    """What must follow the colon; empty if nothing must."""


_BUILT_IN = {
    "brackets": ParserKind(BracketsParser, "brackets:FILE", "a bracket file, or - for standard input"),
    "command": ParserKind(CommandParser, "command:PROGRAM ARGUMENTS", "a command"),
    "stanford": ParserKind(StanfordParser, "stanford:FOLDER", "the folder of its jar files"),
    "stanza": ParserKind(StanzaParser, "stanza[:MODEL]"),
    "benepar": ParserKind(BeneparParser, "benepar[:MODEL]"),
    "corenlp": ParserKind(CoreNLPParser, "corenlp:http://HOST:9000", "the address of its server"),
    "builtin": ParserKind(_open_builtin, "builtin[:MODEL]"),
}


def _admit(name: str, value: Any, source: Source) -> ParserKind:
    """A parser of another package: a class with `parse_all`, or a function that returns an object of one."""
    if not callable(value) or (isinstance(value, type) and not hasattr(value, "parse_all")):
        raise TypeError("must be a class with a method parse_all, or a function that opens a parser")
    open_it = cast(Callable[..., Parser], value)
    parameters = inspect.signature(open_it).parameters.values()
    first = next((each for each in parameters if each.kind in _POSITIONAL), None)
    if first is None:
        return ParserKind(open_it, name)
    is_needed = first.default is inspect.Parameter.empty
    form = f":{first.name.upper()}"
    return ParserKind(
        open_it, name + (form if is_needed else f"[{form}]"), f"a {first.name}" if is_needed else ""
    )


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

PARSER_KINDS: Registry[ParserKind] = Registry("parser", _BUILT_IN, _admit)
"""The kinds of parsers by name."""


def open_parser(spec: str, **options: Any) -> Parser:
    """Open a parser by name.

    Args:
        spec: `builtin[:FOLDER]`, `brackets:FILE`, `command:PROGRAM ARGUMENTS`, `stanford:FOLDER`, `stanza[:MODEL]`,
            `benepar[:MODEL]`, `corenlp:http://HOST:9000`, or the name of a parser that another package adds.
        **options: Options of the parser's class, such as `on_refused="flat"`.

    Returns:
        The parser. All but the built-in one are context managers.

    Raises:
        ConfigError: The name or an option is unknown.
        ParserError: The parser cannot be opened.
    """
    name, _, argument = spec.partition(":")
    kind = _find_kind(spec)
    if kind.needs and not argument.strip():
        raise ConfigError(f"the parser {name!r} needs {kind.needs}", remedy=f"Write {kind.form}")
    arguments = (argument,) if argument.strip() else ()
    try:
        inspect.signature(kind.open).bind(*arguments, **options)
    except TypeError as error:
        known = ", ".join(inspect.signature(kind.open).parameters)
        raise ConfigError(f"the parser {name!r}: {error}", remedy=f"Its options are {known}.") from error
    return kind.open(*arguments, **options)


def parser_options(spec: str) -> frozenset[str]:
    """The names of the options that `open_parser` takes for a parser.

    Raises:
        ConfigError: The name is unknown.
    """
    return frozenset(inspect.signature(_find_kind(spec).open).parameters)


def _find_kind(spec: str) -> ParserKind:
    kind = PARSER_KINDS.get(spec.partition(":")[0])
    if kind is None:
        forms = "\n".join(f"  {one.form}" for _, one in PARSER_KINDS.working())
        raise ConfigError(f"unknown parser {spec!r}", remedy=f"Parsers are\n{forms}")
    return kind
