"""lexitree: trees in, and out comes every phrase with a label, a probability and a learned head word.

    import lexitree

    corpus = lexitree.load_corpus("mini-reviews")
    result = lexitree.train(lexitree.Recipe(corpus="mini-reviews"), "runs/mini")
    predictor = lexitree.load("runs/mini/model")
    prediction = predictor.predict(corpus.test[0])
    print("\\n".join(prediction.draw()))

The names below are the library's front door; they are imported when first used, so `import lexitree` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lexitree.version import __version__

if TYPE_CHECKING:
    from lexitree.baselines.svm import SvmClassifier, train_svm
    from lexitree.batch import TreeBatch
    from lexitree.corpora.corpus import Corpus
    from lexitree.corpora.download import fetch
    from lexitree.corpora.registry import load_corpus
    from lexitree.corpora.sentences import load_sentences
    from lexitree.corpora.treebank import load_treebank
    from lexitree.errors import LexitreeError
    from lexitree.evaluation.accuracy import Evaluation, evaluate
    from lexitree.evaluation.answers import SystemAnswers, collect_answers
    from lexitree.evaluation.bracket_figures import BracketScore
    from lexitree.evaluation.bracket_oracle import oracle_score
    from lexitree.evaluation.bracket_score import BracketScores, bracket_bootstrap, score_brackets
    from lexitree.evaluation.by_length import accuracy_by_length
    from lexitree.evaluation.heads import head_overlap
    from lexitree.evaluation.significance import paired_bootstrap
    from lexitree.examples import Example, batch_examples, make_examples
    from lexitree.lexicon.coverage import coverage
    from lexitree.lexicon.table import WordTable
    from lexitree.lexicon.transformer import TransformerConfig, TransformerLexicon, open_transformer
    from lexitree.lexicon.vector_npz import write_vectors_npz
    from lexitree.lexicon.vectors import read_vectors
    from lexitree.lexicon.vocabulary import Vocabulary
    from lexitree.loading import load
    from lexitree.models.classifier import TreeClassifier
    from lexitree.models.config import ModelConfig
    from lexitree.models.packing import pack_model
    from lexitree.models.pretrained import from_pretrained, push_to_hub, save_pretrained
    from lexitree.models.registry import count_parameters, list_models
    from lexitree.models.shipped_models import list_shipped
    from lexitree.parsing.adapters.opening import open_parser
    from lexitree.parsing.saved import load_parser
    from lexitree.pipeline.document import Document
    from lexitree.pipeline.pipeline import TextPipeline
    from lexitree.predict import Prediction, Predictor
    from lexitree.reports.comparison import compare_systems
    from lexitree.reports.plots import plot_curves, plot_lengths
    from lexitree.reranking.lists import CandidateList, read_lists
    from lexitree.reranking.reranker import RankedList, Reranker
    from lexitree.reranking.saved import load_reranker
    from lexitree.reranking.scores import score_reranker
    from lexitree.text.detokenizer import detokenize
    from lexitree.text.sentences import split_sentences
    from lexitree.text.tokenizer import tokenize
    from lexitree.text.tokens import Token
    from lexitree.training.config import TrainingConfig
    from lexitree.training.curves import read_curve
    from lexitree.training.recipe import Recipe, read_recipe
    from lexitree.training.run import train
    from lexitree.training.seeds import train_seeds
    from lexitree.trees.binarize import binarize, collapse_unary, expand_unary, to_binary, unbinarize
    from lexitree.trees.brackets import read_trees, tree_from_brackets, tree_to_brackets, write_trees
    from lexitree.trees.dependencies import DependencyTree, label_by_spans, read_dependencies
    from lexitree.trees.draw import draw_tree
    from lexitree.trees.exchange import tree_from_nltk, tree_to_nltk
    from lexitree.trees.head_rules import head_words
    from lexitree.trees.jsonl import read_json_lines, tree_from_json, tree_to_json, write_json_lines
    from lexitree.trees.penn import strip_function_tags, strip_traces
    from lexitree.trees.picture import draw_svg
    from lexitree.trees.statistics import tree_statistics
    from lexitree.trees.tree import Tree

_HOMES = {
    "SvmClassifier": "baselines.svm",
    "train_svm": "baselines.svm",
    "TreeBatch": "batch",
    "Corpus": "corpora.corpus",
    "fetch": "corpora.download",
    "load_corpus": "corpora.registry",
    "load_sentences": "corpora.sentences",
    "load_treebank": "corpora.treebank",
    "LexitreeError": "errors",
    "Evaluation": "evaluation.accuracy",
    "evaluate": "evaluation.accuracy",
    "SystemAnswers": "evaluation.answers",
    "collect_answers": "evaluation.answers",
    "BracketScore": "evaluation.bracket_figures",
    "oracle_score": "evaluation.bracket_oracle",
    "BracketScores": "evaluation.bracket_score",
    "bracket_bootstrap": "evaluation.bracket_score",
    "score_brackets": "evaluation.bracket_score",
    "accuracy_by_length": "evaluation.by_length",
    "head_overlap": "evaluation.heads",
    "paired_bootstrap": "evaluation.significance",
    "Example": "examples",
    "batch_examples": "examples",
    "make_examples": "examples",
    "coverage": "lexicon.coverage",
    "WordTable": "lexicon.table",
    "TransformerConfig": "lexicon.transformer",
    "TransformerLexicon": "lexicon.transformer",
    "open_transformer": "lexicon.transformer",
    "write_vectors_npz": "lexicon.vector_npz",
    "read_vectors": "lexicon.vectors",
    "Vocabulary": "lexicon.vocabulary",
    "TreeClassifier": "models.classifier",
    "ModelConfig": "models.config",
    "pack_model": "models.packing",
    "from_pretrained": "models.pretrained",
    "push_to_hub": "models.pretrained",
    "save_pretrained": "models.pretrained",
    "count_parameters": "models.registry",
    "list_models": "models.registry",
    "list_shipped": "models.shipped_models",
    "open_parser": "parsing.adapters.opening",
    "load_parser": "parsing.saved",
    "Document": "pipeline.document",
    "TextPipeline": "pipeline.pipeline",
    "Prediction": "predict",
    "Predictor": "predict",
    "load": "loading",
    "compare_systems": "reports.comparison",
    "plot_curves": "reports.plots",
    "plot_lengths": "reports.plots",
    "CandidateList": "reranking.lists",
    "read_lists": "reranking.lists",
    "RankedList": "reranking.reranker",
    "Reranker": "reranking.reranker",
    "load_reranker": "reranking.saved",
    "score_reranker": "reranking.scores",
    "detokenize": "text.detokenizer",
    "split_sentences": "text.sentences",
    "tokenize": "text.tokenizer",
    "Token": "text.tokens",
    "TrainingConfig": "training.config",
    "read_curve": "training.curves",
    "Recipe": "training.recipe",
    "read_recipe": "training.recipe",
    "train": "training.run",
    "train_seeds": "training.seeds",
    "binarize": "trees.binarize",
    "collapse_unary": "trees.binarize",
    "expand_unary": "trees.binarize",
    "to_binary": "trees.binarize",
    "unbinarize": "trees.binarize",
    "read_trees": "trees.brackets",
    "tree_from_brackets": "trees.brackets",
    "tree_to_brackets": "trees.brackets",
    "write_trees": "trees.brackets",
    "DependencyTree": "trees.dependencies",
    "label_by_spans": "trees.dependencies",
    "read_dependencies": "trees.dependencies",
    "draw_tree": "trees.draw",
    "tree_from_nltk": "trees.exchange",
    "tree_to_nltk": "trees.exchange",
    "head_words": "trees.head_rules",
    "read_json_lines": "trees.jsonl",
    "tree_from_json": "trees.jsonl",
    "tree_to_json": "trees.jsonl",
    "write_json_lines": "trees.jsonl",
    "strip_function_tags": "trees.penn",
    "strip_traces": "trees.penn",
    "draw_svg": "trees.picture",
    "tree_statistics": "trees.statistics",
    "Tree": "trees.tree",
}

__all__ = [
    "BracketScore",
    "BracketScores",
    "CandidateList",
    "Corpus",
    "DependencyTree",
    "Document",
    "Evaluation",
    "Example",
    "LexitreeError",
    "ModelConfig",
    "Prediction",
    "Predictor",
    "RankedList",
    "Recipe",
    "Reranker",
    "SvmClassifier",
    "SystemAnswers",
    "TextPipeline",
    "Token",
    "TrainingConfig",
    "TransformerConfig",
    "TransformerLexicon",
    "Tree",
    "TreeBatch",
    "TreeClassifier",
    "Vocabulary",
    "WordTable",
    "__version__",
    "accuracy_by_length",
    "batch_examples",
    "binarize",
    "bracket_bootstrap",
    "collapse_unary",
    "collect_answers",
    "compare_systems",
    "count_parameters",
    "coverage",
    "detokenize",
    "draw_svg",
    "draw_tree",
    "evaluate",
    "expand_unary",
    "fetch",
    "from_pretrained",
    "head_overlap",
    "head_words",
    "label_by_spans",
    "list_models",
    "list_shipped",
    "load",
    "load_corpus",
    "load_parser",
    "load_reranker",
    "load_sentences",
    "load_treebank",
    "make_examples",
    "open_parser",
    "open_transformer",
    "oracle_score",
    "pack_model",
    "paired_bootstrap",
    "plot_curves",
    "plot_lengths",
    "push_to_hub",
    "read_curve",
    "read_dependencies",
    "read_json_lines",
    "read_lists",
    "read_recipe",
    "read_trees",
    "read_vectors",
    "save_pretrained",
    "score_brackets",
    "score_reranker",
    "split_sentences",
    "strip_function_tags",
    "strip_traces",
    "to_binary",
    "tokenize",
    "train",
    "train_seeds",
    "train_svm",
    "tree_from_brackets",
    "tree_from_json",
    "tree_from_nltk",
    "tree_statistics",
    "tree_to_brackets",
    "tree_to_json",
    "tree_to_nltk",
    "unbinarize",
    "write_json_lines",
    "write_trees",
    "write_vectors_npz",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lexitree' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"lexitree.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
