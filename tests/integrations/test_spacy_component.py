"""The spaCy component in real spaCy pipelines: by batches, in several processes, saved, loaded and shown."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lexitree.errors import ConfigError, LimitError, MissingExtraError, ModelFileError, TextError
from lexitree.tasks.classify.texts import train_texts

ROOT = Path(__file__).parents[2]
MODULE = "lexitree.integrations.spacy_component"
UNDERSCORE = ["sentiment", "label_probs", "head"]
TEXTS = [
    "It isn't a \"bad\" film.  I'd see it again!\n\nThe plot (what there is) can't fail.",
    "Dull.",
    "",
    " \n ",
    "What a great, funny and well-made film… The cast is poor, though — very poor.",
]


def test_without_spacy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.setitem(sys.modules, "spacy.language", None)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[spacy\]"):
        importlib.import_module(MODULE)


@pytest.fixture
def spacy() -> Any:
    found = pytest.importorskip("spacy", reason="spaCy is not installed")
    importlib.import_module(MODULE)  # the tests may run without the entry point
    return found


@pytest.fixture
def nlp(spacy: Any) -> Any:
    return with_sentencizer(spacy)


def with_sentencizer(spacy: Any, **config: Any) -> Any:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("lexitree", config={"device": "cpu", **config})
    return nlp


def answers(doc: Any, key: str = "lexitree") -> list[Any]:
    """All that the component gives a document, with probabilities that do not depend on the batch."""

    def rounded(values: dict[str, float]) -> dict[str, float]:
        return {name: pytest.approx(value, abs=1e-5) for name, value in values.items()}

    spans = [
        (span.start, span.end, span.label_, rounded(span._.label_probs), span._.head)
        for span in doc.spans[key]
    ]
    return [doc.text, doc._.sentiment, rounded(doc._.label_probs), *spans]


@pytest.mark.slow
def test_every_phrase_is_a_span_over_spacys_tokens(nlp: Any) -> None:
    doc = nlp(TEXTS[0])
    spans = doc.spans["lexitree"]
    sentences = [[token for token in sentence if not token.is_space] for sentence in doc.sents]
    assert [len(words) for words in sentences] == [9, 6, 11]
    assert len(spans) == sum(2 * len(words) - 1 for words in sentences)
    for span in spans:
        assert span.label_ == max(span._.label_probs, key=span._.label_probs.get)
        assert sum(span._.label_probs.values()) == pytest.approx(1, abs=1e-5)
        assert span._.head in [token.text for token in span]
        assert not span[0].is_space
        assert not span[-1].is_space
    words = [span.text for span in spans if len(span) == 1]
    assert words == [token.text for token in doc if not token.is_space]
    assert doc._.sentiment in doc._.label_probs


@pytest.mark.slow
def test_sentences_have_answers_whatever_white_space_they_have(nlp: Any) -> None:
    doc = nlp(TEXTS[0])
    roots = [span for span in doc.spans["lexitree"] if span.text == span.sent.text.strip()]
    assert [root._.label_probs for root in roots] == [sentence._.label_probs for sentence in doc.sents]
    assert [root._.head for root in roots] == [sentence._.head for sentence in doc.sents]


@pytest.mark.slow
def test_words_are_read_as_the_pipeline_reads_them(nlp: Any) -> None:
    """Where spaCy and the package's tokenizer agree on tokens and sentences, so do all answers."""
    text = "It didn't work (at all). He said \"no\" and I can't argue."
    doc, expected = nlp(text), nlp.get_pipe("lexitree").pipeline(text)
    assert [token.text for token in doc] == [token.text for token in expected.tokens]
    assert answers(doc)[3:] == [
        (span.start, span.end, phrase.label, phrase.probabilities, phrase.head)
        for span, phrase in zip(doc.spans["lexitree"], expected.phrases, strict=True)
    ]
    assert doc._.sentiment == expected.label


@pytest.mark.slow
def test_documents_without_words_have_no_answer(nlp: Any) -> None:
    for text in ("", " \n "):
        doc = nlp(text)
        assert list(doc.spans["lexitree"]) == []
        assert doc._.sentiment is None
        assert doc._.label_probs == {}


@pytest.mark.slow
def test_a_span_does_not_depend_on_other_sentences(spacy: Any, nlp: Any) -> None:
    words = ['"', "Not", "bad", "'", ",", "they", '"', "say", "."]
    spaces = [False, True, False, False, True, True, False, True, False]

    def sentence_answers(before: Sequence[str], after: Sequence[str]) -> list[Any]:
        rows = [list(before), words, list(after)]
        doc = spacy.tokens.Doc(
            nlp.vocab,
            words=[word for row in rows for word in row],
            spaces=[*[False] * len(before), *spaces, *[False] * len(after)],
            sent_starts=[not place for row in rows for place in range(len(row))],
        )
        found = nlp.get_pipe("lexitree")(doc)
        first, last = len(before), len(before) + len(words)
        return [
            (start - first, end - first, *rest)
            for start, end, *rest in answers(found)[3:]
            if first <= start and end <= last
        ]

    alone = sentence_answers([], [])
    assert len(alone) == 2 * len(words) - 1
    for before, after in [(["Awful", '"'], []), (["`"] * 3, ['"', "Great", "!"]), ([], ["\n\n", "Awful"])]:
        assert sentence_answers(before, after) == alone


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 3, 1000])
def test_batches_and_single_documents_agree(nlp: Any, batch_size: int) -> None:
    texts = TEXTS * 3
    pairs = ((text, number) for number, text in enumerate(texts))
    docs = list(nlp.pipe(pairs, as_tuples=True, batch_size=batch_size))
    assert [number for _, number in docs] == list(range(len(texts)))
    assert [answers(doc) for doc, _ in docs] == [answers(nlp(text)) for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "was_used"), [("fork", False), ("fork", True), ("spawn", True)])
def test_several_processes(spacy: Any, monkeypatch: pytest.MonkeyPatch, method: str, was_used: bool) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system does not {method} processes")
    monkeypatch.setattr("spacy.language.mp", multiprocessing.get_context(method))
    nlp = with_sentencizer(spacy)
    if was_used:
        nlp("A good film.")
    docs = list(nlp.pipe(TEXTS * 2, n_process=2, batch_size=2))
    assert [answers(doc) for doc in docs] == [answers(nlp(text)) for text in TEXTS * 2]


@pytest.mark.slow
def test_saved_with_its_own_model_and_loaded(spacy: Any, tmp_path: Path) -> None:
    """A model that was trained on texts brings its parser with it."""
    texts, labels = ["a bad film", "a good plot"] * 10, ["no", "yes"] * 10
    settings = {"training.epochs": 1, "model.hidden": 8, "model.word_size": 8}
    run = train_texts(texts, labels, tmp_path / "run", settings=settings)
    nlp = with_sentencizer(spacy, model=str(run.model_folder), limits={"words": 50}, spans_key="phrases")
    expected = [answers(doc, "phrases") for doc in nlp.pipe(TEXTS)]
    nlp.to_disk(tmp_path / "saved")
    shutil.rmtree(run.folder)
    loaded = spacy.load(tmp_path / "saved")
    assert [answers(doc, "phrases") for doc in loaded.pipe(TEXTS, n_process=2)] == expected
    assert loaded("bad")._.sentiment in ("no", "yes")
    with pytest.raises(LimitError, match="limit is 50"):
        loaded("bad " * 51)


@pytest.mark.slow
def test_a_shipped_model_is_saved_by_its_name(spacy: Any, tmp_path: Path) -> None:
    nlp = with_sentencizer(spacy, model="questions")
    nlp.to_disk(tmp_path)
    assert not (tmp_path / "lexitree").exists()
    question = "Who wrote it?"
    assert answers(spacy.load(tmp_path)(question)) == answers(nlp(question))


@pytest.mark.slow
def test_documents_keep_their_answers(spacy: Any, nlp: Any) -> None:
    doc = nlp(TEXTS[0])
    copy = spacy.tokens.Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert answers(copy) == answers(doc)
    store = spacy.tokens.DocBin(docs=[doc], store_user_data=True)
    (stored,) = spacy.tokens.DocBin().from_bytes(store.to_bytes()).get_docs(nlp.vocab)
    assert answers(stored) == answers(doc)
    plain = json.loads(json.dumps(doc.to_json(UNDERSCORE)))
    assert plain["_"]["sentiment"] == doc._.sentiment
    assert answers(spacy.tokens.Doc(nlp.vocab).from_json(plain)) == answers(doc)


@pytest.mark.slow
def test_displacy_shows_the_phrases(spacy: Any, nlp: Any) -> None:
    displacy = importlib.import_module("spacy.displacy")
    doc = nlp("Not a bad film.")
    page = displacy.render(doc, style="span", options={"spans_key": "lexitree"}, page=True, jupyter=False)
    for span in doc.spans["lexitree"]:
        assert span.label_ in page


@pytest.mark.slow
def test_without_sentence_boundaries_the_error_names_the_sentencizer(spacy: Any) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("lexitree")
    with pytest.raises(TextError, match="sentencizer"):
        nlp("Not a bad film.")
    with pytest.raises(TextError, match="sentencizer"):
        list(nlp.pipe(["Not a bad film."]))
    nlp.add_pipe("sentencizer", first=True)
    assert nlp("Not a bad film.")._.sentiment


@pytest.mark.slow
def test_spacys_error_handler_gets_what_cannot_be_labelled(spacy: Any) -> None:
    nlp = with_sentencizer(spacy, limits={"words": 5})
    texts = ["Not bad.", "bad " * 6, "Good."]
    with pytest.raises(LimitError, match="limit is 5"):
        list(nlp.pipe(texts))
    refused: list[tuple[str, str]] = []
    nlp.set_error_handler(lambda name, _, docs, error: refused.append((name, docs[0].text)))
    assert [doc.text for doc in nlp.pipe(texts)] == ["Not bad.", "Good."]
    assert refused == [("lexitree", texts[1])]
    cut = with_sentencizer(spacy, limits={"token_characters": 4, "beyond": "cut"})("terribly bad")
    assert [span.text for span in cut.spans["lexitree"]] == ["terribly bad", "terribly", "bad"]


@pytest.mark.slow
def test_settings_are_checked(spacy: Any) -> None:
    with pytest.raises(ConfigError, match="wrods"):
        with_sentencizer(spacy, limits={"wrods": 3})
    with pytest.raises(ModelFileError, match="no-such-model"):
        with_sentencizer(spacy, model="./no-such-model")("Not bad.")
    with pytest.raises(Exception, match="modell"):
        with_sentencizer(spacy, modell="sentiment")


@pytest.mark.slow
def test_a_pipeline_pickles(spacy: Any) -> None:
    nlp = with_sentencizer(spacy, spans_key="phrases")
    expected = answers(nlp(TEXTS[0]), "phrases")
    data = pickle.dumps(nlp)
    assert len(data) < 1_000_000
    assert answers(pickle.loads(data)(TEXTS[0]), "phrases") == expected


@pytest.mark.slow
def test_spacy_finds_the_component_by_the_entry_point(spacy: Any, tmp_path: Path) -> None:
    """As in an environment where the package is installed; nothing of the package is imported before."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder = tmp_path / "lexitree-0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: lexitree\nVersion: 0\n")
    entries = "\n".join(
        f"{name} = {target}" for name, target in project["entry-points"]["spacy_factories"].items()
    )
    (folder / "entry_points.txt").write_text(f"[spacy_factories]\n{entries}\n")
    program = (
        "import sys, spacy; nlp = spacy.blank('en'); nlp.add_pipe('sentencizer'); nlp.add_pipe('lexitree');"
        "assert 'lexitree.models' not in sys.modules; print(nlp('Not a bad film.')._.sentiment)"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stderr == ""
    assert found.stdout.strip() == with_sentencizer(spacy)("Not a bad film.")._.sentiment


@pytest.mark.slow
def test_a_trained_pipeline_of_spacys(spacy: Any, tmp_path: Path) -> None:
    folder = os.environ.get("LEXITREE_SPACY_MODEL")
    if not folder:
        pytest.skip("LEXITREE_SPACY_MODEL does not name a pipeline such as en_core_web_md")
    nlp = spacy.load(folder)
    nlp.add_pipe("lexitree", config={"device": "cpu"})
    expected = [answers(doc) for doc in nlp.pipe(TEXTS)]
    assert expected[0][3][:2] == (0, 9)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert [answers(doc) for doc in loaded.pipe(TEXTS, n_process=2, batch_size=2)] == expected
