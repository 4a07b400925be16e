"""Adapter for the constituency parser of Stanza."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from lexitree.errors import ParserError, import_extra
from lexitree.parsers.adapters.adapter import BatchAdapter, BatchFailed, OnRefused, Sentence
from lexitree.trees.tree import Tree

BATCH_SIZE = 50
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
        batch_size: int = BATCH_SIZE,
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
