"""Sentences in, trees out, for parsers that take a batch at a time and may fail over a single sentence of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from lexitree.errors import ConfigError, ParserError
from lexitree.parsers.adapters.adapter import Adapter, OnRefused, Sentence, number_sentences
from lexitree.parsers.adapters.spelling import Spelling
from lexitree.trees.tree import Tree


class BatchFailed(Exception):  # noqa: N818 - an outcome, which no user ever sees
    """A parser could not do a batch, perhaps because of one sentence in it."""


class BatchAdapter(Adapter):
    """Holds one batch of sentences at a time."""

    def __init__(
        self, name: str, *, batch_size: int, spelling: Spelling = list, on_refused: OnRefused = "raise"
    ) -> None:
        if batch_size < 1:
            raise ConfigError("batch_size of a parser must be more than 0")
        super().__init__(name, on_refused=on_refused)
        self.batch_size = batch_size
        self.spelling = spelling

    @abstractmethod
    def parse_batch(self, batch: list[Sentence]) -> Sequence[Tree | None]:
        """A tree for each sentence, or None where there is none; raises BatchFailed if none can be had."""

    def has_room(self, batch: list[Sentence], sentence: Sentence) -> bool:
        """Whether one more sentence goes into a batch."""
        return len(batch) < self.batch_size

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """A tree for each sentence, in their order, a batch at a time."""
        batch: list[Sentence] = []
        for sentence in number_sentences(sentences, self.spelling):
            if batch and not self.has_room(batch, sentence):
                yield from self._settle(batch)
                batch = []
            batch.append(sentence)
        yield from self._settle(batch)

    def _settle(self, batch: list[Sentence]) -> Iterator[Tree]:
        if not batch:
            return
        try:
            trees = self.parse_batch(batch)
        except BatchFailed as error:
            if len(batch) == 1:
                yield self.refuse(batch[0], str(error))
                return
            # One by one, so that only the sentence that the parser cannot do is refused.
            for sentence in batch:
                yield from self._settle([sentence])
            return
        if len(trees) != len(batch):
            raise ParserError(
                f"{self.name} gives {len(trees):,} trees for {len(batch):,} sentences ({batch[0]} and following)"
            )
        for sentence, tree in zip(batch, trees, strict=True):
            yield self.refuse(sentence, "it has none") if tree is None else self.accept(sentence, tree)
