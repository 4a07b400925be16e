"""Sentences and their phrases: what each of them says, and how the weights of its words were come by."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from lexitree.results.sentence import Sentence
from lexitree.views.visible import MAX_SHOWN_CHARACTERS
from tests.pipeline.stubs import Penn, tiny_pipeline

TEXT = "The film isn't (very) good.  The plot is not bad!"
PIPE = tiny_pipeline()


@pytest.fixture(scope="module")
def first() -> Sentence:
    return PIPE(TEXT).sentences[0]


def test_what_a_phrase_says(first: Sentence) -> None:
    assert [phrase.node for phrase in first.phrases] == list(range(len(first.phrases)))
    assert first.phrases[0] == first.whole
    assert len(set(first.phrases)) == len(first.phrases)
    for phrase in first.phrases:
        row = first.node_probabilities[phrase.node]
        assert phrase.label == ("negative", "positive")[int(row.argmax())] == first.labels[phrase.node]
        assert phrase.label_id == str(row.argmax()) == first.label_ids[phrase.node]
        assert phrase.probability == pytest.approx(row.max())
        assert phrase.probabilities == pytest.approx({"negative": row[0], "positive": row[1]})
        assert phrase.head is not None
        assert phrase.head_index is not None
        assert phrase.span[0] <= phrase.head_index < phrase.span[1]
        assert phrase.head == first.tokens[phrase.head_index].text == first.head(phrase.node)
        assert phrase.head_weight is not None
        assert 0 <= phrase.head_weight <= 1.000001
        assert all(part.depth == phrase.depth + 1 for part in phrase.children)
    assert str(first.phrases[1]) == "The"
    assert repr(first.phrases[1]).startswith("Phrase('The', '")
    assert repr(first).startswith('Sentence("The film isn')


def test_the_words_of_a_phrase_share_its_head_vector(first: Sentence) -> None:
    for phrase in first.phrases:
        weights = phrase.head_weights
        assert weights is not None
        assert len(weights) == len(phrase.tokens)
        assert sum(weights) == pytest.approx(1, abs=1e-5)
        assert phrase.head_index is not None
        assert weights[phrase.head_index - phrase.span[0]] == pytest.approx(phrase.head_weight, abs=1e-5)
    assert first.phrases[1].head_weights == (1.0,)


def test_weights_are_asked_for_from_threads_while_others_are_labelled() -> None:
    texts = [f"{word} film is not {word}." for word in ("The", "good", "bad", "dull", "fine")]
    alone = {text: [phrase.head_weights for phrase in PIPE(text).phrases] for text in texts}

    def ask(turn: int) -> bool:
        text = texts[turn % len(texts)]
        return [phrase.head_weights for phrase in PIPE(text).phrases] == alone[text]

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(ask, range(40)))


def test_the_parse_is_kept_and_phrases_are_binary() -> None:
    sentence = tiny_pipeline(parser=Penn())("The film is good .").sentences[0]
    assert sentence.parse.labels[:2] == ("ROOT", "S")
    assert sentence.parse.num_nodes == 7
    assert {len(phrase.children) for phrase in sentence.phrases} == {0, 2}
    assert len(sentence.phrases) == 9


def test_a_sentence_says_the_same_as_the_tree_alone(first: Sentence) -> None:
    """A predictor and a pipeline give the same names and numbers."""
    alone = PIPE.predictor.predict(first.source)
    assert alone.labels == first.labels
    assert (alone.label, alone.label_id, alone.probability) == (
        first.label,
        first.label_id,
        first.probability,
    )
    assert alone.probabilities == first.probabilities
    assert list(alone.draw()) == list(first.draw())[: len(first.phrases)]
    assert alone.as_dict()["phrases"][0]["label"] == first.as_dict()["phrases"][0]["label"] == first.label


def test_the_texts_of_phrases_do_not_grow_with_the_square_of_the_depth() -> None:
    def size(num_words: int) -> int:
        return len(tiny_pipeline()("word " * num_words).to_json())

    assert size(2_000) < 2.1 * size(1_000)


def test_a_long_phrase_is_shortened_in_records_only() -> None:
    text = "first " + "x" * 600 + " " + "y" * 600 + " last"
    (sentence,) = tiny_pipeline()(text).sentences
    whole = sentence.as_dict()["phrases"][0]
    assert sentence.whole.text == sentence.as_dict()["text"] == text
    assert (whole["start"], whole["end"], len(whole["text"])) == (0, len(text), MAX_SHOWN_CHARACTERS)
    assert whole["text"].startswith("first x")
    assert "x…y" in whole["text"]
    assert whole["text"].endswith("y last")
    assert [phrase["text"] for phrase in sentence.as_dict()["phrases"]][1] == "first"
