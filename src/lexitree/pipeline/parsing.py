"""Parses texts, files of texts and tables and writes the trees: what `lexitree parse` does, as a library call."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lexitree.errors import ConfigError, InputError, TextError
from lexitree.files import BRACKET_SUFFIXES, JSON_LINES_SUFFIXES, choose_format, to_json
from lexitree.lazy import cached_property
from lexitree.limits import Limits
from lexitree.pipeline.inputs import Inputs, UntilError
from lexitree.saving.shipped import BUILTIN_PARSER
from lexitree.writing import open_output

if TYPE_CHECKING:
    from lexitree.corpora.tables import Row
    from lexitree.parsers.text_parser import TextLayout, TextParser
    from lexitree.results.parsed_text import ParsedText
    from lexitree.trees.brackets import ReadReport

ParseFormat = Literal["brackets", "json", "svg", "tree"]

_ENDINGS: dict[str, tuple[str, ...]] = {
    "brackets": BRACKET_SUFFIXES,
    "json": JSON_LINES_SUFFIXES,
    "svg": (".svg",),
    "tree": (".txt",),
}


@dataclass(frozen=True)
class ParserSettings:
    """Which parser parses texts, and how."""

    parser: str = BUILTIN_PARSER
    """What `open_parser` takes."""
    device: str = "auto"
    """Where the parser runs, if it takes a device as the built-in one does; others choose themselves."""
    style: str | None = None
    """The treebank whose conventions the built-in parser follows; by default the one chosen in training."""
    layout: TextLayout = "text"
    limits: Limits = field(default_factory=Limits)
    """What a text may have before it is refused."""

    @contextmanager
    def open(self) -> Generator[TextParser]:
        """Open the parser, and close it after use."""
        from lexitree.ops.devices import choose_device
        from lexitree.parsers.adapters import open_parser, parser_options
        from lexitree.parsers.text_parser import TextParser

        # Only the built-in parser has styles, alone or behind one of another package; others choose their device.
        has_styles = {"device", "style"} <= parser_options(self.parser)
        if self.style is not None and not has_styles:
            raise ConfigError(
                f"--style is for the built-in parser, not for {self.parser!r}", remedy="Omit the option."
            )
        options: dict[str, Any] = {"device": choose_device(self.device), "style": self.style}
        parser = open_parser(self.parser, **(options if has_styles else {}))
        with parser if isinstance(parser, AbstractContextManager) else nullcontext():
            yield TextParser(parser, layout=self.layout, limits=self.limits)


@dataclass(frozen=True)
class ParsingJob:
    """Everything about parsing some inputs; `run` does it.

    Raises:
        ConfigError: The settings contradict each other or the inputs. It is raised before a parser is opened.
    """

    inputs: Inputs
    output: str | Path | None = None
    """The output file, which appears when it is complete; None or `-` is standard output."""
    settings: ParserSettings = field(default_factory=ParserSettings)
    format: ParseFormat | None = None
    """By default, the ending of the output file decides, which must then be known."""
    column: str | None = None
    """The column of CSV or JSON Lines that holds the texts."""
    k: int | None = None
    """How many trees to find for each sentence, with their log probabilities; by default the best, without."""

    @cached_property
    def output_format(self) -> str:
        """The output format, checked against the other settings."""
        found = choose_format(self.output, _ENDINGS, asked=self.format, option="--format")
        if found in ("svg", "tree") and self.k is not None:
            raise ConfigError(
                f"--kbest is not for {found}, which shows one tree of each sentence",
                remedy="Use --format brackets or json.",
            )
        return found

    def run(self) -> ReadReport:
        """Parse all inputs and write the trees; those of one text at a time, except for a picture."""
        from lexitree.views.svg import draw_svg

        form = self.output_format
        rows = UntilError(self._rows())
        with self.settings.open() as parser, open_output(self.output, flush=True) as write:
            parsed = self._parse(parser, rows)
            if form == "svg":
                write(draw_svg([tree for _, text in parsed for tree in text.trees]))
            else:
                for number, text in parsed:
                    write(_RECORDS[form](number, text))
            rows.check()
        return self.inputs.report

    def _rows(self) -> Iterator[Row]:
        if self.column is not None:
            return chain.from_iterable(self.inputs.tables(self.column))
        # Empty input counts as trees.
        if self.inputs.hold_trees() and any(row.text.strip() for row in self.inputs.rows()):
            raise ConfigError(
                f"{str(self.inputs.arguments[0])[:60]} holds trees, and a parser reads text",
                remedy="For a table, name the column of the texts with --column. If it is text, use --input text.",
            )
        return self.inputs.rows()

    def _parse(self, parser: TextParser, rows: Iterator[Row]) -> Iterator[tuple[int, ParsedText]]:
        """The parsed texts with their numbers; texts that are refused are noted, or raise their error."""
        pairs = ((row.text, (number, row.place)) for number, row in enumerate(rows))
        for result, (number, place) in parser.stream_pairs(pairs, k=self.k):
            if isinstance(result, TextError):
                error = InputError(place, f"the text {result.problem}", remedy=result.remedy)
                self.inputs.report.note(error, self.inputs.on_error)
            else:
                yield number, result


def _bracket_lines(_: int, parsed: ParsedText) -> str:
    """A line for each sentence; with log probabilities, a line for each tree and an empty one after the sentence.

    A text without words is an empty line.
    """
    lines: list[str] = []
    for sentence in parsed.sentences:
        if sentence.log_probabilities:
            scored = zip(sentence.log_probabilities, sentence.brackets(), strict=True)
            lines += [f"{score:.4f}\t{tree}\n" for score, tree in scored]
            lines.append("\n")
        else:
            lines.append(f"{sentence.brackets()[0]}\n")
    return "".join(lines) or "\n"


def _json_lines(number: int, parsed: ParsedText) -> str:
    """A line for each sentence, with the number of its text and its own in the text, both from 0."""
    return "".join(
        to_json({"text_number": number, "sentence": place, **sentence.as_dict()}) + "\n"
        for place, sentence in enumerate(parsed.sentences)
    )


def _drawings(_: int, parsed: ParsedText) -> str:
    return "".join(f"{line}\n" for line in parsed.draw())


_RECORDS: dict[str, Callable[[int, ParsedText], str]] = {
    "brackets": _bracket_lines,
    "json": _json_lines,
    "tree": _drawings,
}
