"""Rerankers in use: they put the candidate trees of a sentence in a better order, and are saved and loaded."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from lexitree.arrays import DoubleArray
from lexitree.errors import ConfigError, InputError, OnError
from lexitree.models.catalog import encoder_class
from lexitree.models.word_table import WordTable
from lexitree.parsers.protocol import Candidate, KBestParser
from lexitree.saving.card import Card
from lexitree.saving.model_folder import (
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    ModelFolder,
    fill_weights,
    without_weights,
)
from lexitree.saving.model_kinds import ModelKind, ModelParts
from lexitree.tasks.rerank.examples import ListExample, binarize_list, make_list_example
from lexitree.tasks.rerank.lists import CandidateList, ScoredTree, parse_list
from lexitree.tasks.rerank.model import RerankerModel
from lexitree.tasks.rerank.recipe import RerankerConfig
from lexitree.tasks.rerank.scoring import LISTS_AT_ONCE, rank_places, score_lists
from lexitree.trees.brackets import ReadReport
from lexitree.trees.jsonl import tree_to_json
from lexitree.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class RankedList:
    """A list with the order in which a reranker likes its candidates."""

    source: CandidateList
    tree_scores: DoubleArray  # [candidates]
    """What the tree model thinks of them, in the order of the list: sums of log probabilities of labels."""
    totals: DoubleArray  # [candidates]
    """The same and the parser's scores, with their weight."""

    @property
    def order(self) -> list[int]:
        """The places of the candidates in the list, from the best on."""
        base_scores = np.array([candidate.score for candidate in self.source.candidates])
        return rank_places(self.totals, base_scores)

    @property
    def best(self) -> Tree:
        """The chosen tree, as it came."""
        return self.source.candidates[self.order[0]].tree

    @property
    def candidates(self) -> tuple[ScoredTree, ...]:
        """All candidates from the best on, with their totals as scores."""
        return tuple(
            ScoredTree(self.source.candidates[place].tree, float(self.totals[place])) for place in self.order
        )


class Reranker:
    """A trained reranker: a tree model, and how much the parser's own scores count beside it."""

    kind: ClassVar[str] = "reranker"
    """What it is saved as."""

    def __init__(self, model: RerankerModel) -> None:
        self.model = model.eval()
        self.training_record: dict[str, Any] = {}
        """What is known of its training (data, scores, settings), for a reranker that was loaded."""

    @property
    def base_weight(self) -> float:
        return self.model.config.base_weight

    def prepare(self, candidates: CandidateList, *, with_gold: bool = False) -> ListExample:
        """A list as the model reads it; to compare it with a gold tree takes longer than to rerank it."""
        source = candidates if with_gold else CandidateList(candidates.candidates, None, candidates.place)
        binary = binarize_list(source, self.model.config.binarization)
        return make_list_example(binary, self.model.lexicon, self.model.config.labels)

    def rerank(self, candidates: CandidateList) -> RankedList:
        """One list, from the best candidate on."""
        return next(self.rerank_all([candidates]))

    def rerank_all(
        self, lists: Iterable[CandidateList], *, read_ahead: int = LISTS_AT_ONCE
    ) -> Iterator[RankedList]:
        """Each list from its best candidate on, as a stream; `read_ahead` lists are held at a time.

        The order in which candidates come makes no difference, nor do other lists.
        """
        waiting = iter(lists)
        while window := list(islice(waiting, read_ahead)):
            yield from self._rank(window, [self.prepare(candidates) for candidates in window])

    def rerank_lines(
        self,
        lines: Iterable[tuple[int, str]],
        name: str,
        *,
        on_error: OnError = "raise",
        report: ReadReport | None = None,
        read_ahead: int = LISTS_AT_ONCE,
    ) -> Iterator[RankedList | None]:
        """The list of each numbered line; None for an empty line, and for a damaged one that is skipped."""
        report = report if report is not None else ReadReport()

        def read(number: int, line: str) -> tuple[CandidateList, ListExample] | None:
            if not line.strip():
                return None
            try:
                candidates = parse_list(line, number, name)
                return candidates, self.prepare(candidates)
            except InputError as error:
                report.note(error, on_error)
                return None

        waiting = iter(lines)
        while window := [read(*line) for line in islice(waiting, read_ahead)]:
            found = [each for each in window if each is not None]
            ranked = iter(self._rank([each[0] for each in found], [each[1] for each in found]))
            for each in window:
                yield None if each is None else next(ranked)

    def _rank(self, lists: Sequence[CandidateList], examples: Sequence[ListExample]) -> list[RankedList]:
        return [
            RankedList(source, scored.tree_scores, scored.tree_scores + self.base_weight * scored.base_scores)
            for source, scored in zip(lists, score_lists(self.model, examples), strict=True)
        ]


def ranked_to_json(ranked: RankedList) -> str:
    """A reranked list as a line of JSON, which is a list again; trees are written as `tree_to_json` has them."""
    gold = ranked.source.gold
    values: dict[str, Any] = {} if gold is None else {"gold": tree_to_json(gold)}
    values["candidates"] = [
        {
            "score": float(ranked.totals[place]),
            "tree_score": float(ranked.tree_scores[place]),
            "base_score": ranked.source.candidates[place].score,
            "place": place,
            "tree": tree_to_json(ranked.source.candidates[place].tree),
        }
        for place in ranked.order
    ]
    return json.dumps(values, ensure_ascii=False)


NUM_CANDIDATES = 8
"""How many trees are reranked, as in the paper."""


class RerankedParser:
    """Parses into several trees each and takes the one that the reranker likes best."""

    def __init__(self, parser: KBestParser, reranker: Reranker, num_candidates: int = NUM_CANDIDATES) -> None:
        self.parser = parser
        self.reranker = reranker
        self.num_candidates = num_candidates

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """The best tree of each sentence, in their order, as a stream."""
        return (candidates[0].tree for candidates in self.parse_all_k_best(sentences, 1))

    def parse_all_k_best(self, sentences: Iterable[Sequence[str]], k: int) -> Iterator[list[Candidate]]:
        """The k best trees of each sentence by the reranker, out of at least as many of the parser's as it reranks.

        The log probabilities are still the parser's, so they need not fall.
        """
        found = self.parser.parse_all_k_best(sentences, max(k, self.num_candidates))
        lists = (CandidateList(tuple(ScoredTree(*candidate) for candidate in each)) for each in found)
        for ranked in self.reranker.rerank_all(lists):
            yield [Candidate(*ranked.source.candidates[place]) for place in ranked.order[:k]]


def load_reranker(
    name: str | Path | ModelFolder,
    *,
    device: str | torch.device = "cpu",
    backend: str = "auto",
    base_weight: float | None = None,
) -> Reranker:
    """Load a reranker.

    Args:
        name: A folder, or `owner/name` on the Hugging Face hub.
        device: Where the reranker computes.
        backend: The implementation of the recurrences; see `lexitree.ops`.
        base_weight: The weight of the parser's scores, in place of the saved one.

    Raises:
        ModelFileError: If the reranker is missing, damaged or not a reranker.
    """
    return KIND.load(name, device=device, backend=backend, base_weight=base_weight)


def _take_apart(reranker: Reranker, training: Mapping[str, Any]) -> ModelParts:
    model = reranker.model
    if not isinstance(model.lexicon, WordTable):
        raise ConfigError(f"a reranker with a {type(model.lexicon).__name__} cannot be saved in this format")
    return ModelParts(
        settings=model.config.as_dict(),
        card=_card(model),
        tensors={WEIGHTS_FILE: model.state_dict()},
        tables=("lexicon.vectors",),
        vocabularies={VOCABULARY_FILE: model.lexicon.vocabulary},
    )


def _card(model: RerankerModel) -> Card:
    config, encoder = model.config, encoder_class(model.config.model)
    return Card(
        title=f"A reranker of constituency parses: {encoder.title}",
        about=f"A lexitree reranker: {encoder.about}. It chooses the best of the candidate trees of a parser. The"
        " score of a tree is the probability of the labels of its phrases, given words and shape.",
        facts=[
            f"{len(config.labels)} labels (unary chains are one label), state size {config.hidden}",
            f"{model.num_parameters():,} parameters without the word vectors",
            f"weight of the parser's score: {config.base_weight:g}",
        ],
        example=[
            "import lexitree",
            "",
            'reranker = lexitree.load_reranker("path/of/this/reranker")',
            'for ranked in reranker.rerank_all(lexitree.read_lists("lists.jsonl")):',
            "    print(ranked.best)",
        ],
        tags=["tree-lstm", "constituency-parsing", "reranking"],
        header={"language": "en"},
    )


def _build(
    folder: ModelFolder,
    device: str | torch.device,
    *,
    backend: str = "auto",
    base_weight: float | None = None,
) -> Reranker:
    config = folder.settings(RerankerConfig.from_dict)
    if base_weight is not None:
        config = dataclasses.replace(config, base_weight=base_weight)
    tensors = folder.tensors()
    with folder.must_fit():
        with without_weights():
            model = RerankerModel(config, folder.empty_table(tensors), backend=backend)
        fill_weights(model, tensors)
    return Reranker(model.to(device))


KIND = ModelKind(name="reranker", take_apart=_take_apart, build=_build)
