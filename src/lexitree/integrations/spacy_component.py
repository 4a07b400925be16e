"""The spaCy component `lexitree`, which labels the phrases of a `Doc` over spaCy's own tokens and sentences.

    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("lexitree")
    doc = nlp("Not a bad film.")
    for span in doc.spans["lexitree"]:
        print(span, span.label_, span._.label_probs, span._.head)

spaCy finds the component through the entry point of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexitree.errors import TextError, import_extra
from lexitree.lazy import cached_property
from lexitree.limits import Limits
from lexitree.saving import shipped
from lexitree.text import TokenizedText

if TYPE_CHECKING:
    from lexitree.pipeline.text_pipeline import TextPipeline
    from lexitree.results.document import Document
    from lexitree.results.sentence import Phrase

_NEEDED = {"extra": "spacy", "purpose": "The spaCy component"}
_language: Any = import_extra("spacy.language", **_NEEDED)
_tokens: Any = import_extra("spacy.tokens", **_NEEDED)

Doc = Any
"""`spacy.tokens.Doc`; spaCy is not there wherever this module is type-checked."""
OnDocError = Callable[[str, object, list[Doc], Exception], object]
"""What spaCy calls with the name of a component, the component, and the documents that it could not process."""

SPANS_KEY = "lexitree"
_MODEL_FOLDER = "model"
_EXTENSIONS = ((_tokens.Doc, ("sentiment", "label_probs")), (_tokens.Span, ("label_probs", "head")))


def _add_extensions() -> None:
    for kind, names in _EXTENSIONS:
        for name in names:
            # Another component may have registered the name already.
            if not kind.has_extension(name):
                kind.set_extension(name, default=None)


_add_extensions()


class PhraseLabeller:
    """Labels every phrase of each sentence of a `Doc`; `nlp.add_pipe("lexitree", config={...})` makes one.

    - `doc.spans["lexitree"]` has all phrases with their labels, single words included, a phrase before its parts;
    - `span._.label_probs` and `span._.head` are the probabilities of all labels, and the head word, of a phrase;
    - `doc._.sentiment` and `doc._.label_probs` are the label of the whole text and the probabilities of all labels.

    What a sentence gets depends on its own words only.

    Args:
        nlp: The pipeline that it is made for.
        name: Its name there.
        model: The model: a shipped one, a folder, or `owner/name` on the hub.
        parser: The parser; by default the model's own.
        device: `cpu`, `cuda`, or `auto` for a GPU if there is one.
        precision: `float32`, `bf16` or `tf32`; see `lexitree.load`.
        limits: Limits on one text, where they are not those of `lexitree.Limits()`.
        spans_key: The key of `doc.spans`.
    """

    def __init__(
        self,
        nlp: Any,
        name: str,
        *,
        model: str,
        parser: str | None,
        device: str,
        precision: str,
        limits: dict[str, Any],
        spans_key: str,
    ) -> None:
        self.name = name
        self.spans_key = spans_key
        self._model: str | Path = model
        self._options: dict[str, Any] = {
            "parser": parser,
            "device": device,
            "precision": precision,
            "limits": Limits.from_dict(limits),
        }
        self._on_error: OnDocError = _raise_error

    @cached_property
    def pipeline(self) -> TextPipeline:
        """What labels the texts. It is opened when first used, since `from_disk` may bring another model."""
        return self._open()

    def __call__(self, doc: Doc) -> Doc:
        """Label one document.

        Raises:
            TextError: The document has no sentence boundaries, or is beyond a limit.
        """
        return self._fill(doc, self.pipeline(_tokenized(doc)))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int | None = None) -> Iterator[Doc]:
        """Label a stream of documents, some sentences at a time.

        Args:
            stream: The documents.
            batch_size: How many sentences are labelled together.
        """
        pairs = self._pairs(stream)
        for result, doc in self.pipeline.stream_pairs(pairs, on_error="return", batch_size=batch_size):
            if isinstance(result, TextError):
                self._on_error(self.name, self, [doc], result)
            else:
                yield self._fill(doc, result)

    def _pairs(self, stream: Iterable[Doc]) -> Iterator[tuple[TokenizedText, Doc]]:
        for doc in stream:
            try:
                text = _tokenized(doc)
            except TextError as error:
                self._on_error(self.name, self, [doc], error)
            else:
                yield text, doc

    def get_error_handler(self) -> OnDocError:
        """What is called with documents that cannot be labelled; by default, the error is raised."""
        return self._on_error

    def set_error_handler(self, error_handler: OnDocError) -> None:
        """Call this with documents that cannot be labelled, and go on with the others if it returns."""
        self._on_error = error_handler

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the model into a folder. A shipped model comes with the package, so its name will do.

        Args:
            path: The folder.
            exclude: For spaCy; nothing can be left out.
        """
        from lexitree.saving.model_kinds import save_model

        if not shipped.is_shipped(self._model):
            save_model(self.pipeline.predictor.model, Path(path) / _MODEL_FOLDER)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> PhraseLabeller:
        """Open the model that `to_disk` has saved.

        Args:
            path: The folder.
            exclude: For spaCy; nothing can be left out.
        """
        if not shipped.is_shipped(self._model):
            self._model = Path(path) / _MODEL_FOLDER
            self.pipeline = self._open()
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Another process opens the model itself: sending its weights would take longer."""
        return {name: value for name, value in vars(self).items() if name != "pipeline"}

    def _open(self) -> TextPipeline:
        # Imported here because it imports torch, which is not needed to list and configure components.
        from lexitree.pipeline.loading import load

        return load(self._model, reads="text", **self._options)

    def _fill(self, doc: Doc, document: Document) -> Doc:
        doc._.sentiment = document.label
        doc._.label_probs = document.probabilities
        spans: dict[tuple[int, int], Any] = {}
        for phrase in document.phrases:
            # Where limits have cut a token into pieces, all of them are that token; the largest phrase comes first.
            span = doc.char_span(phrase.start, phrase.end, phrase.label, alignment_mode="expand")
            if (span.start, span.end) not in spans:
                spans[span.start, span.end] = span
                _annotate(span, phrase)
                # A sentence of spaCy's ends with the white space after it.
                if not phrase.depth and span.sent.text.strip() == span.text:
                    _annotate(span.sent, phrase)
        doc.spans[self.spans_key] = list(spans.values())
        return doc


def _annotate(span: Any, phrase: Phrase) -> None:
    span._.label_probs = phrase.probabilities
    span._.head = phrase.head


def _tokenized(doc: Doc) -> TokenizedText:
    if not doc.has_annotation("SENT_START"):
        raise TextError(
            "has no sentence boundaries",
            excerpt=repr(doc.text[:40]),
            remedy='Add a component that finds sentences: nlp.add_pipe("sentencizer", first=True)',
        )
    sentences = ([(token.idx, token.idx + len(token)) for token in sentence] for sentence in doc.sents)
    return TokenizedText.from_spans(doc.text, sentences)


def _raise_error(name: str, component: object, docs: list[Doc], error: Exception) -> None:
    raise error


_language.Language.factory(
    "lexitree",
    func=PhraseLabeller,
    default_config={
        "model": shipped.DEFAULT_MODEL,
        "parser": None,
        "device": "auto",
        "precision": "float32",
        "limits": {},
        "spans_key": SPANS_KEY,
    },
    requires=["doc.sents"],
    assigns=["doc.spans", "doc._.sentiment", "doc._.label_probs", "span._.label_probs", "span._.head"],
)
