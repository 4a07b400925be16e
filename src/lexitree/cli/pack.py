"""`lexitree pack`: a trained model in; the same with more words or fewer, in fewer bytes, out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lexitree.cli.options import DataOption, JsonOption, ModelArgument, TableForm, flag

if TYPE_CHECKING:
    from lexitree.corpora.corpus import Corpus
    from lexitree.evaluation.accuracy import Evaluation
    from lexitree.lexicon import WordVectors
    from lexitree.models.classifier import TreeClassifier
    from lexitree.saving.packing import PackedWords

Scores = dict[str, dict[str, float | None]]


def pack_command(
    model: ModelArgument,
    folder: Annotated[Path, typer.Option("--output", "-o", help="The directory of the new model.")],
    num_words: Annotated[
        int, typer.Option("--words", min=0, help="How many words it knows; 0: all of model and vectors.")
    ] = 0,
    vectors: Annotated[
        Path | None,
        typer.Option(
            help="The word vectors it was trained with; more of them are added.", show_default=False
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            help="The corpus it was trained on: its words are kept first, and the model is scored on it before and"
            " after.",
            show_default=False,
        ),
    ] = None,
    trees: Annotated[
        list[str] | None,
        typer.Option(
            "--trees",
            "-t",
            help="More text whose words are wanted: a file or folder of trees, or a corpus; may be repeated.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[
        TableForm,
        typer.Option(
            help="How vectors are written: four bytes a number, two or one; other weights then have two."
        ),
    ] = "int8",
    answers: Annotated[
        str | None,
        typer.Option(
            help="For models of the package: the output has this model's weights and answers as models of another"
            " corpus do, such as sst-polarity.",
            show_default=False,
        ),
    ] = None,
    about: Annotated[
        Path | None,
        typer.Option(
            help="A Markdown file that goes into its card: data, licences, limits.",
            exists=True,
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
    no_guesses: Annotated[
        bool, flag("--no-guesses", text="Leave all words that it does not know alike.")
    ] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a trained model ready for other texts than its corpus, and small.

    Example: lexitree pack runs/sst/model -o sentiment --vectors glove.840B.300d.zip --corpus sst --words 40000

    Words that training has met are kept first, then those of --trees, then others of the vectors, in the order of
    their file. A word that the table has no room for gets a vector guessed from its letters and parts. A parser is
    only written in fewer bytes.
    """
    from lexitree.saving.card import ABOUT
    from lexitree.saving.model_folder import locate_model, read_config_file

    source = locate_model(model)
    said = {ABOUT: about.read_text(encoding="utf-8")} if about else {}
    size_before = _size(source)
    if answers is not None:
        _refuse_with_answers(
            num_words=num_words, vectors=vectors, corpus=corpus, trees=trees, no_guesses=no_guesses
        )
        report = _pack_answers(model, folder, answers, said, data)
    elif read_config_file(source).get("kind") == "parser":
        report = _pack_parser(
            source, folder, table, said, bool(num_words or vectors or corpus or trees or no_guesses)
        )
    else:
        report = _pack_classifier(
            source,
            folder,
            table,
            num_words=num_words,
            vectors=vectors,
            corpus=corpus,
            trees=trees or [],
            guess=not no_guesses,
            said=said,
            data=data,
        )
    report = {"model": str(folder), "bytes_before": size_before, "bytes": _size(folder), **report}
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _show(report)


def _refuse_with_answers(**options: object) -> None:
    """Options that would have no effect are errors."""
    from lexitree.errors import ConfigError

    given = [f"--{name.replace('num_', '').replace('_', '-')}" for name, value in options.items() if value]
    if given:
        raise ConfigError(
            f"with --answers the weights and words stay as they are, and {given[0]} does nothing"
        )


def _pack_parser(
    source: Path, folder: Path, table: TableForm, said: Mapping[str, str], has_other_options: bool
) -> dict[str, Any]:
    from lexitree.errors import ConfigError
    from lexitree.parsers.saved_parser import load_parser, save_parser

    if has_other_options or table == "float32":
        raise ConfigError(
            f"{source} is a parser, whose words stay as they are",
            remedy="Say --table int8 or --table float16 only.",
        )
    parser = load_parser(source)
    save_parser(parser, folder, table=table, training={**parser.training_record, **said})
    return {"table": table}


def _pack_classifier(
    source: Path,
    folder: Path,
    table: TableForm,
    *,
    num_words: int,
    vectors: Path | None,
    corpus: str | None,
    trees: list[str],
    guess: bool,
    said: Mapping[str, str],
    data: Path | None,
) -> dict[str, Any]:
    import dataclasses

    from lexitree.cli.vectors import count_source_words
    from lexitree.corpora import load_corpus
    from lexitree.errors import ConfigError
    from lexitree.lexicon import count_words
    from lexitree.saving.packing import pack_model
    from lexitree.saving.pretrained import from_pretrained, save_pretrained

    if num_words and corpus is None:
        raise ConfigError(
            "which of its words training has met is not known, and these must be kept",
            remedy="Name the corpus that it was trained on: --corpus.",
        )
    loaded = load_corpus(corpus, data=data) if corpus else None
    model = from_pretrained(source)
    before = _score(model, loaded) if loaded else {}
    packed = pack_model(
        model,
        count_words(loaded.train) if loaded else {},
        num_words=num_words,
        vectors=_read_all(vectors) if vectors else None,
        others=count_source_words(trees, data, "utf-8", "raise") if trees else None,
        guess=guess,
    )
    record = {**model.training_record, **said}
    save_pretrained(model, folder, table=table, training=record)
    if not loaded:
        return {"table": table, "words": dataclasses.asdict(packed)}
    # What counts are the scores of the model as others will read it.
    after = _score(from_pretrained(folder), loaded)
    save_pretrained(model, folder, table=table, training={**record, **_record(packed, after)})
    return {"table": table, "words": dataclasses.asdict(packed), "before": before, "after": after}


def _pack_answers(
    model: str, folder: Path, answers: str, said: Mapping[str, str], data: Path | None
) -> dict[str, Any]:
    """The model as one of the package that only answers otherwise."""
    from lexitree.corpora import load_corpus
    from lexitree.errors import ConfigError
    from lexitree.saving import shipped
    from lexitree.saving.pretrained import from_pretrained
    from lexitree.saving.shipped_models import save_answers, with_answers_of

    if folder.resolve().parent != shipped.FOLDER.resolve():
        raise ConfigError(
            f"only models of the package have others' weights, and {folder} is elsewhere",
            remedy=f"Write to a directory in {shipped.FOLDER}.",
        )
    corpus = load_corpus(answers, data=data)
    loaded = from_pretrained(model)
    with_answers_of(loaded, corpus)
    scores = _score(loaded, corpus)
    record = {**loaded.training_record, **said, "corpus": corpus.name, **_accuracy_record(scores)}
    save_answers(loaded, model, folder.name, record)
    return {"scores": scores}


def _read_all(path: Path) -> WordVectors:
    from lexitree.cli.vectors import progress_bar
    from lexitree.lexicon import read_vectors

    with progress_bar(path.name) as show_progress:
        return read_vectors(path, progress=show_progress)


def _score(model: TreeClassifier, corpus: Corpus) -> Scores:
    """Root and phrase accuracy on the development and test sentences, where there are any."""
    from lexitree.pipeline.predictor import Predictor

    predictor = Predictor(model)
    splits = {split: trees for split in ("dev", "test") if (trees := corpus.scored_trees(split))}
    return {
        split: _accuracies(predictor.evaluate(trees, supervision=corpus.supervision))
        for split, trees in splits.items()
    }


def _accuracies(scores: Evaluation) -> dict[str, float | None]:
    return {"root": scores.root.accuracy, "phrase": scores.phrase.accuracy if scores.phrase else None}


def _record(packed: PackedWords, scores: Scores) -> dict[str, Any]:
    """What the card says of it: its words, and its scores in place of those it had."""
    return {"words": packed.num_words, "words_added": packed.num_added, **_accuracy_record(scores)}


def _accuracy_record(scores: Scores) -> dict[str, float | None]:
    return {f"{split}_{kind}": share for split, each in scores.items() for kind, share in each.items()}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _show(report: Mapping[str, Any]) -> None:
    from rich.table import Table

    from lexitree.cli.console import output, percent

    if "table" in report:
        size, before = (f"{report[name] / 1e6:.1f} MB" for name in ("bytes", "bytes_before"))
        output.print(f"{report['model']}: {size} in {report['table']}; it had {before}", soft_wrap=True)
    else:
        output.print(f"{report['model']}: the same weights, other answers", soft_wrap=True)
    if words := report.get("words"):
        output.print(f"{words['num_words']:,} words, {words['num_added']:,} of them new to the model")
        if words["similarity"] is not None:
            output.print(
                f"others are guessed: cosine {words['similarity']:.2f} with the true vectors of words held out,"
                f" where the mean of all has {words['mean_similarity']:.2f}",
                soft_wrap=True,
            )
    for split, scores in report.get("scores", {}).items():
        output.print(
            f"{split}: root accuracy {percent(scores['root'])}, phrase accuracy {percent(scores['phrase'])}"
        )
    if "before" in report:
        table = Table()
        for column in ("split", "root before", "after", "phrase before", "after"):
            table.add_column(column)
        for split, before in report["before"].items():
            after = report["after"][split]
            shares = [each[kind] for kind in ("root", "phrase") for each in (before, after)]
            table.add_row(split, *map(percent, shares))
        output.print(table)
