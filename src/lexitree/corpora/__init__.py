"""Corpora: trees in splits with a label set, loaded by name or from files."""

from __future__ import annotations

from lexitree.corpora.corpus import (
    SPLITS,
    Corpus,
    SplitCounts,
    SplitName,
    Supervision,
    count_labels,
    label_index,
)
from lexitree.corpora.locations import cache_folder, data_folders
from lexitree.corpora.mini import load_mini
from lexitree.corpora.named import CORPORA, CorpusEntry, find_corpus, load_corpus
from lexitree.corpora.sst import load_sst, load_sst_dependencies
from lexitree.corpora.trec import load_trec
from lexitree.corpora.treebank import Strip, load_sentences, load_treebank, read_any, read_sentences

# `lexitree.corpora.download` is not imported here: it loads network modules, which few runs need.

__all__ = [
    "CORPORA",
    "SPLITS",
    "Corpus",
    "CorpusEntry",
    "SplitCounts",
    "SplitName",
    "Strip",
    "Supervision",
    "cache_folder",
    "count_labels",
    "data_folders",
    "find_corpus",
    "label_index",
    "load_corpus",
    "load_mini",
    "load_sentences",
    "load_sst",
    "load_sst_dependencies",
    "load_trec",
    "load_treebank",
    "read_any",
    "read_sentences",
]
