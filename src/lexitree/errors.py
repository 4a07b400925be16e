"""Every error a user can cause, one class each: what is wrong, where, and what to do about it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal

OnError = Literal["raise", "skip"]
"""What a reader does at something malformed: stop there, or leave it out, count it and go on."""

SHOWN_COLUMNS = 96
"""How much of a long line is shown around the caret."""


class LexitreeError(Exception):
    """What a user can cause and mend: the command line prints it without a traceback and exits with 1."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message


@dataclass(frozen=True, slots=True)
class Place:
    """Where in an input something is wrong; line and column count from 1, 0 means unknown."""

    path: str
    line: int = 0
    column: int = 0
    source: str = ""

    def __str__(self) -> str:
        numbers = [str(number) for number in (self.line, self.column) if number]
        return ":".join([self.path, *numbers])

    def caret(self) -> str:
        """The source line, cut to a window around the column, with a caret under the place."""
        if not self.source or not self.column:
            return ""
        first = max(0, self.column - 1 - SHOWN_COLUMNS // 2)
        shown = self.source[first : first + SHOWN_COLUMNS].rstrip("\r\n")
        lead = "…" if first else ""
        tail = "…" if first + SHOWN_COLUMNS < len(self.source.rstrip("\r\n")) else ""
        # Control characters would move the cursor and so the caret: show them as spaces.
        shown = "".join(character if character.isprintable() else " " for character in shown)
        return f"  {lead}{shown}{tail}\n  {' ' * (len(lead) + self.column - 1 - first)}^"


class InputError(LexitreeError):
    """Something in a file or stream is wrong at a place that can be named."""

    def __init__(self, place: Place, problem: str, *, remedy: str = "") -> None:
        caret = place.caret()
        super().__init__(f"{place}: {problem}" + (f"\n{caret}" if caret else ""), remedy=remedy)
        self.place = place
        self.problem = problem

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_input_error, (type(self), self.place, self.problem, self.remedy)


def _rebuild_input_error(kind: type[InputError], place: Place, problem: str, remedy: str) -> InputError:
    """Errors cross process borders (several seeds train in parallel), so they must survive pickling."""
    return kind(place, problem, remedy=remedy)


class EncodingError(InputError):
    """A byte that does not decode; the encoding is never guessed."""


class BracketError(InputError):
    """A malformed bracketed tree."""


class JsonLinesError(InputError):
    """A line that is not the JSON object it should be."""


class DependencyError(InputError):
    """A line of words or parents that is no dependency tree."""


class TableError(InputError):
    """A row of a table with the wrong cells, or a table without the column that is asked for."""


class SentenceError(InputError):
    """A labelled sentence that is not `label<TAB>words`."""


class VectorsError(InputError):
    """A row of a word-vector file that cannot be read."""


class TreeError(LexitreeError):
    """Arrays that do not describe a tree, or a tree that cannot be converted as asked."""


class LabelError(LexitreeError):
    """A label that the label set does not have, or labels where there should be none."""


class FileError(LexitreeError):
    """A file that is missing, unreadable, or cannot be written."""

    def __init__(self, path: str | Path, problem: str, *, remedy: str = "") -> None:
        super().__init__(f"{path}: {problem}", remedy=remedy)
        self.path = str(path)
        self.problem = problem

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_file_error, (type(self), self.path, self.problem, self.remedy)


def _rebuild_file_error(kind: type[FileError], path: str, problem: str, remedy: str) -> FileError:
    return kind(path, problem, remedy=remedy)


class CheckpointError(FileError):
    """A checkpoint that is damaged or belongs to another run."""


class ModelFileError(FileError):
    """A saved model that is damaged, incomplete or of another version."""


class CorpusNotFoundError(LexitreeError):
    """A corpus that is neither embedded nor found under the data folder."""


class DownloadError(LexitreeError):
    """A download that could not be completed or whose checksum is wrong."""


class ConfigError(LexitreeError):
    """Settings that contradict each other or are out of range."""


class BackendError(LexitreeError):
    """An implementation that cannot run here."""


class NotFiniteError(LexitreeError):
    """A model whose scores are not numbers."""


class TrainingDivergedError(LexitreeError):
    """The loss is no longer a number."""


class ParserError(LexitreeError):
    """A parser that cannot be started, stops answering, or answers what is no tree."""


class ParseRefusedError(ParserError):
    """A sentence that a parser gives no tree for."""


class ParseMismatchError(ParserError):
    """A tree whose words are not those of its sentence."""


class MissingExtraError(LexitreeError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed.",
            remedy=f"Install it with: pip install 'lexitree[{extra}]'",
        )
        self.needs = (package, extra, purpose)

    def __reduce__(self) -> tuple[object, ...]:
        return MissingExtraError, self.needs


def import_extra(module: str, *, extra: str, purpose: str, package: str = "") -> ModuleType:
    """Import a module of an optional dependency.

    Args:
        module: The module's full name, such as "sklearn.svm".
        extra: The extra of lexitree that installs it.
        purpose: What it is needed for; the subject of the error message.
        package: The package's name for pip, where it is not that of the module.

    Raises:
        MissingExtraError: The package is not installed.
        LexitreeError: It is installed, but something that it imports is missing or broken.
    """
    top_level = module.partition(".")[0]
    package = package or top_level
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if (error.name or "").partition(".")[0] == top_level:
            raise MissingExtraError(package, extra, purpose) from error
        raise LexitreeError(
            f"the package '{package}' is installed but cannot be imported ({error})",
            remedy=f"Reinstall it with: pip install --force-reinstall 'lexitree[{extra}]'",
        ) from error
