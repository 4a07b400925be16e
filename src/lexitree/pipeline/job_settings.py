"""What a job labels, how, and where the results go: its rows, their format, and the settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lexitree.corpora.parquet_files import PARQUET_SUFFIX
from lexitree.errors import ConfigError, InputError, Place
from lexitree.files import STANDARD_STREAM, plain_suffix
from lexitree.lazy import cached_property
from lexitree.limits import Limits
from lexitree.pipeline import PART_ROWS
from lexitree.pipeline.formats import OutputSettings, RecordFormat, Source, WholeFormat
from lexitree.pipeline.inputs import Inputs
from lexitree.pipeline.known_formats import format_name, open_format
from lexitree.pipeline.part_folder import PartFolder, is_folder_name
from lexitree.pipeline.resuming import check_resumable
from lexitree.pipeline.workers import LabellerSettings
from lexitree.saving.shipped import BUILTIN_PARSER
from lexitree.trees.brackets import ReadReport
from lexitree.writing import is_pipe_or_device

if TYPE_CHECKING:
    from lexitree.corpora.tables import Row


@dataclass(frozen=True)
class JobSettings:
    """What is labelled, how, and where the results go; see `LabellingJob`, which does it."""

    inputs: Inputs
    output: str | Path | None = None
    """The output file, which appears when it is complete; None or `-` is standard output. A name that ends in a
    slash, a folder, or an address such as `s3://bucket/out` is a folder of parts; see `parts`."""
    labeller: LabellerSettings = field(default_factory=LabellerSettings)
    """The model, its parser and where they run."""
    format: str | None = None
    """The output format (see `known_formats`); by default, the ending of the output file decides."""
    column: str | None = None
    """The column of CSV or JSON Lines that holds the texts; the others are copied."""
    prefix: str = ""
    """What the names of added columns begin with."""
    phrases: bool = False
    """Whether to add the phrases to a column, or to list them in a table."""
    guard_formulas: bool = False
    """Whether cells of CSV that spreadsheets would take for formulas get an apostrophe."""
    head_weights: bool = False
    """Whether JSON holds the weights of all words of a phrase, not only its head word's."""
    nodes: Literal["all", "root"] = "all"
    """Whether to label all phrases, or whole sentences only."""
    resume: bool = False
    """Whether to continue an interrupted run: a partial last line is dropped, and records are written at once."""
    num_workers: int = 1
    """How many processes label texts."""
    score: bool = False
    """Whether to add the score to a column."""
    errors: bool = False
    """Whether to add a column that says why a text was refused; its row is kept, without a label."""
    warnings: bool = False
    """Whether to add a column that says why a label may mean nothing: the model does not know the text, or it was
    cut."""
    keep_refused: bool = False
    """Whether a text that is refused keeps its row, without a label; always so with `errors`, and in a folder."""
    part_rows: int = PART_ROWS
    """Rows per part in a folder, for files without row groups."""
    refused: ReadReport = field(default_factory=ReadReport)
    """The texts that were refused and whose rows were kept."""
    failed: ReadReport = field(default_factory=ReadReport)
    """The texts that no worker of the engine could label."""

    def __post_init__(self) -> None:
        if self.head_weights:
            object.__setattr__(self, "labeller", replace(self.labeller, needs_heads=True))
        if self.errors:
            object.__setattr__(self, "keep_refused", True)
        if self.nodes != self.labeller.nodes:
            object.__setattr__(self, "labeller", replace(self.labeller, nodes=self.nodes))

    @cached_property
    def source(self) -> Source:
        """What is labelled."""
        if self.column is not None:
            return "column"
        return "trees" if self.inputs.hold_trees() else "texts"

    @cached_property
    def _rows(self) -> tuple[Iterator[Row], tuple[str, ...]]:
        """The rows of all inputs, and the header of CSV."""
        if self.column is None:
            return self.inputs.rows(), ()
        tables = self.inputs.tables(self.column)
        return chain.from_iterable(tables), tuple(tables[0].columns)

    @property
    def rows(self) -> Iterator[Row]:
        """The rows of all inputs, which can be read once."""
        return self._rows[0]

    @cached_property
    def output_format(self) -> RecordFormat | WholeFormat:
        """The output format, checked against the inputs and the settings."""
        self._check_source()
        columns = () if self.source == "trees" else self._rows[1]
        name = format_name(self.output, self.source, columns, asked=self.format)
        settings = OutputSettings(
            self.column,
            columns,
            "\t" if plain_suffix(self.output or self.inputs.arguments[0]) == ".tsv" else ",",
            self.prefix,
            self.phrases,
            self.head_weights,
            self.guard_formulas,
            Place(str(self.inputs.arguments[0]), 1),
            score=self.score,
            errors=self.errors,
            warnings=self.warnings,
            keeps_refused=self.keep_refused,
        )
        output_format = open_format(name, self.source, settings)
        if self.nodes == "root" and self.source != "trees" and not output_format.can_omit_phrases:
            raise ConfigError(
                f"{'--phrases' if self.phrases else f'the format {output_format.name}'} shows phrases, which"
                " --nodes root does not label",
                remedy="Use --format json, table or csv, or omit --nodes root.",
            )
        if self.resume:
            check_resumable(self.output, output_format)
        return output_format

    def _check_source(self) -> None:
        """Refuse settings that would have no effect on the inputs, and an output that is one of them."""
        if any(path.suffix == PARQUET_SUFFIX for path in self.inputs.files):
            raise ConfigError(
                "the results for Parquet are written to a folder",
                remedy="Name one: -o FOLDER/ (with the slash).",
            )
        output = self._output_file
        if output and output.exists() and any(p.is_file() and p.samefile(output) for p in self.inputs.files):
            raise ConfigError(f"{output} is an input as well", remedy="Use another output file.")
        if self.head_weights and (self.nodes == "root" or self.column is not None):
            wrong = "--nodes root" if self.nodes == "root" else "--column"
            raise ConfigError(f"--head-weights needs the JSON of phrases, which {wrong} does not give")
        options = {
            "--phrases": self.phrases,
            "--guard-formulas": self.guard_formulas,
            "--resume": self.resume,
            "--prefix": bool(self.prefix),
            "--one-sentence": self.labeller.one_sentence,
            "--limit": self.labeller.limits != Limits(),
            "--jobs": self.num_workers > 1,
        }
        wrong = [option for option, is_given in options.items() if is_given and self.source == "trees"]
        if wrong:
            raise ConfigError(
                f"{', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} for text, and the input is trees",
                remedy="If it is text that begins with a bracket, use --input text.",
            )

    @cached_property
    def folder(self) -> PartFolder | None:
        """The output, if it is a folder."""
        return PartFolder(str(self.output)) if is_folder_name(self.output) else None

    @cached_property
    def _output_file(self) -> Path | None:
        """The output, if it is a file that other processes might write as well."""
        if self.output is None or str(self.output) == STANDARD_STREAM or is_pipe_or_device(Path(self.output)):
            return None
        return Path(self.output)

    def note_refused(self, error: InputError) -> None:
        """Raise the error of a text that is refused, or note it, as for rows that are malformed."""
        if self.keep_refused or self.folder is not None:
            self.refused.note(error, "skip")
        else:
            self.inputs.report.note(error, self.inputs.on_error)

    def fingerprint(self, format_name: str | None) -> dict[str, object]:
        """What must not change when the output is resumed. The input is compared with the records themselves."""
        parser, _, folder = (self.labeller.parser or BUILTIN_PARSER).partition(":")
        return {
            "--format": format_name,
            "--column": self.column,
            "--prefix": self.prefix,
            "--phrases": self.phrases,
            "--head-weights": self.head_weights,
            "--guard-formulas": self.guard_formulas,
            # Not there in the settings of outputs that were started before there were these options.
            **({"--errors": True} if self.errors else {}),
            **({"--score": True} if self.score else {}),
            **({"--nodes": self.nodes} if self.nodes != "all" else {}),
            **({"--labels": self.labeller.labels} if self.labeller.labels else {}),
            **({"--warnings": True} if self.warnings else {}),
            "--one-sentence": self.labeller.one_sentence,
            "--limit": self.labeller.limits.as_dict(),
            "--precision": self.labeller.precision,
            "--encoding": self.inputs.encoding,
            "--model": str(self.labeller.model),
            "checksum of the model": _model_checksum(self.labeller.model),
            "--parser": self.labeller.parser,
            "checksum of the parser": _model_checksum(folder or "parser")
            if parser == BUILTIN_PARSER
            else None,
        }


def _model_checksum(name: str | Path) -> str:
    """A checksum of a model's config.json, which in format 2 holds those of its weights."""
    from lexitree.saving.model_folder import CONFIG_FILE, ModelFolder, checksum

    folder = ModelFolder.find(name)
    return " ".join(checksum(each.path / CONFIG_FILE) for each in dict.fromkeys((folder, folder.weights)))
