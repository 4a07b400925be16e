"""Using, saving and loading rerankers, which put the candidate trees of a sentence in a better order."""

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
from lexitree.parsers.adapters import BUILTIN_MODEL
from lexitree.parsers.protocol import Candidate, KBestParser
from lexitree.parsers.saved_parser import load_parser
from lexitree.saving.card import Card
from lexitree.saving.model_folder import (
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    ModelFolder,
)
from lexitree.saving.model_kinds import ModelKind, ModelParts
from lexitree.saving.torch_weights import (
    empty_table,
    fill_weights,
    read_tensors,
    saved_tensors,
    without_weights,
)
from lexitree.trees.brackets import ReadReport
from lexitree.trees.jsonl import tree_to_json
from lexitree.trees.tree import Tree
from lexitree_paper.rerank.examples import ListExample, binarize_list, make_list_example
from lexitree_paper.rerank.lists import CandidateList, ScoredTree, parse_list
from lexitree_paper.rerank.model import RerankerModel
from lexitree_paper.rerank.recipe import RerankerConfig
from lexitree_paper.rerank.scoring import LISTS_AT_ONCE, rank_places, score_lists


@dataclass(frozen=True, slots=True)
class RankedList:
    """A list with a reranker's scores of its candidates."""

    source: CandidateList
    tree_scores: DoubleArray  # [candidates]
    """The tree model's scores, in the order of the list: sums of the log probabilities of labels."""
    totals: DoubleArray  # [candidates]
    """The tree model's scores plus the weighted scores of the parser."""

    @property
    def order(self) -> list[int]:
        """The indices of the candidates, best first."""
        base_scores = np.array([candidate.score for candidate in self.source.candidates])
        return rank_places(self.totals, base_scores)

    @property
    def best(self) -> Tree:
        """The best tree, unchanged."""
        return self.source.candidates[self.order[0]].tree

    @property
    def candidates(self) -> tuple[ScoredTree, ...]:
        """All candidates, best first, with their total scores."""
        return tuple(
            ScoredTree(self.source.candidates[place].tree, float(self.totals[place])) for place in self.order
        )


class Reranker:
    """A trained reranker: a tree model, and the weight of the parser's own scores."""

    kind: ClassVar[str] = "reranker"
    """The kind of model folder it is saved as."""

    def __init__(self, model: RerankerModel) -> None:
        self.model = model.eval()
        self.training_record: dict[str, Any] = {}
        """Data, scores and settings of its training, if it was loaded from a folder."""

    @property
    def base_weight(self) -> float:
        return self.model.config.base_weight

    def prepare(self, candidates: CandidateList, *, with_gold: bool = False) -> ListExample:
        """Prepare a list for the model; comparing it with its gold tree takes longer than reranking it."""
        source = candidates if with_gold else CandidateList(candidates.candidates, None, candidates.place)
        binary = binarize_list(source, self.model.config.binarization)
        return make_list_example(binary, self.model.lexicon, self.model.config.labels)

    def rerank(self, candidates: CandidateList) -> RankedList:
        """Rerank one list."""
        return next(self.rerank_all([candidates]))

    def rerank_all(
        self, lists: Iterable[CandidateList], *, read_ahead: int = LISTS_AT_ONCE
    ) -> Iterator[RankedList]:
        """Rerank a stream of lists, holding `read_ahead` of them at a time.

        The result does not depend on the order of the candidates, nor on other lists.
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
        """Rerank the list on each numbered line; None for an empty line and for a malformed one that is skipped."""
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
    """Write a reranked list as a line of JSON, which can be read as a list again."""
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
"""The number of candidates in the paper."""


class RerankedParser:
    """A parser whose candidates are reranked."""

    def __init__(self, parser: KBestParser, reranker: Reranker, num_candidates: int = NUM_CANDIDATES) -> None:
        self.parser = parser
        self.reranker = reranker
        self.num_candidates = num_candidates

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """Yield the best tree of each sentence, in order."""
        return (candidates[0].tree for candidates in self.parse_all_k_best(sentences, 1))

    def parse_all_k_best(self, sentences: Iterable[Sequence[str]], k: int) -> Iterator[list[Candidate]]:
        """Yield the k best trees of each sentence, chosen from at least `num_candidates` of the parser's.

        The log probabilities are the parser's, so they need not decrease.
        """
        found = self.parser.parse_all_k_best(sentences, max(k, self.num_candidates))
        lists = (CandidateList(tuple(ScoredTree(*candidate) for candidate in each)) for each in found)
        for ranked in self.reranker.rerank_all(lists):
            yield [Candidate(*ranked.source.candidates[place]) for place in ranked.order[:k]]


def parse_lists(
    parser: KBestParser, gold: Sequence[Tree], num_candidates: int = NUM_CANDIDATES
) -> Iterator[CandidateList]:
    """Parse the words of gold trees into lists of candidates, to score a reranker on them."""
    found = parser.parse_all_k_best([tree.words for tree in gold], num_candidates)
    for tree, candidates in zip(gold, found, strict=True):
        yield CandidateList(tuple(ScoredTree(*candidate) for candidate in candidates), tree)


def open_reranked(models: str, *, device: str = "auto", style: str | None = None) -> RerankedParser:
    """Open the parser `reranked:RERANKER` or `reranked:RERANKER,PARSER`.

    Args:
        models: A saved reranker and, after a comma, the folder of a saved parser; by default the built-in parser.
        device: Where both compute.
        style: The treebank whose conventions the parser follows; by default the one chosen in training.
    """
    reranker, _, parser = models.partition(",")
    loaded = load_parser(parser or BUILTIN_MODEL, device=device, style=style)
    return RerankedParser(loaded, load_reranker(reranker, device=device))


def load_reranker(
    name: str | Path | ModelFolder,
    *,
    device: str | torch.device = "auto",
    backend: str = "auto",
    base_weight: float | None = None,
) -> Reranker:
    """Load a reranker.

    Args:
        name: A folder, or `owner/name` on the Hugging Face hub.
        device: Where the reranker computes; `auto` is a GPU if there is one.
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
        tensors={WEIGHTS_FILE: saved_tensors(model)},
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
            "from lexitree_paper.rerank import load_reranker, read_lists",
            "",
            'reranker = load_reranker("path/of/this/reranker")',
            'for ranked in reranker.rerank_all(read_lists("lists.jsonl")):',
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
    tensors = read_tensors(folder)
    with folder.must_fit():
        with without_weights():
            model = RerankerModel(config, empty_table(folder, tensors), backend=backend)
        fill_weights(model, tensors)
    return Reranker(model.to(device))


KIND = ModelKind(name="reranker", take_apart=_take_apart, build=_build)
