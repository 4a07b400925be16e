"""Errors that users can cause and fix, each with its place in the input and a remedy."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal

from lexitree.installation import install_command

OnError = Literal["raise", "skip"]
"""On malformed input: stop with an error, or skip the item and count it."""

OnTextError = Literal["raise", "skip", "return"]
"""On a text that cannot be labelled: stop with an error, leave the text out, or give the error in its place."""

_SHOWN_COLUMNS = 96
"""How many columns of a long line are shown around the caret."""


class LexitreeError(Exception):
    """Base class of all errors that a user can fix.

    The command line prints them without a traceback and exits with status 1.

    Args:
        message: What is wrong.
        remedy: What to do about it.
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message


@dataclass(frozen=True, slots=True)
class Place:
    """A position in an input file; `line` and `column` count from 1, and 0 means unknown."""

    path: str
    line: int = 0
    column: int = 0
    source: str = ""

    def __str__(self) -> str:
        numbers = [str(number) for number in (self.line, self.column) if number]
        return ":".join([self.path, *numbers])

    def caret(self) -> str:
        """Return the source line, shortened around the column, with a caret below the position."""
        if not self.source or not self.column:
            return ""
        first = max(0, self.column - 1 - _SHOWN_COLUMNS // 2)
        shown = self.source[first : first + _SHOWN_COLUMNS].rstrip("\r\n")
        lead = "…" if first else ""
        tail = "…" if first + _SHOWN_COLUMNS < len(self.source.rstrip("\r\n")) else ""
        # Control characters would move the cursor, and with it the caret.
        shown = "".join(character if character.isprintable() else " " for character in shown)
        return f"  {lead}{shown}{tail}\n  {' ' * (len(lead) + self.column - 1 - first)}^"


class InputError(LexitreeError):
    """An error at a known position in a file or stream."""

    def __init__(self, place: Place, problem: str, *, remedy: str = "") -> None:
        caret = place.caret()
        super().__init__(f"{place}: {problem}" + (f"\n{caret}" if caret else ""), remedy=remedy)
        # Errors are pickled to cross process boundaries, and unpickling calls the class with `args`.
        self.args = (place, problem)
        self.place = place
        self.problem = problem


class EncodingError(InputError):
    """A byte that is invalid in the given encoding; encodings are never guessed."""


class BracketError(InputError):
    """A malformed bracketed tree."""


class JsonLinesError(InputError):
    """A line that is not the expected JSON object."""


class DependencyError(InputError):
    """A line of words or parents that does not form a dependency tree."""


class TableError(InputError):
    """A malformed row of a table, or a missing column."""


class SentenceError(InputError):
    """A line that is not of the form `label<TAB>words`."""


class VectorsError(InputError):
    """A malformed row or file of word vectors."""


class PatternError(InputError):
    """A malformed search pattern, or one that asks for what the trees do not have."""


class SpaceError(InputError):
    """A search space that names an unknown setting, or values that a setting does not accept."""


class TreeError(LexitreeError):
    """Arrays that do not describe a tree, or a tree that cannot be converted as requested."""


class SizeError(TreeError):
    """Vectors, weights or indices whose sizes or types do not fit each other or their trees."""


class LabelError(LexitreeError):
    """An unknown label, or a label where none is allowed."""


class TextError(LexitreeError):
    """A text that cannot be labelled: not a string, half of a surrogate pair, or beyond a limit.

    Args:
        problem: What is wrong, with the text as its subject.
        number: The position of the text in its stream, from 0; None for a text that was given alone.
        excerpt: Some of the text, with only printable characters.
        remedy: What to do about it.
        subject: What has the problem, if it is not just this text.
    """

    def __init__(
        self,
        problem: str,
        number: int | None = None,
        excerpt: str = "",
        *,
        remedy: str = "",
        subject: str = "",
    ) -> None:
        subject = subject or ("the text" if number is None else f"text {number}")
        super().__init__(f"{subject} {problem}" + (f": {excerpt}" if excerpt else ""), remedy=remedy)
        self.args = (problem, number, excerpt)
        self.number = number
        self.problem = problem


class LimitError(TextError):
    """A text beyond a limit (see `lexitree.Limits`), or a call that took longer than its limit.

    Args:
        limit: The name of the limit, a field of `Limits`.
        amount: How much the text has; None if it was not measured.
        allowed: How much is allowed.
        number: The position of the text in its stream, from 0, or of the first text of a batch that took too long;
            None for a text that was given alone.
        excerpt: Some of the text, with only printable characters.
    """

    def __init__(
        self, limit: str, amount: int | None, allowed: float, number: int | None = None, excerpt: str = ""
    ) -> None:
        what = _COUNTED.get(limit, limit)
        is_batch = amount is None and number is not None
        super().__init__(
            f"takes longer than the limit of {allowed:,} {what}"
            if amount is None
            else f"has {amount:,} {what}, and the limit is {allowed:,}",
            number,
            excerpt,
            remedy=f"{'Take smaller batches' if is_batch else 'Divide the text'}, or raise the limit: "
            f"Limits({limit}=...), or --limit {limit}=NUMBER.",
            subject=f"a batch of texts from number {number} on" if is_batch else "",
        )
        self.args = (limit, amount, allowed, number, excerpt)
        self.limit = limit
        self.amount = amount
        self.allowed = allowed


_COUNTED = {"sentence_words": "words in one sentence", "token_characters": "characters in one token"}


class CancelledError(LexitreeError):
    """A call that another thread has cancelled."""


class FileError(LexitreeError):
    """A file that is missing, unreadable or not writable."""

    def __init__(self, path: str | Path, problem: str, *, remedy: str = "") -> None:
        super().__init__(f"{path}: {problem}", remedy=remedy)
        self.args = (path, problem)
        self.path = str(path)
        self.problem = problem


class CheckpointError(FileError):
    """A checkpoint that is damaged or belongs to another run."""


class ModelFileError(FileError):
    """A saved model that is damaged, incomplete or of another version."""


class CorpusNotFoundError(LexitreeError):
    """An unknown corpus, or one that is not on this machine."""


class DownloadError(LexitreeError):
    """A download that failed or whose checksum is wrong."""


class ConfigError(LexitreeError):
    """Settings that are out of range or contradict each other."""


class PluginError(LexitreeError):
    """Something that another package adds and that cannot be used; the message names the package."""


class BackendError(LexitreeError):
    """An implementation that cannot run on this machine."""


class NotFiniteError(LexitreeError):
    """Model scores that are infinite or NaN."""


class TrainingDivergedError(LexitreeError):
    """A training loss that became infinite or NaN."""


class LostProcessError(LexitreeError):
    """Another process of a data-parallel run has failed, was killed or does not answer."""


class ParserError(LexitreeError):
    """A parser that cannot start, stopped responding, or returned something other than a tree."""


class ParseRefusedError(ParserError):
    """A sentence for which the parser returned no tree."""


class ParseMismatchError(ParserError):
    """A tree whose words differ from those of its sentence."""


class ServiceError(LexitreeError):
    """A request that a service refused, or a service that does not answer.

    Args:
        message: What the service says, or that it does not.
        remedy: What to do about it.
        status: The HTTP status; 0 if there was no answer.
        request_id: The number under which the service's log has the request.
    """

    def __init__(self, message: str, *, remedy: str = "", status: int = 0, request_id: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.status = status
        self.request_id = request_id


class NotEnoughMemoryError(LexitreeError):
    """More memory is needed than there is."""

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "Use a smaller model or batch, fewer --jobs, or a machine with more memory.",
    ) -> None:
        super().__init__(message, remedy=remedy)


def find_memory_error(error: BaseException) -> NotEnoughMemoryError | None:
    """The error to show if this one says that memory ran out: Python's own, NumPy's or torch's; else None."""
    first_line = str(error).partition("\n")[0]
    # torch raises a RuntimeError on a CPU and a subclass of it on a GPU.
    if isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and _OUT_OF_MEMORY.search(first_line)
    ):
        return NotEnoughMemoryError(f"not enough memory: {first_line or 'Python has none left'}")
    return None


_OUT_OF_MEMORY = re.compile(r"allocate memory|out of memory", re.IGNORECASE)


class MissingExtraError(LexitreeError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed.",
            remedy=f"Install it with: {install_command(extra)}",
        )
        self.args = (package, extra, purpose)


_EXTRA_OF = {"torch": "train", "jaxtyping": "train"}
"""The extras of packages that whole modules of lexitree are built on."""


def explain_missing(error: ModuleNotFoundError, purpose: str) -> ModuleNotFoundError | MissingExtraError:
    """What to raise when a module of lexitree cannot be imported: an error that names the extra, if there is one.

    Args:
        error: The error of the import.
        purpose: What the module is needed for; the subject of the error message.
    """
    package = (error.name or "").partition(".")[0]
    return MissingExtraError(package, _EXTRA_OF[package], purpose) if package in _EXTRA_OF else error


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
            remedy=f"Reinstall it with: {install_command(extra, options='--force-reinstall')}",
        ) from error
