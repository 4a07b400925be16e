"""Adapter for the Berkeley Neural Parser (benepar)."""

from __future__ import annotations

from typing import Any

from lexitree.errors import ParserError, import_extra
from lexitree.parsers.adapters.adapter import BatchAdapter, BatchFailed, OnRefused, Sentence
from lexitree.trees.brackets import surface_form
from lexitree.trees.nltk_trees import tree_from_nltk
from lexitree.trees.tree import Tree

_ENGLISH = "benepar_en3"
BATCH_SIZE = 64


class BeneparParser(BatchAdapter):
    """`benepar.Parser` (version 0.2) over given words. Nothing is downloaded."""

    def __init__(
        self,
        model: str = _ENGLISH,
        *,
        batch_size: int = BATCH_SIZE,
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
