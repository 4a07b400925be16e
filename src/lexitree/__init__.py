"""Trees over your text: a label, a probability and a learned head word for every phrase.

    import lexitree

    document = lexitree.load("sentiment")("Not a bad film.")
    print(document.label, document.probability)

    result = lexitree.train(lexitree.Recipe(corpus="mini-reviews"), "runs/mini")
    predictor = lexitree.load("runs/mini/model")

The names below are the public ones. They are imported when first used, so that `import lexitree` is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

from lexitree.errors import explain_missing
from lexitree.version import __version__

_NAMES = {
    "analysis.driver_report": "Driver DriverReport",
    "analysis.driver_counts": "find_drivers",
    "batch.tree_examples": "Example make_examples",
    "corpora.corpus": "Corpus",
    "corpora.download": "fetch",
    "corpora.named": "load_corpus",
    "corpora.treebank": "load_sentences load_treebank",
    "errors": "CancelledError LexitreeError LimitError PluginError ServiceError TextError",
    "evaluation.accuracy": "Evaluation evaluate",
    "evaluation.answers": "SystemAnswers collect_answers",
    "evaluation.bracket_figures": "BracketScore",
    "evaluation.bracket_oracle": "oracle_score",
    "evaluation.bracket_score": "BracketScores bracket_bootstrap score_brackets",
    "evaluation.significance": "compare_recipe_scores compare_recipes paired_bootstrap",
    "evaluation.tree_files": "score_tree_files",
    "integrations.labeller": "Labeller",
    "labels": "LabelSet",
    "lexicon.vector_files": "read_vectors",
    "lexicon.vector_npz": "write_vectors_npz",
    "lexicon.vocabulary": "Vocabulary coverage",
    "limits": "Limits",
    "models.catalog": "count_parameters list_models",
    "models.classifier": "TreeClassifier",
    "models.encoders": "Encoder",
    "models.head_methods": "HeadGate",
    "models.model_config": "ModelConfig",
    "models.transformer": "TransformerConfig TransformerLexicon open_transformer",
    "models.word_table": "WordTable",
    "ops.tree_batch": "TreeBatch batch_examples",
    "parsers.adapters": "open_parser",
    "parsers.neural": "NeuralParser",
    "parsers.saved_parser": "load_parser",
    "parsers.text_parser": "TextParser",
    "pipeline.file_drivers": "find_drivers_in_file",
    "plugins": "register",
    "pipeline.labelling": "LabellingJob label_file",
    "pipeline.loading": "load",
    "pipeline.predictor": "Predictor",
    "pipeline.text_pipeline": "TextPipeline",
    "pipeline.workers": "LabellerSettings",
    "results.document": "Document to_dataframe",
    "results.labelled_tree": "LabelledTree",
    "results.parsed_text": "ParsedSentence ParsedText",
    "results.searching": "Match search",
    "results.sentence": "Phrase Sentence",
    "saving.model_kinds": "load_model push_to_hub save_model",
    "saving.packing": "pack_model",
    "saving.pretrained": "from_pretrained",
    "saving.shipped_list": "list_shipped",
    "server.client": "Client",
    "tasks.classify.recipe": "Recipe TrainingConfig",
    "tasks.classify.prepared_run": "RunResult",
    "tasks.classify.run": "train train_seeds",
    "tasks.classify.texts": "fine_tune train_texts",
    "text.detokenizer": "detokenize",
    "text.sentences": "split_sentences tokenize",
    "text.tokenized": "TokenizedText",
    "text.tokens": "Token",
    "trees.binarize": "binarize collapse_unary expand_unary to_binary unbinarize",
    "trees.brackets": "read_trees strip_function_tags strip_traces "
    "tree_from_brackets tree_to_brackets write_trees",
    "trees.dependencies": "DependencyTree label_by_spans read_dependencies",
    "trees.head_rules": "head_words",
    "trees.jsonl": "read_json_lines tree_from_json tree_to_json write_json_lines",
    "trees.nltk_trees": "tree_from_nltk tree_to_nltk",
    "trees.statistics": "tree_statistics",
    "trees.tree": "Tree",
    "views.outline": "draw_tree",
    "views.svg": "draw_svg",
}
"""The public names of each module."""

_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = ["__version__", *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]  # the stub lists them


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lexitree' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(f"lexitree.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        raise explain_missing(error, f"lexitree.{name}") from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
