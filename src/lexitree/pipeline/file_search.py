"""Searches texts, tables and files of trees for a pattern: what `lexitree search` does, as a library call."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from lexitree.errors import InputError, Place
from lexitree.files import to_json
from lexitree.pipeline.inputs import Inputs, UntilError
from lexitree.pipeline.workers import LabellerSettings
from lexitree.tree_search.pattern import parse_pattern
from lexitree.views.outline import HEAD_ARROW
from lexitree.views.visible import visible

if TYPE_CHECKING:
    from lexitree.corpora.tables import Row
    from lexitree.results.document import Document
    from lexitree.results.labelled_tree import LabelledTree
    from lexitree.results.searching import Match
    from lexitree.trees.tree import Tree


@dataclass(frozen=True)
class PlacedMatch:
    """A match with the file and the line of its tree or text."""

    place: Place
    match: Match

    def line(self) -> str:
        """`reviews.txt:3: negative 0.93 NP ← plot  the bad plot`."""
        match = self.match
        heads = None if match.tree.source.arity[match.node] == 0 else match.head
        parts = (
            visible(match.label),
            "" if match.probability is None else f"{match.probability:.2f}",
            "" if match.category == match.label else visible(match.category),
            "" if heads is None else f"{HEAD_ARROW} {visible(heads)}",
        )
        return f"{self.place}: {' '.join(filter(None, parts))}  {visible(match.shown_text())}\n"

    def json_line(self) -> str:
        """An object with the file, the line and the match."""
        values: dict[str, Any] = self.match.as_dict()
        return to_json({"file": self.place.path, "line": self.place.line or None, **values}) + "\n"


@dataclass(frozen=True)
class SearchJob:
    """What is searched for what; `matches` does it.

    Raises:
        PatternError: The pattern is malformed. It is raised before anything is read.
    """

    pattern: str
    inputs: Inputs
    column: str | None = None
    """The column of CSV or JSON Lines that holds the texts."""
    labeller: LabellerSettings = field(default_factory=LabellerSettings)
    """The model that labels texts."""
    label_trees: bool = False
    """Whether trees are labelled by the model, too, and not only searched as they are."""

    def __post_init__(self) -> None:
        parse_pattern(self.pattern)

    def matches(self) -> Iterator[PlacedMatch]:
        """Search all inputs as they are read."""
        from lexitree.results.searching import search

        for number, (place, searched) in enumerate(self._searched()):
            for match in search(self.pattern, searched):
                yield PlacedMatch(place, replace(match, number=number))

    def _searched(self) -> Iterator[tuple[Place, Tree | LabelledTree | Document]]:
        if self.column is not None or not self.inputs.hold_trees():
            yield from self._documents()
        elif self.label_trees:
            yield from self._labelled_trees()
        else:
            yield from self.inputs.placed_trees()

    def _documents(self) -> Iterator[tuple[Place, Document]]:
        found = (
            self.inputs.rows()
            if self.column is None
            else chain.from_iterable(self.inputs.tables(self.column))
        )
        rows: UntilError[Row] = UntilError(found)
        report, on_error = self.inputs.report, self.inputs.on_error
        with self.labeller.open_pipeline() as pipe:
            for result, row in self.labeller.documents(pipe, rows):
                if isinstance(result, InputError):
                    report.note(result, on_error)
                else:
                    yield row.place, result
        rows.check()

    def _labelled_trees(self) -> Iterator[tuple[Place, LabelledTree]]:
        places = deque[Place]()

        def trees() -> Iterator[Tree]:
            for place, tree in self.inputs.placed_trees():
                places.append(place)
                yield tree

        read = UntilError(trees())
        # The model reads several trees ahead.
        for labelled in self.labeller.open_predictor().predict_all(read):
            yield places.popleft(), labelled
        read.check()
