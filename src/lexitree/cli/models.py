"""`lexitree models` lists the models there are; `lexitree info` describes a saved one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from lexitree.cli.console import output, percent, printable, show_table
from lexitree.cli.options import JsonOption, ModelArgument, flag

if TYPE_CHECKING:
    from lexitree.saving.model_folder import ModelFolder


def models_command(
    only_shipped: Annotated[
        bool,
        flag("--shipped", text="List the trained models that are ready for use, with sizes and scores."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the models with their parameter counts at the paper's sizes.

    The counts are for word vectors of size 300, an output layer of size 128 and five labels, without the word vectors
    themselves. RNTN has word vectors of the size of its states and no output layer. The weights of a transformer
    (--encoder) are not counted; the model pooled has no others.

    [bold]Ready for use:[/bold]  lexitree models --shipped
    """
    if only_shipped:
        _show_shipped(as_json)
        return
    from lexitree.models.catalog import PAPER_SIZES, list_models
    from lexitree.models.registries import ENCODERS

    rows: list[dict[str, Any]] = [
        {
            "model": model.name,
            "title": model.title,
            "hidden": model.hidden,
            "parameters": model.num_parameters,
            "about": model.about,
        }
        for model in list_models()
    ]
    rows += [
        {"model": name, "title": each.title, "hidden": None, "parameters": None, "about": each.about}
        for name, each in ENCODERS.working()
        if name not in PAPER_SIZES
    ]
    for row in rows:
        source = ENCODERS.source(row["model"])
        row["package"] = None if source is None else source.package or source.module
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    shown: list[list[str]] = []
    for row in rows:
        # A model without a size is not in the paper.
        sizes = [row["title"], str(row["hidden"]), f"{row['parameters']:,}"] if row["hidden"] else ["–"] * 3
        about = f"{row['about']} ({row['package']})" if row["package"] else row["about"]
        shown.append([row["model"], *sizes, about])
    columns = ("name", "in the paper", "state size", "parameters", "what it does")
    show_table(columns, shown, numbers=("state size", "parameters"))


def _show_shipped(as_json: bool) -> None:
    import dataclasses

    from lexitree.saving.shipped_list import list_shipped

    models = list_shipped()
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(model) for model in models], indent=2, ensure_ascii=False))
        return
    rows: list[list[str]] = []
    for model in models:
        if not model.is_installed:
            rows.append([model.name, "–", "–", "not installed"])
            continue
        size = f"as {model.weights_of}" if model.weights_of else f"{model.num_bytes / 1e6:.1f} MB"
        scores = [f"{kind.replace('_', ' ')} {percent(share)}" for kind, share in model.scores.items()]
        answers = ", ".join(model.answers) or "Penn trees"
        rows.append([model.name, size, answers, ", ".join(scores) or "–"])
    show_table(("name", "size", "answers", "scores"), rows, numbers=())


def info_command(model: ModelArgument, as_json: JsonOption = False) -> None:
    """Show what a saved model is: its kind, labels, sizes, training and scores.

    Example: lexitree info runs/mini/model
    """
    from lexitree.ops.devices import choose_device
    from lexitree.ops.registry import describe_report
    from lexitree.saving.card import ABOUT
    from lexitree.saving.classifier_entries import describe_encoder
    from lexitree.saving.model_folder import ModelFolder

    folder, device = ModelFolder.find(model), choose_device("auto")
    network = _open_network(folder, device)
    values: dict[str, Any] = {**folder.values, "kind": folder.kind, **_count(network)}
    # Of a parser, it is not known by which implementations it runs.
    if hasattr(network, "what_runs"):
        library = getattr(network, "library", "torch")
        values |= {"device": device, "library_used": library, "backend": network.what_runs}
    if as_json:
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))
        return
    first = {"kind": folder.kind, "parameters": _sizes(values)}
    if "encoder" in values:
        first["transformer"] = describe_encoder(values["encoder"])
    if values.get("text"):
        first["reads"] = f"text, with the parser {values['text'].get('parser') or 'of its maker'}"
    if folder.plugins:
        first["needs"] = ", ".join(
            f"the {needed.get('kind')} {needed.get('name')} of {needed.get('package') or needed.get('module')}"
            for needed in folder.plugins
        )
    if "backend" in values:
        first["runs here"] = (
            f"{describe_report(values['backend'])} on {values['device']}, with {values['library_used']}"
        )
    training = dict(values.get("training") or {})
    about = training.pop(ABOUT, "")
    for title, facts in ((str(model), first), ("model", values.get("model") or {}), ("training", training)):
        rows = [
            (name.replace("_", " "), _shown(value))
            for name, value in facts.items()
            if value not in ({}, None)
        ]
        show_table(("what", "value"), rows, title=title, numbers=(), has_header=False)
    if about:
        output.print(printable(str(about).strip()), markup=False)


def _open_network(folder: ModelFolder, device: str) -> Any:
    """The network of a saved model as it runs here; torch is imported only if it runs in torch."""
    from lexitree.parsers.neural import NeuralParser
    from lexitree.parsers.saved_parser import load_parser
    from lexitree.pipeline.loading import open_classifier
    from lexitree.saving.model_folder import CLASSIFIER

    if folder.kind == CLASSIFIER:
        return open_classifier(folder, device=device)
    if folder.kind == NeuralParser.kind:
        return load_parser(folder, device=device).model
    from lexitree.saving.model_kinds import load_model

    return load_model(folder, device=device).model


def _count(network: Any) -> dict[str, int]:
    """The numbers of weights and words of a network."""
    counts = {"num_parameters": network.num_parameters()}
    lexicon = getattr(network, "lexicon", None)
    words = network.vectors.shape[0] if lexicon is None else 0
    if lexicon is not None and hasattr(lexicon, "encoder"):
        counts["num_transformer_parameters"] = sum(weight.numel() for weight in lexicon.encoder.parameters())
        lexicon = lexicon.table
    if lexicon is not None:
        words = lexicon.vocabulary.num_rows
    return {**counts, "num_words": words} if words else counts


def _sizes(values: dict[str, Any]) -> str:
    parts = [f"{values['num_parameters']:,}"]
    if "num_transformer_parameters" in values:
        parts.append(f"{values['num_transformer_parameters']:,} of the transformer")
    if "num_words" in values:
        parts.append(f"{values['num_words']:,} word vectors")
    return " and ".join(parts)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        # Some finer labels count for no answer.
        pairs = cast(dict[str, object], value).items()
        return ", ".join(f"{key} = {'none' if name == '' else name}" for key, name in pairs)
    if isinstance(value, list):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value)
