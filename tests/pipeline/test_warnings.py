"""A pipeline says of a text that its model does not know it, in every form of answer."""

from __future__ import annotations

from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.models.word_table import WordTable
from lexitree.pipeline.formats import OutputSettings
from lexitree.pipeline.predictor import Predictor
from lexitree.pipeline.text_pipeline import TextPipeline
from tests.pipeline.stubs import WORDS, RightBranching, tiny_pipeline
from tests.tiny import LABELS, SIZES

GERMAN = "Der Film ist nicht gut."
WARNING = "the text does not seem to be in English, which is all that the model knows"


def reading_typed() -> TextPipeline:
    config = ModelConfig(labels=LABELS, lookup="folded", **SIZES)
    lexicon = WordTable.random(Vocabulary(WORDS, "folded"), config.word_size)
    return TextPipeline(Predictor(TreeClassifier(config, lexicon).eval()), RightBranching())


def test_an_unfamiliar_text_carries_a_warning() -> None:
    document, english = reading_typed()([GERMAN, "The FILM is goooood!!!"])
    assert document.notes == (WARNING,)
    assert document.as_dict()["notes"] == [WARNING]
    assert document.explanation()["notes"] == [WARNING]
    assert english.notes == ()
    assert next(document.draw()) == f"note: {WARNING}"
    assert WARNING in document.html()
    assert WARNING not in english.html()


def test_a_column_for_warnings() -> None:
    settings = OutputSettings("text", warnings=True)
    documents = reading_typed()([GERMAN, "The film is good."])
    assert [dict(settings.added_columns(document))["warning"] for document in documents] == [WARNING, None]


def test_other_models_do_not_warn() -> None:
    assert tiny_pipeline()(GERMAN).notes == ()
