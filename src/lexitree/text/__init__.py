"""Split plain text into sentences and tokens, keeping their positions."""

from lexitree.text.detokenizer import detokenize
from lexitree.text.sentences import Layout, split_sentences, tokenize
from lexitree.text.tokenized import AnyText, TokenizedText
from lexitree.text.tokens import Token, TokenizedSentence, penn_form

__all__ = [
    "AnyText",
    "Layout",
    "Token",
    "TokenizedSentence",
    "TokenizedText",
    "detokenize",
    "penn_form",
    "split_sentences",
    "tokenize",
]
