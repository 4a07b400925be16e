"""Scores on tables: the parts that training held out, exactly as it reported them, and nothing else in their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.corpora.text_tables import TableSettings
from lexitree.errors import ConfigError, CorpusNotFoundError, FileError, LabelError
from lexitree.pipeline.predictor import Predictor
from lexitree.pipeline.table_scores import holds_texts, score_table
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.saving.pretrained import from_pretrained
from lexitree.tasks.classify.building import load_recipe_corpus
from lexitree.tasks.classify.prepared_run import RunResult
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.run import train
from tests.cli.untrained_parser import save_untrained_parser
from tests.pipeline.stubs import Batches, tiny_pipeline
from tests.tiny import SIZES

ROWS = [
    f"{number},{'pos' if number % 2 else 'neg'},The film is {'good' if number % 2 else 'bad'}. It is {word}!"
    for number, word in enumerate(["long", "short", "new", "old", "odd"] * 6)
]
HEADER = "id,kind,comment"


def write(path: Path, rows: list[str], header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.fixture
def run(tmp_path: Path, shipped_folder: Path) -> RunResult:
    save_untrained_parser(shipped_folder / "parser")
    table = {"text": "comment", "label": "kind", "dev": 0.2, "test": 0.2}
    recipe = Recipe.from_dict(
        {
            "corpus": str(write(tmp_path / "t.csv", ROWS)),
            "table": table,
            "model": SIZES,
            "training": {"epochs": 2, "learning_rate": 0.01},
        }
    )
    return train(recipe, tmp_path / "run", corpus=load_recipe_corpus(recipe))


@pytest.fixture
def pipe(run: RunResult) -> TextPipeline:
    import lexitree

    return lexitree.load(run.model_folder, reads="text")


def test_each_part_has_the_score_that_training_reported(
    run: RunResult, pipe: TextPipeline, tmp_path: Path
) -> None:
    for split, reported in (("dev", run.dev), ("test", run.test), (None, run.test)):
        scored = score_table(pipe, tmp_path / "t.csv", split, run=run.folder)  # type: ignore[arg-type]
        assert reported is not None
        assert scored.num_texts == 6
        assert scored.scores.as_dict() == reported.as_dict()
    assert score_table(pipe, tmp_path / "t.csv", "train", run=run.folder).num_texts == 18
    assert score_table(pipe, tmp_path / "t.csv", "all", run=run.folder).num_texts == 30
    # The same rows are the same table, whatever file they stand in.
    write(tmp_path / "u.tsv", [row.replace(",", "\t") for row in ROWS], HEADER.replace(",", "\t"))
    assert score_table(pipe, tmp_path / "u.tsv", "dev", run=run.folder).scores.root.num_counted == 6


def test_a_changed_table_has_no_parts(run: RunResult, pipe: TextPipeline, tmp_path: Path) -> None:
    write(tmp_path / "t.csv", ROWS[1:])
    for split in ("dev", "test", "train", None):
        with pytest.raises(FileError, match=r"t\.csv: is not the table .* or has changed"):
            score_table(pipe, tmp_path / "t.csv", split, run=run.folder)  # type: ignore[arg-type]
    assert score_table(pipe, tmp_path / "t.csv", "all", run=run.folder).num_texts == 29
    # Another table is scored as a whole, but has no parts.
    other = write(tmp_path / "other.csv", ROWS[:4])
    assert score_table(pipe, other, run=run.folder).num_texts == 4
    with pytest.raises(FileError, match="its dev part is not known"):
        score_table(pipe, other, "dev", run=run.folder)
    with pytest.raises(ConfigError, match="no record says which"):
        score_table(pipe, other, "dev", run=tmp_path)


def test_a_folder_has_a_table_for_each_part(run: RunResult, pipe: TextPipeline, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, rows in (("train", ROWS[:20]), ("dev", ROWS[20:25]), ("test", ROWS[25:])):
        write(folder / f"{name}.csv", rows)
    settings = TableSettings(text="comment", label="kind")
    corpus = load_recipe_corpus(Recipe(corpus=str(folder), table=settings))
    assert corpus.texts is not None
    assert corpus.texts.record is None
    assert {split: len(sizes) for split, sizes in corpus.texts.document_sizes.items()} == {
        "train": 20,
        "dev": 5,
        "test": 5,
    }
    assert score_table(pipe, folder, "dev", run=run.folder).num_texts == 5
    assert score_table(pipe, folder, "train").num_texts == 20


def test_labels_by_name_and_unknown_ones(tmp_path: Path) -> None:
    pipe = tiny_pipeline(parser=Batches())
    path = write(tmp_path / "t.csv", ["good,positive", "bad,0"], "text,label")
    assert score_table(pipe, path).num_texts == 2
    write(path, ["good,positive", "bad,mixed"], "text,label")
    with pytest.raises(LabelError, match=r"t\.csv:3: the label 'mixed' is not one of the model's"):
        score_table(pipe, path)
    (tmp_path / "t.txt").write_text("(a b)\n")
    with pytest.raises(CorpusNotFoundError, match="not a table"):
        score_table(pipe, tmp_path / "t.txt")


def test_what_a_model_is_scored_on(run: RunResult, saved_model: Path, tmp_path: Path) -> None:
    settings = TableSettings()
    (tmp_path / "t.tsv").write_text("1\tgood film\n")
    (tmp_path / "t.txt").write_text("(1 (_ good) (_ film))\n")
    assert holds_texts(str(saved_model), str(tmp_path / "t.csv"), settings)
    assert holds_texts(str(run.model_folder), str(tmp_path / "t.tsv"), settings)
    assert not holds_texts(str(saved_model), str(tmp_path / "t.tsv"), settings), "flat trees, as it learned"
    assert holds_texts(str(saved_model), str(tmp_path / "t.tsv"), settings, is_text_asked=True)
    assert not holds_texts(str(saved_model), str(tmp_path / "t.txt"), settings)
    assert not holds_texts(str(saved_model), "mini-reviews", settings)


def test_a_model_from_elsewhere_is_scored_alike(run: RunResult, tmp_path: Path) -> None:
    """Without its parser, a parser of one's own will do."""
    pipe = TextPipeline(Predictor(from_pretrained(run.model_folder)), Batches())
    assert score_table(pipe, tmp_path / "t.csv", "dev", run=run.folder).num_texts == 6
