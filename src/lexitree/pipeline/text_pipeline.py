"""Labels text, many sentences at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from itertools import chain
from threading import Event
from typing import Any, Self, TypedDict, TypeVar, Unpack, get_args, overload

from lexitree.errors import ConfigError, OnError, OnTextError, TextError
from lexitree.lexicon.unfamiliar import warn_of_unfamiliar
from lexitree.limits import Limits, Watch
from lexitree.models.label_model import AskedNodes
from lexitree.parsers.protocol import Parser
from lexitree.pipeline import batch_sentences
from lexitree.pipeline.batch_labelling import BatchLabeller, Binarizer
from lexitree.pipeline.predictor import Predictor, describe_model
from lexitree.pipeline.streaming import TextReader, Warn
from lexitree.pipeline.turns import Turn
from lexitree.results.document import Document
from lexitree.text import AnyText, Layout, TokenizedSentence, TokenizedText
from lexitree.text.bounded_text import SplitText, split_within
from lexitree.text.columns import TextColumn, texts_of_column
from lexitree.text.sentences import split_tokens
from lexitree.text.tokens import Tokens
from lexitree.trees.binarize import Direction

Splitter = Callable[[str], Iterable[TokenizedSentence]]
Context = TypeVar("Context")


class StreamOptions(TypedDict, total=False):
    """How a stream of texts is labelled."""

    batch_size: int | None
    """How many sentences are labelled together; by default as many as fit the device (`batch_sentences`)."""
    one_sentence: bool
    """Whether each string is taken as a single sentence."""
    nodes: AskedNodes
    """Whether all phrases are labelled ("all"), or whole sentences only ("root"), which is faster."""
    limits: Limits | None
    """What a text may have; by default the pipeline's limits. `seconds` is for each batch, without
    the time in the source of the texts; a batch that takes longer ends the stream, whatever `on_error` says."""
    cancel: Event | None
    """Set by another thread to end the stream with a `CancelledError`."""


class TextPipeline:
    """A parser and a model, ready to label text of any length.

        pipe = lexitree.load("sentiment")
        document = pipe("Not a bad film. Not a good one, either.")
        for phrase in document.phrases:
            print(phrase.text, phrase.label, phrase.probability, phrase.head)

    `lexitree.load` makes one. Several threads may use a pipeline: they compute in turns, and none waits while another
    reads its texts. A forked process may use it too, unless the parser is a program of its own. As a context manager,
    a pipeline closes the parser that `load` opened for it, which may be a program of its own.

    Args:
        predictor: The model.
        parser: What parses the sentences.
        binarize: How the binary tree that the model reads is made of a parse: a direction or a function. By default,
            as fits the trees that the model was trained on (`ModelConfig.parse_binarization`).
        split: How sentences are found in a text (see `split_sentences`), or a function that finds them and their
            tokens.
        limits: What a text may have, unless a call says otherwise; by default `Limits()`.

    Raises:
        ConfigError: The model reads dependency trees, which no parser here gives.
    """

    def __init__(
        self,
        predictor: Predictor,
        parser: Parser,
        *,
        binarize: Direction | Binarizer | None = None,
        split: Layout | Splitter = "text",
        limits: Limits | None = None,
    ) -> None:
        if predictor.model.tree_kind == "dependency":
            raise ConfigError(
                "this model reads dependency trees, and a parser gives constituency trees",
                remedy="Choose another model, or give it dependency trees: lexitree predict MODEL FILE.toks",
            )
        self.predictor = predictor
        self.parser = parser
        self.binarize: Direction | Binarizer = binarize or predictor.model.config.parse_binarization
        self.split: Layout | Splitter = split
        self.limits = limits or Limits()
        self._resources = ExitStack()
        self._reopen_parser: Callable[[], Parser] | None = None
        # Torch's number of threads, which the model sets while it runs, is the whole process's, and not every parser
        # bears two callers: one batch at a time.
        self._turn = Turn()

    @property
    def _warn(self) -> Warn | None:
        """Tells texts that the model does not know, if it reads English as people type it."""
        model = self.predictor.model
        if model.config.lookup == "written":
            return None
        return partial(warn_of_unfamiliar, count_unknown=model.lexicon.count_unknown)

    def close_parser_on_exit(self, reopen: Callable[[], Parser] | None = None) -> None:
        """Close the parser, if it holds anything, when the pipeline is closed.

        Args:
            reopen: How a copy of the pipeline in another process opens its parser, where that cannot be pickled.
        """
        self._reopen_parser = reopen
        if isinstance(self.parser, AbstractContextManager):
            self._resources.enter_context(self.parser)

    def close(self) -> None:
        """Close the parser if `load` has opened it; others are their owner's to close."""
        self._resources.close()

    def __reduce__(self) -> tuple[object, ...]:
        """A copy has the weights of model and parser; a parser that is a program of its own is opened again."""
        reopen = self._reopen_parser
        parser = None if reopen else self.parser
        settings = {"binarize": self.binarize, "split": self.split, "limits": self.limits}
        return _copied_pipeline, (type(self), self.predictor, parser, reopen, settings)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({describe_model(self.predictor.model)}, parser {type(self.parser).__name__})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload]  # a string is a sequence of strings, too
        self,
        text: AnyText,
        *,
        one_sentence: bool = False,
        limits: Limits | None = None,
        cancel: Event | None = None,
    ) -> Document: ...

    @overload
    def __call__(
        self,
        text: TextColumn,
        *,
        one_sentence: bool = False,
        limits: Limits | None = None,
        cancel: Event | None = None,
    ) -> list[Document]: ...

    def __call__(
        self,
        text: AnyText | TextColumn,
        *,
        one_sentence: bool = False,
        limits: Limits | None = None,
        cancel: Event | None = None,
    ) -> Document | list[Document]:
        """Label one text, or each text of a list or column.

        Args:
            text: The text, or a `TokenizedText`, which keeps its sentences and tokens; or a list, a tuple, a NumPy
                array, or a column of pandas, polars, Arrow or Hugging Face datasets. Nulls (None, NaN) in a column
                are empty texts, which have documents without sentences.
            one_sentence: Whether each string is taken as a single sentence.
            limits: What each text may have; by default the pipeline's limits.
            cancel: Set by another thread to end the call.

        Returns:
            A document; or a list of documents in the order of the column. `stream` gives them one at a time.

        Raises:
            TextError: A text is not a string, holds half of a surrogate pair, or is beyond a limit.
            CancelledError: The call was cancelled.
        """
        if not isinstance(text, str | TokenizedText):
            texts: list[str] = texts_of_column(text)
            return list(self.stream(texts, one_sentence=one_sentence, limits=limits, cancel=cancel))
        limits = limits or self.limits
        split = partial(self._split, one_sentence=one_sentence)
        reader = TextReader(iter([(text, None)]), split, limits, is_numbered=False, warn=self._warn)
        result, _ = next(self._run(reader, None, Watch(limits.seconds, cancel)))
        if isinstance(result, TextError):
            raise result
        return result

    @overload
    def stream(
        self, texts: Iterable[AnyText], *, on_error: OnError = "raise", **options: Unpack[StreamOptions]
    ) -> Iterator[Document]: ...

    @overload
    def stream(
        self, texts: Iterable[AnyText], *, on_error: OnTextError, **options: Unpack[StreamOptions]
    ) -> Iterator[Document | TextError]: ...

    def stream(
        self, texts: Iterable[AnyText], *, on_error: OnTextError = "raise", **options: Unpack[StreamOptions]
    ) -> Iterator[Document | TextError]:
        """Label a stream of texts at constant memory.

        Args:
            texts: The texts. Only those of the current batch, and those that the parser reads ahead, are held. No
                other thread waits while they are read.
            on_error: On a text that is not a string, holds half of a surrogate pair, or is beyond a limit: raise a
                `TextError` with the text's number, from 0, after all earlier documents; skip the text; or return the
                error in place of a document.
            options: See `StreamOptions`.

        Returns:
            A document for each text, in their order.
        """
        pairs = ((text, None) for text in texts)
        return (result for result, _ in self._stream(pairs, on_error, **options))

    @overload
    def stream_pairs(
        self,
        pairs: Iterable[tuple[AnyText, Context]],
        *,
        on_error: OnError = "raise",
        **options: Unpack[StreamOptions],
    ) -> Iterator[tuple[Document, Context]]: ...

    @overload
    def stream_pairs(
        self,
        pairs: Iterable[tuple[AnyText, Context]],
        *,
        on_error: OnTextError,
        **options: Unpack[StreamOptions],
    ) -> Iterator[tuple[Document | TextError, Context]]: ...

    def stream_pairs(
        self,
        pairs: Iterable[tuple[AnyText, Context]],
        *,
        on_error: OnTextError = "raise",
        **options: Unpack[StreamOptions],
    ) -> Iterator[tuple[Document | TextError, Context]]:
        """Label a stream of texts, each of which comes with something else, such as its row of a table.

        Args:
            pairs: Each text and what belongs to it.
            on_error: On a text that cannot be labelled: raise the error, skip the text, or return the error in place
                of a document; see `stream`.
            options: See `StreamOptions`.

        Returns:
            The document of each text and what belongs to it, in their order.
        """
        return self._stream(pairs, on_error, **options)

    def _stream(
        self,
        pairs: Iterable[tuple[AnyText, Context]],
        on_error: OnTextError,
        *,
        batch_size: int | None = None,
        one_sentence: bool = False,
        nodes: AskedNodes = "all",
        limits: Limits | None = None,
        cancel: Event | None = None,
    ) -> Iterator[tuple[Document | TextError, Context]]:
        if batch_size is None:
            batch_size = batch_sentences(self.predictor.model.device_type)
        if batch_size < 1:
            raise ConfigError(f"the batch size must be at least 1, not {batch_size}")
        if on_error not in get_args(OnTextError):
            raise ConfigError(f"on_error must be one of {', '.join(get_args(OnTextError))}, not {on_error!r}")
        limits = limits or self.limits
        split = partial(self._split, one_sentence=one_sentence)
        watch = Watch(limits.seconds, cancel)
        reader = TextReader(watch.pausing(pairs), split, limits, is_numbered=True, warn=self._warn)
        return _handle_errors(self._run(reader, batch_size, watch, nodes), on_error)

    def _run(
        self, reader: TextReader[Context], batch_size: int | None, watch: Watch, nodes: AskedNodes = "all"
    ) -> Iterator[tuple[Document | TextError, Context]]:
        labeller = BatchLabeller(self.predictor, self.parser, self.binarize, self._turn, nodes, watch)
        return labeller.run(reader, batch_size)

    def split_text(
        self,
        text: object,
        *,
        one_sentence: bool = False,
        limits: Limits | None = None,
        number: int | None = None,
    ) -> SplitText:
        """Split a text as `stream` does, without labelling it, so that its size is known beforehand.

        Args:
            text: The text.
            one_sentence: Whether it is taken as a single sentence.
            limits: What it may have; by default the pipeline's limits.
            number: The position of the text among others, for error messages.

        Raises:
            TextError: The text is not a string, holds half of a surrogate pair, or is beyond a limit.
        """
        return split_within(
            text, partial(self._split, one_sentence=one_sentence), limits or self.limits, number
        )

    def _split(self, text: str, one_sentence: bool) -> list[Tokens]:
        if callable(self.split):
            sentences = [Tokens.of(sentence.tokens) for sentence in self.split(text) if sentence.tokens]
            return [Tokens.of(chain.from_iterable(sentences))] if one_sentence and sentences else sentences
        return split_tokens(text, "one" if one_sentence else self.split)


def _handle_errors(
    results: Iterator[tuple[Document | TextError, Context]], on_error: OnTextError
) -> Iterator[tuple[Document | TextError, Context]]:
    for result, context in results:
        if isinstance(result, TextError) and on_error == "raise":
            raise result
        if not (isinstance(result, TextError) and on_error == "skip"):
            yield result, context


def _copied_pipeline(
    kind: type[TextPipeline],
    predictor: Predictor,
    parser: Parser | None,
    reopen: Callable[[], Parser] | None,
    settings: dict[str, Any],
) -> TextPipeline:
    """A pipeline that was pickled."""
    opened = reopen() if reopen else parser
    assert opened is not None
    pipe = kind(predictor, opened, **settings)
    if reopen:
        pipe.close_parser_on_exit(reopen)
    return pipe
