"""Training and use of rerankers, which choose among the candidate trees of a parser."""

from lexitree_paper.rerank.lists import CandidateList, read_lists
from lexitree_paper.rerank.reranker import RankedList, Reranker, load_reranker
from lexitree_paper.rerank.scores import score_reranker

__all__ = ["CandidateList", "RankedList", "Reranker", "load_reranker", "read_lists", "score_reranker"]
