"""Sentences in, trees out, made by a model of the Berkeley Neural Parser in this process."""

from __future__ import annotations

from typing import Any

from lexitree.errors import ParserError, import_extra
from lexitree.parsers.adapters.adapter import BatchAdapter, BatchFailed, OnRefused, Sentence
from lexitree.trees.brackets import surface_form
from lexitree.trees.nltk_trees import tree_from_nltk
from lexitree.trees.tree import Tree

ENGLISH = "benepar_en3"
BATCH_SIZE = 64


class BeneparParser(BatchAdapter):
    """`benepar.Parser` (version 0.2) over words that are cut already. Nothing is downloaded."""

    def __init__(
        self,
        model: str = ENGLISH,
        *,
        batch_size: int = BATCH_SIZE,
        on_refused: OnRefused = "raise",
    ) -> None:
        """`model` is the name of a downloaded model or the path of one."""
        model = model or ENGLISH
        super().__init__(f"benepar's model {model!r}", batch_size=batch_size, on_refused=on_refused)
        self._benepar = import_extra("benepar", extra="benepar", purpose="Parsing with benepar")
        self._parser = self._load(model)

    def parse_batch(self, batch: list[Sentence]) -> list[Tree | None]:
        try:
            found = list(self._parser.parse_sents([self._as_input(sentence) for sentence in batch]))
        # What a network may raise over a sentence (too long for its encoder, no memory) is for benepar to decide.
        except Exception as error:
            raise BatchFailed(f"{type(error).__name__}: {error}") from error
        return [tree_from_nltk(tree) for tree in found]

    def _as_input(self, sentence: Sentence) -> Any:
        """The network reads words as people write them; the leaves of its tree are the words as they were given."""
        return self._benepar.InputSentence(
            words=[surface_form(word) for word in sentence.words], escaped_words=list(sentence.words)
        )

    def _load(self, model: str) -> Any:
        try:
            return self._benepar.Parser(model, batch_size=self.batch_size)
        except (LookupError, OSError) as error:
            raise ParserError(
                f"{self.name} is not there ({str(error).strip().splitlines()[0] if str(error).strip() else error!r})",
                remedy=f"Download it once: python -c 'import benepar; benepar.download(\"{model}\")'",
            ) from error
        # A model may be there and not fit to the versions of the packages that it is built upon.
        except Exception as error:
            raise ParserError(
                f"{self.name} cannot be loaded ({type(error).__name__}: {error})",
                remedy="benepar 0.2 is of 2021: it may need an older version of the package transformers.",
            ) from error
