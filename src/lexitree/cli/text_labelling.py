"""Rows of text in, each with its document or with what is written for it out; and how a process comes to do that."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lexitree.cli.options import Precision
from lexitree.cli.text_arguments import Arguments, open_text_pipeline
from lexitree.errors import ConfigError

if TYPE_CHECKING:
    from lexitree.cli.text_output import TextOutput
    from lexitree.pipeline.document import Document
    from lexitree.pipeline.predictor import Predictor
    from lexitree.pipeline.tables import Row
    from lexitree.pipeline.text_pipeline import TextPipeline


@dataclass(frozen=True)
class TextLabeller:
    """A pipeline, and how it is used."""

    pipe: TextPipeline
    batch_size: int = 256
    one_sentence: bool = False

    def documents(self, rows: Iterable[Row]) -> Iterator[tuple[Row, Document]]:
        """Each row with its document; rows are held only while the pipeline has their texts."""
        held: deque[Row] = deque()

        def texts() -> Iterator[str]:
            for row in rows:
                held.append(row)
                yield row.text

        stream = self.pipe.stream(texts(), batch_size=self.batch_size, one_sentence=self.one_sentence)
        for document in stream:
            yield held.popleft(), document

    def records(self, rows: Iterable[Row], output: TextOutput) -> Iterator[str]:
        """What is written for each row."""
        return (output.record(row, document) for row, document in self.documents(rows))


@dataclass(frozen=True)
class LabellerSetup:
    """What was asked for, in words that can be sent to another process."""

    arguments: Arguments
    parser: str | None
    device: str
    backend: str
    precision: Precision
    batch_size: int
    one_sentence: bool
    head_weights: bool

    def load(self) -> Predictor:
        """The model, where it is to run."""
        from lexitree.cli.console import choose_device
        from lexitree.pipeline.predictor import Predictor

        predictor = Predictor.from_pretrained(
            self.arguments.model,
            device=choose_device(self.device),
            backend=self.backend,
            precision=self.precision,
        )
        if self.head_weights and not predictor.model.encoder.has_heads:
            name = predictor.model.config.model
            raise ConfigError(f"--head-weights is for models with heads, and {name} has none")
        return predictor

    def open(self, resources: ExitStack) -> TextLabeller:
        """The model with its parser; what the parser holds is let go with the resources."""
        pipe = open_text_pipeline(self.arguments, self.load(), self.parser, resources)
        return TextLabeller(pipe, self.batch_size, self.one_sentence)
