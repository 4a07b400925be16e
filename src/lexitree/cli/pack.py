"""`lexitree pack`: give a trained model the words of other texts, and write it with fewer bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lexitree.cli.console import output, percent, progress_bars, show_table
from lexitree.cli.options import DataOption, JsonOption, ModelArgument, TableForm, flag
from lexitree.errors import ConfigError
from lexitree.settings import MAX_COUNT

if TYPE_CHECKING:
    from lexitree.corpora.corpus import Corpus
    from lexitree.lexicon.vector_streams import WordVectors
    from lexitree.models.classifier import TreeClassifier
    from lexitree.saving.model_folder import ModelFolder

Scores = dict[str, dict[str, float | None]]

FolderOption = Annotated[Path, typer.Option("--output", "-o", help="The folder of the new model.")]
WordsOption = Annotated[
    int,
    typer.Option(
        "--words",
        min=0,
        max=MAX_COUNT,
        help="Size of the vocabulary; 0 keeps all words of model and vectors.",
    ),
]
VectorsOption = Annotated[
    Path | None,
    typer.Option(
        help="The word vectors that the model was trained with; their other words are added.",
        show_default=False,
    ),
]
CorpusOption = Annotated[
    str | None,
    typer.Option(
        help="The corpus that the model was trained on: its words are kept first, and the model is scored on it"
        " before and after.",
        show_default=False,
    ),
]
TreesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--trees",
        "-t",
        help="More text whose words to keep: a file or folder of trees, or a corpus; may be repeated.",
        show_default=False,
    ),
]
TextsOption = Annotated[
    list[Path] | None,
    typer.Option(
        help="A table of texts (.tsv, .csv, .jsonl) whose words to keep as well; may be repeated.",
        exists=True,
        dir_okay=False,
        show_default=False,
    ),
]
TableOption = Annotated[
    TableForm,
    typer.Option(
        help="Precision of word vectors and of a transformer's matrices; with float16 and int8, other weights are"
        " float16."
    ),
]
AnswersOption = Annotated[
    str | None,
    typer.Option(
        help="For shipped models: write one that uses this model's weights and answers with the labels of another"
        " corpus, such as sst-polarity.",
        show_default=False,
    ),
]
AboutOption = Annotated[
    Path | None,
    typer.Option(
        help="A Markdown file for its card: data, licences, limits.",
        exists=True,
        dir_okay=False,
        show_default=False,
    ),
]
NoGuessesOption = Annotated[
    bool, flag("--no-guesses", text="Give all unknown words the same vector instead of guessing one.")
]


def pack_command(
    model: ModelArgument,
    folder: FolderOption,
    num_words: WordsOption = 0,
    vectors: VectorsOption = None,
    corpus: CorpusOption = None,
    trees: TreesOption = None,
    texts: TextsOption = None,
    table: TableOption = "int8",
    answers: AnswersOption = None,
    about: AboutOption = None,
    no_guesses: NoGuessesOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Prepare a trained model for texts other than its corpus, and make it small.

    Example: lexitree pack runs/sst/model -o sentiment --vectors glove.840B.300d.zip --corpus sst --words 40000

    Words of the training data are kept first, then those of --trees and --texts, then others of the vectors in the
    order of their file. Words outside the vocabulary get a vector guessed from their letters and parts; not beside a
    transformer, which reads every word in pieces. Parsers, rerankers and models over a transformer alone keep their
    words and are only written with fewer bytes.
    """
    from lexitree.saving.card import ABOUT
    from lexitree.saving.model_folder import CLASSIFIER, ModelFolder

    source = ModelFolder.find(model)
    said = {ABOUT: about.read_text(encoding="utf-8")} if about else {}
    size_before = source.num_bytes
    changes = {
        "--words": num_words,
        "--vectors": vectors,
        "--corpus": corpus,
        "--trees": trees,
        "--texts": texts,
        "--no-guesses": no_guesses,
    }
    given = [name for name, value in changes.items() if value]
    if answers is not None:
        report = _pack_answers(model, folder, answers, said, data, given)
    elif source.kind != CLASSIFIER:
        report = _shrink(source, folder, table, said, given)
    else:
        report = _pack_classifier(
            source,
            folder,
            table,
            num_words=num_words,
            vectors=vectors,
            corpus=corpus,
            trees=trees or [],
            texts=texts or [],
            guess=not no_guesses,
            said=said,
            data=data,
        )
    report = {
        "model": str(folder),
        "bytes_before": size_before,
        "bytes": ModelFolder(folder).num_bytes,
        **report,
    }
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _show(report)


def _shrink(
    source: ModelFolder, folder: Path, table: TableForm, said: Mapping[str, str], given: list[str]
) -> dict[str, Any]:
    """Write a parser or a reranker with fewer bytes."""
    from lexitree.saving.model_kinds import load_model, save_model

    if given:
        raise ConfigError(
            f"{source.path} is a {source.kind}, whose words cannot be changed", remedy=f"Omit {given[0]}."
        )
    loaded = load_model(source, device="cpu")
    save_model(loaded, folder, table=table, training={**loaded.training_record, **said})
    return {"table": table}


def _pack_classifier(
    source: ModelFolder,
    folder: Path,
    table: TableForm,
    *,
    num_words: int,
    vectors: Path | None,
    corpus: str | None,
    trees: list[str],
    texts: list[Path],
    guess: bool,
    said: Mapping[str, str],
    data: Path | None,
) -> dict[str, Any]:
    import dataclasses

    from lexitree.cli.vectors import count_source_words, count_text_words
    from lexitree.corpora.named import load_corpus
    from lexitree.lexicon.vocabulary import count_words
    from lexitree.models.transformer import table_of
    from lexitree.saving.model_kinds import save_model
    from lexitree.saving.packing import pack_model
    from lexitree.saving.pretrained import from_pretrained

    if num_words and corpus is None:
        raise ConfigError(
            "the words of the training data must be kept, and are not known",
            remedy="Name the corpus that the model was trained on: --corpus.",
        )
    loaded = load_corpus(corpus, data=data) if corpus else None
    model = from_pretrained(source, device="cpu")
    before = _score(model, loaded) if loaded else {}
    record, report = {**model.training_record, **said}, dict[str, Any](table=table)
    # A transformer alone has no words to change.
    if table_of(model.lexicon) or num_words or vectors or trees or texts:
        packed = pack_model(
            model,
            count_words(loaded.train) if loaded else {},
            num_words=num_words,
            vectors=_read_all(vectors) if vectors else None,
            others=count_source_words(trees, data, "utf-8", "raise")
            + count_text_words(texts, "utf-8", "raise"),
            guess=guess,
        )
        report["words"] = dataclasses.asdict(packed)
        if loaded:
            record |= {"words": packed.num_words, "words_added": packed.num_added}
    save_model(model, folder, table=table, training=record)
    if not loaded:
        return report
    # The scores that count are those of the model as it is read back.
    after = _score(from_pretrained(folder, device="cpu"), loaded)
    save_model(model, folder, table=table, training={**record, **_accuracy_record(after)})
    return {**report, "before": before, "after": after}


def _pack_answers(
    model: str, folder: Path, answers: str, said: Mapping[str, str], data: Path | None, given: list[str]
) -> dict[str, Any]:
    """Write a shipped model that uses the weights of another and answers differently."""
    from lexitree.corpora.named import load_corpus
    from lexitree.saving import shipped
    from lexitree.saving.packing import save_answers, with_answers_of
    from lexitree.saving.pretrained import from_pretrained

    if given:
        raise ConfigError(f"--answers keeps weights and words as they are; omit {given[0]}")
    if folder.resolve().parent != shipped.FOLDER.resolve():
        raise ConfigError(
            f"only shipped models can use the weights of another, and {folder} is elsewhere",
            remedy=f"Write to a folder in {shipped.FOLDER}.",
        )
    corpus = load_corpus(answers, data=data)
    loaded = from_pretrained(model, device="cpu")
    with_answers_of(loaded, corpus)
    scores = _score(loaded, corpus)
    record = {**loaded.training_record, **said, "corpus": corpus.name, **_accuracy_record(scores)}
    save_answers(loaded, model, folder.name, record)
    return {"scores": scores}


def _read_all(path: Path) -> WordVectors:
    from lexitree.lexicon.vector_files import read_vectors

    with progress_bars() as show_progress:
        return read_vectors(path, progress=partial(show_progress, path.name))


def _score(model: TreeClassifier, corpus: Corpus) -> Scores:
    """Root and phrase accuracy on the development and test sentences, if there are any."""
    from lexitree.pipeline.predictor import Predictor

    predictor = Predictor(model)
    accuracies: Scores = {}
    for split in ("dev", "test"):
        if trees := corpus.scored_trees(split):
            scores = predictor.evaluate(trees, supervision=corpus.supervision)
            phrase = scores.phrase.accuracy if scores.phrase else None
            accuracies[split] = {"root": scores.root.accuracy, "phrase": phrase}
    return accuracies


def _accuracy_record(scores: Scores) -> dict[str, float | None]:
    return {f"{split}_{kind}": share for split, each in scores.items() for kind, share in each.items()}


def _show(report: Mapping[str, Any]) -> None:
    if "table" in report:
        size, before = (f"{report[name] / 1e6:.1f} MB" for name in ("bytes", "bytes_before"))
        output.print(f"{report['model']}: {size} in {report['table']} (was {before})", soft_wrap=True)
    else:
        output.print(f"{report['model']}: same weights, different answers", soft_wrap=True)
    if words := report.get("words"):
        output.print(f"{words['num_words']:,} words, {words['num_added']:,} of them new to the model")
        if words["similarity"] is not None:
            output.print(
                f"other words are guessed: on held-out words, cosine {words['similarity']:.2f} with the true vectors"
                f" ({words['mean_similarity']:.2f} for the mean of all vectors)",
                soft_wrap=True,
            )
    for split, scores in report.get("scores", {}).items():
        output.print(
            f"{split}: root accuracy {percent(scores['root'])}, phrase accuracy {percent(scores['phrase'])}"
        )
    if "before" in report:
        _show_change(report["before"], report["after"])


def _show_change(before: Scores, after: Scores) -> None:
    rows: list[list[str]] = []
    for split, old in before.items():
        shares = [each[kind] for kind in ("root", "phrase") for each in (old, after[split])]
        rows.append([split, *map(percent, shares)])
    show_table(("split", "root before", "after", "phrase before", "after"), rows, numbers=())
