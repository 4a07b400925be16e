"""Parsers of other Python packages that run in this process: Stanza and the Berkeley Neural Parser (benepar)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from lexitree.errors import ParserError, import_extra
from lexitree.parsers.adapters.adapter import BatchAdapter, BatchFailed, OnRefused, Sentence
from lexitree.trees.brackets import surface_form
from lexitree.trees.nltk_trees import tree_from_nltk
from lexitree.trees.tree import Tree

_ENGLISH = "benepar_en3"
BENEPAR_BATCH = 64


class BeneparParser(BatchAdapter):
    """`benepar.Parser` (version 0.2) over given words. Nothing is downloaded."""

    def __init__(
        self,
        model: str = _ENGLISH,
        *,
        batch_size: int = BENEPAR_BATCH,
        on_refused: OnRefused = "raise",
    ) -> None:
        """Open a model.

        Args:
            model: Name of a downloaded model, or the path of one.
            batch_size: Sentences per batch.
            on_refused: On a sentence without a tree: raise an error, or use a flat tree.

        Raises:
            ParserError: The model is missing or cannot be loaded.
        """
        model = model or _ENGLISH
        super().__init__(f"benepar's model {model!r}", batch_size=batch_size, on_refused=on_refused)
        self._benepar = import_extra("benepar", extra="benepar", purpose="Parsing with benepar")
        self._parser = self._load(model)

    def parse_batch(self, batch: list[Sentence]) -> list[Tree | None]:
        try:
            found = list(self._parser.parse_sents([self._as_input(sentence) for sentence in batch]))
        # benepar may raise anything over a sentence: too long for its encoder, out of memory.
        except Exception as error:
            raise BatchFailed(f"{type(error).__name__}: {error}") from error
        return [tree_from_nltk(tree) for tree in found]

    def _as_input(self, sentence: Sentence) -> Any:
        """The network reads words as people write them; the leaves of its tree are the given words."""
        return self._benepar.InputSentence(
            words=[surface_form(word) for word in sentence.words], escaped_words=list(sentence.words)
        )

    def _load(self, model: str) -> Any:
        try:
            return self._benepar.Parser(model, batch_size=self.batch_size)
        except (LookupError, OSError) as error:
            raise ParserError(
                f"{self.name} is missing ({str(error).strip().splitlines()[0] if str(error).strip() else error!r})",
                remedy=f"Download it once: python -c 'import benepar; benepar.download(\"{model}\")'",
            ) from error
        # The model may not fit the installed versions of the packages it builds on.
        except Exception as error:
            raise ParserError(
                f"{self.name} cannot be loaded ({type(error).__name__}: {error})",
                remedy="benepar 0.2 dates from 2021 and may need an older version of transformers.",
            ) from error


STANZA_BATCH = 50
_PROCESSORS = "tokenize,pos,constituency"


class StanzaTree(Protocol):
    """The part of Stanza's trees that is used (`stanza.models.constituency.parse_tree.Tree`, version 1.15)."""

    @property
    def label(self) -> str: ...
    @property
    def children(self) -> Sequence[StanzaTree]: ...


class StanzaParser(BatchAdapter):
    """A Stanza pipeline over given words. Nothing is downloaded; models must be installed."""

    def __init__(
        self,
        model: str = "",
        *,
        language: str = "en",
        model_folder: str | None = None,
        device: str | None = None,
        batch_size: int = STANZA_BATCH,
        on_refused: OnRefused = "raise",
    ) -> None:
        """Open a pipeline.

        Args:
            model: A constituency model of the language, such as `ptb3-revised_electra-large`; by default Stanza's.
            language: The language of the model.
            model_folder: Where `stanza.download` put the models, if not in its default folder.
            device: Such as `cpu` or `cuda`; by default Stanza's choice.
            batch_size: Sentences per batch.
            on_refused: On a sentence without a tree: raise an error, or use a flat tree.

        Raises:
            ParserError: The model is missing or cannot be loaded.
        """
        name = f"Stanza's model {model!r}" if model else "Stanza"
        super().__init__(name, batch_size=batch_size, on_refused=on_refused)
        self.language = language
        self.model = model
        self._pipeline = self._load(model_folder, device)

    def parse_batch(self, batch: list[Sentence]) -> list[Tree | None]:
        try:
            document = self._pipeline([list(sentence.words) for sentence in batch])
        # Stanza may raise anything over a sentence: too long for its encoder, out of memory.
        except Exception as error:
            raise BatchFailed(f"{type(error).__name__}: {error}") from error
        found = [sentence.constituency for sentence in document.sentences]
        return [tree_from_stanza(tree) if tree is not None else None for tree in found]

    def _load(self, model_folder: str | None, device: str | None) -> Any:
        stanza = import_extra("stanza", extra="stanza", purpose="Parsing with Stanza")
        options: dict[str, Any] = {"package": {"constituency": self.model}} if self.model else {}
        if model_folder is not None:
            options["model_dir"] = model_folder
        if device is not None:
            options["device"] = device
        try:
            pipeline = stanza.Pipeline(
                self.language,
                processors=_PROCESSORS,
                tokenize_pretokenized=True,
                download_method=None,
                verbose=False,
                **options,
            )
        # Stanza has separate classes for a missing file, an unknown language or package.
        except Exception as error:
            raise self._not_loaded(f"{type(error).__name__}: {error}") from error
        # Stanza only warns about a processor that it does not know.
        if "constituency" not in pipeline.processors:
            raise self._not_loaded("it is not one of the language's models")
        return pipeline

    def _not_loaded(self, problem: str) -> ParserError:
        processors = ", ".join(
            f'"{name}": "{self.model if self.model and name == "constituency" else "default"}"'
            for name in _PROCESSORS.split(",")
        )
        download = f'stanza.download("{self.language}", package=None, processors={{{processors}}})'
        return ParserError(
            f"{self.name} for the language {self.language!r} cannot be loaded ({problem})",
            remedy=f"Download the model once: python -c 'import stanza; {download}'",
        )


def tree_from_stanza(stanza_tree: StanzaTree) -> Tree:
    """Convert one of Stanza's trees, in which words are nodes without children."""
    arity: list[int] = []
    labels: list[str] = []
    words: list[str] = []
    waiting = [stanza_tree]
    while waiting:
        node = waiting.pop()
        parts = list(node.children)
        if not parts:
            # A word without a tag above it.
            arity.append(0)
            labels.append("")
            words.append(node.label)
        elif len(parts) == 1 and not parts[0].children:
            arity.append(0)
            labels.append(node.label or "")
            words.append(parts[0].label)
        else:
            arity.append(len(parts))
            labels.append(node.label or "")
            waiting.extend(reversed(parts))
    return Tree(arity, labels, words)
