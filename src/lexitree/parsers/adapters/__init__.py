"""Adapters for other parsers: bracket files, commands, the Stanford parser, Stanza, benepar and CoreNLP servers."""

from __future__ import annotations

from lexitree.parsers.adapters.adapter import (
    Adapter,
    OnRefused,
    ParseReport,
    Refusal,
    Spelling,
    penn_spelling,
    plain_spelling,
)
from lexitree.parsers.adapters.bracket_files import BracketsParser
from lexitree.parsers.adapters.command_line import CommandParser
from lexitree.parsers.adapters.corenlp import CoreNLPParser
from lexitree.parsers.adapters.opening import PARSER_KINDS, open_parser
from lexitree.parsers.adapters.python_packages import BeneparParser, StanzaParser
from lexitree.parsers.adapters.stanford import ScoredTree, StanfordParser

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
