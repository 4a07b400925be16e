"""A parser's name as it stands on the command line in, the parser out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lexitree.errors import ConfigError
from lexitree.parsers.adapters.benepar import BeneparParser
from lexitree.parsers.adapters.bracket_files import BracketsParser
from lexitree.parsers.adapters.command_line import CommandParser
from lexitree.parsers.adapters.corenlp import CoreNLPParser
from lexitree.parsers.adapters.stanford import StanfordParser
from lexitree.parsers.adapters.stanza import StanzaParser
from lexitree.parsers.protocol import Parser
from lexitree.saving import shipped

BUILTIN_MODEL = shipped.FOLDER / "parser"
"""The saved parser that `builtin` alone stands for: the one that comes with the package."""


def open_builtin(model: str = "", *, device: str = "cpu", style: str | None = None) -> Parser:
    """Our own parser from a folder that it was saved in; the one place where it joins the others."""
    # Only here: the adapters do without torch, which takes a second to import.
    from lexitree.parsers.saved_parser import load_parser

    if not model and not BUILTIN_MODEL.is_dir():
        raise ConfigError(
            "the built-in parser needs a trained model, and none comes with this version",
            remedy="Train one with `lexitree parser train`, and name its folder: builtin:FOLDER",
        )
    return load_parser(model or BUILTIN_MODEL, device=device, style=style)


@dataclass(frozen=True, slots=True)
class ParserKind:
    """A kind of parser: what it is called and what must or may come after the colon."""

    open: Callable[..., Parser]
    form: str
    needs: str = ""
    """What must come after the colon; empty if nothing has to."""


PARSER_KINDS = {
    "brackets": ParserKind(BracketsParser, "brackets:FILE", "a bracket file, or - for standard input"),
    "command": ParserKind(CommandParser, "command:PROGRAM ARGUMENTS", "a command"),
    "stanford": ParserKind(StanfordParser, "stanford:FOLDER", "the folder of its jar files"),
    "stanza": ParserKind(StanzaParser, "stanza[:MODEL]"),
    "benepar": ParserKind(BeneparParser, "benepar[:MODEL]"),
    "corenlp": ParserKind(CoreNLPParser, "corenlp:http://HOST:9000", "the address of its server"),
    "builtin": ParserKind(open_builtin, "builtin[:MODEL]"),
}


def open_parser(spec: str, **options: Any) -> Parser:
    """A parser by what it is called on the command line, such as `brackets:trees.txt`; see PARSER_KINDS.

    Options are those of the parser's class, such as `on_refused="flat"`. All but the built-in parser are context
    managers.
    """
    name, _, argument = spec.partition(":")
    kind = PARSER_KINDS.get(name)
    if kind is None:
        forms = "\n".join(f"  {one.form}" for one in PARSER_KINDS.values())
        raise ConfigError(f"there is no parser called {spec!r}", remedy=f"A parser is one of\n{forms}")
    if kind.needs and not argument.strip():
        raise ConfigError(f"the parser {name!r} needs {kind.needs}", remedy=f"Write {kind.form}")
    arguments = (argument,) if argument.strip() else ()
    try:
        inspect.signature(kind.open).bind(*arguments, **options)
    except TypeError as error:
        known = ", ".join(inspect.signature(kind.open).parameters)
        raise ConfigError(f"the parser {name!r}: {error}", remedy=f"Its options are {known}.") from error
    return kind.open(*arguments, **options)
