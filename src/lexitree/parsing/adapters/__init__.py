"""Sentences in, trees out, made by parsers that are not ours: files, commands, Java, other packages, servers."""

from __future__ import annotations

from lexitree.parsing.adapters.adapter import Adapter, OnRefused, ParseReport, Refusal
from lexitree.parsing.adapters.benepar import BeneparParser
from lexitree.parsing.adapters.brackets import BracketsParser
from lexitree.parsing.adapters.command import CommandParser
from lexitree.parsing.adapters.corenlp import CoreNLPParser
from lexitree.parsing.adapters.opening import PARSER_KINDS, open_parser
from lexitree.parsing.adapters.spelling import Spelling, penn_spelling, plain_spelling
from lexitree.parsing.adapters.stanford import ScoredTree, StanfordParser
from lexitree.parsing.adapters.stanza import StanzaParser

__all__ = [
    "PARSER_KINDS",
    "Adapter",
    "BeneparParser",
    "BracketsParser",
    "CommandParser",
    "CoreNLPParser",
    "OnRefused",
    "ParseReport",
    "Refusal",
    "ScoredTree",
    "Spelling",
    "StanfordParser",
    "StanzaParser",
    "open_parser",
    "penn_spelling",
    "plain_spelling",
]
