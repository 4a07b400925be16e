"""The bodies of requests: JSON that is read strictly and checked by the classes that the OpenAPI document shows."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Literal, NoReturn, TypeVar, cast

from lexitree.errors import ConfigError
from lexitree.server.problems import ProblemError
from lexitree.settings import Setting, Settings

Included = Literal["probabilities", "phrases", "heads", "offsets", "trees", "head_weights"]
"""What an answer can hold besides labels."""

_MODEL = Setting("The name of the model, one of GET /v1/models; by default the first.")
_ONE_SENTENCE = Setting("Whether each text is taken as a single sentence.")
_TEXT = Setting("A text of any number of sentences.")
_MOST_DIGITS = 4_000
_TEXTS = Setting("Several texts, instead of `text`.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRequest(Settings):
    """A text, or several, for a model."""

    text: Annotated[str | None, _TEXT] = None
    texts: Annotated[tuple[str, ...] | None, _TEXTS] = None
    model: Annotated[str | None, _MODEL] = None
    one_sentence: Annotated[bool, _ONE_SENTENCE] = False

    def _check_together(self) -> None:
        if (self.text is None) == (self.texts is None):
            raise ConfigError("either text or texts is needed", remedy='Send {"text": "..."}.')

    @property
    def all_texts(self) -> tuple[str, ...]:
        return (self.text,) if self.text is not None else self.texts or ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRequest(TextRequest):
    """Texts to label, and what to tell about them."""

    include: Annotated[
        tuple[Included, ...],
        Setting("What the answer holds besides the labels of texts and sentences.", unique=True),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseRequest(TextRequest):
    """Texts to parse; with the parser of the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainRequest(Settings):
    """A text to explain."""

    text: Annotated[str, _TEXT]
    model: Annotated[str | None, _MODEL] = None
    one_sentence: Annotated[bool, _ONE_SENTENCE] = False
    format: Annotated[
        Literal["json", "html", "svg"], Setting("Data for programs, a page, or a picture of the trees.")
    ] = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRequest(Settings):
    """A line of a stream; a line may also be just the text, as a JSON string."""

    text: Annotated[str, _TEXT]
    id: Annotated[Any, Setting("Anything; it comes back with the answer.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamQuery(Settings):
    """How the lines of a stream are labelled; parameters of the address."""

    model: Annotated[str | None, _MODEL] = None
    include: Annotated[
        tuple[Included, ...],
        Setting("What the answers hold besides labels; several with commas between them.", unique=True),
    ] = ()
    one_sentence: Annotated[bool, _ONE_SENTENCE] = False


Body = TypeVar("Body", bound=Settings)


def read_json(data: bytes, what: str = "body") -> Any:
    """Read JSON of UTF-8; `what` is its name in error messages.

    Raises:
        ProblemError: It is not JSON or not Unicode.
    """
    try:
        values = json.loads(
            data.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_short_integer,
        )
        if b"\\u" in data:
            # An escape can be half of a surrogate pair, which is no character.
            json.dumps(values, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise _bad_request(f"the {what} is not UTF-8: byte {error.start} is wrong") from error
    except UnicodeEncodeError as error:
        raise _bad_request(f"the {what} holds half of a surrogate pair") from error
    except RecursionError as error:
        raise _bad_request(f"the {what} is nested too deeply") from error
    except ValueError as error:
        raise _bad_request(f"the {what} is not JSON: {error}") from error
    return values


def read_body(kind: type[Body], data: bytes) -> Body:
    """Read and check the body of a request.

    Raises:
        ProblemError: It is not JSON or not Unicode.
        ConfigError: A field is unknown, missing or invalid.
    """
    values = read_json(data)
    if not isinstance(values, dict):
        raise ConfigError("the body must be a JSON object", remedy='Send {"text": "..."}.')
    return kind.from_dict(cast(dict[str, Any], values))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _short_integer(digits: str) -> int:
    """A number, unless it has more digits than Python reads by default."""
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits is too large")
    return int(digits)


def _finite(digits: str) -> float:
    """A number, unless it is too large: it could not be written again."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:60]} is too large")
    return number


def _bad_request(detail: str) -> ProblemError:
    return ProblemError(HTTPStatus.BAD_REQUEST, detail, remedy='Send JSON in UTF-8, such as {"text": "..."}.')
