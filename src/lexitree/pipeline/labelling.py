"""Labels files of texts, tables or trees and writes the results: what `lexitree predict` does, as library calls."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lexitree.corpora.parquet_files import PARQUET_SUFFIX
from lexitree.errors import ConfigError, InputError, LexitreeError, Place
from lexitree.files import STANDARD_STREAM, plain_suffix
from lexitree.limits import Limits
from lexitree.pipeline import PART_ROWS
from lexitree.pipeline.formats import OutputSettings, RecordFormat, Source, WholeFormat
from lexitree.pipeline.inputs import InputKind, Inputs, UntilError
from lexitree.pipeline.known_formats import format_name, open_format
from lexitree.pipeline.part_engine import PartEngine, write_parts_with
from lexitree.pipeline.part_folder import PartFolder, is_folder_name
from lexitree.pipeline.parts import write_parts
from lexitree.pipeline.resuming import (
    OpenedOutput,
    check_resumable,
    record_ends,
    resume_output,
    settings_file,
)
from lexitree.pipeline.workers import LabellerSettings, handle_refused, open_labeller
from lexitree.saving.shipped import BUILTIN_PARSER
from lexitree.trees.brackets import ReadReport
from lexitree.writing import exclusive_lock, is_pipe_or_device, open_output

if TYPE_CHECKING:
    from lexitree.corpora.tables import Row
    from lexitree.errors import OnError
    from lexitree.results.document import Document
    from lexitree.results.labelled_tree import LabelledTree

OnProgress = Callable[[int], object]
"""Called with the number of texts that are done, first with those of a resumed run."""


def label_file(
    source: str | Path,
    output: str | Path | None = None,
    *,
    input_kind: InputKind = "auto",
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    labeller: LabellerSettings | None = None,
    **settings: Any,
) -> ReadReport:
    """Label a file of texts, a table or a file of trees, as `lexitree predict` does.

        label_file("reviews.csv", "labelled.csv", column="review", resume=True, num_workers=2)

    Args:
        source: The file; `-` is standard input.
        output: The output file; None is standard output.
        input_kind: Whether the file holds trees or text; by default, trees are known by their opening bracket.
        encoding: The encoding of the file.
        on_error: Whether malformed input is an error, or is skipped and reported.
        labeller: The model, its parser and where they run.
        settings: The other fields of `LabellingJob`.

    Returns:
        What was skipped.
    """
    inputs = Inputs([Path(source)], input_kind, encoding, on_error)
    return LabellingJob(inputs, output, labeller or LabellerSettings(), **settings).run()


@dataclass(frozen=True)
class LabellingJob:
    """Everything about labelling some inputs; `run` does it.

    Raises:
        ConfigError: The settings contradict each other or the inputs. It is raised before a model is loaded.
    """

    inputs: Inputs
    output: str | Path | None = None
    """The output file, which appears when it is complete; None or `-` is standard output. A name that ends in a
    slash, a folder, or an address such as `s3://bucket/out` is a folder of parts; see `parts`."""
    labeller: LabellerSettings = field(default_factory=LabellerSettings)
    """The model, its parser and where they run."""
    format: str | None = None
    """The output format (see `formats`); by default, the ending of the output file decides."""
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
    """Whether to label all phrases of trees, or whole sentences only."""
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
    engine: PartEngine | None = None
    """What labels the parts of a folder in other processes, on this machine or others."""
    failed: ReadReport = field(default_factory=ReadReport)
    """The texts that no worker of the engine could label."""

    def __post_init__(self) -> None:
        if self.head_weights:
            object.__setattr__(self, "labeller", replace(self.labeller, needs_heads=True))
        if self.errors:
            object.__setattr__(self, "keep_refused", True)

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
        if self.source != "trees" and self.nodes == "root":
            raise ConfigError("--nodes root is for trees, and the input is text")
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

    def count_texts(self) -> int | None:
        """The number of texts in all inputs; None if they cannot be read twice, or go to a folder."""
        if self.folder is not None:
            return None
        files = self.inputs.files
        if not all(path.is_file() and path.suffix != ".gz" for path in files):
            return None
        is_csv = bool(self._rows[1])
        # The header of a CSV file is not a text.
        return sum(sum(1 for _ in record_ends(path, quoted=is_csv)) - is_csv for path in files)

    def run(self, on_progress: OnProgress | None = None) -> ReadReport:
        """Label all inputs and write the results.

        Args:
            on_progress: Called after each text.

        Returns:
            What was skipped.
        """
        if self.folder is not None:
            write = write_parts if self.engine is None else partial(write_parts_with, self.engine)
            with self.folder.locked():
                write(self, self.folder, on_progress or (lambda _: None))
            return self.inputs.report
        if self.engine is not None:
            raise ConfigError(
                "an engine writes a folder of parts", remedy="Name one: -o FOLDER/ (with the slash)."
            )
        output_format = self.output_format
        with exclusive_lock(self._output_file, "writes it") if self._output_file else nullcontext():
            if isinstance(output_format, WholeFormat):
                self._write_whole(output_format)
            elif self.source == "trees":
                with self._open_new() as write:
                    for tree in self.trees():
                        write(output_format.tree_record(tree))
            else:
                self._write_records(output_format, on_progress or (lambda _: None))
        return self.inputs.report

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

    def trees(self) -> Iterator[LabelledTree]:
        """Label all inputs: a labelled tree for each tree, or for each sentence of the texts."""
        self._check_source()
        if self.source == "trees":
            trees = UntilError(self.inputs.trees())
            yield from self.labeller.open_predictor().predict_all(trees, nodes=self.nodes)
            trees.check()
            return
        for document in self._documents():
            yield from document.sentences

    def _documents(self) -> Iterator[Document]:
        if self.num_workers > 1:
            raise ConfigError(
                "--jobs is for records, one after the other, not for pictures, pages and trees on the screen",
                remedy="Use --format json, table, csv or brackets, or omit --jobs.",
            )
        with self.labeller.open_pipeline() as pipe:
            rows = UntilError(self.rows)
            results = (result for result, _ in self.labeller.documents(pipe, rows))
            yield from handle_refused(results, self.note_refused)
            rows.check()

    def note_refused(self, error: InputError) -> None:
        """Raise the error of a text that is refused, or note it, as for rows that are malformed."""
        if self.keep_refused or self.folder is not None:
            self.refused.note(error, "skip")
        else:
            self.inputs.report.note(error, self.inputs.on_error)

    def _write_whole(self, output_format: WholeFormat) -> None:
        with self._open_new() as write:
            if self.source == "trees":
                write(output_format.tree_file(list(self.trees())))
            else:
                write(output_format.text_file(list(self._documents())))

    def _write_records(self, output_format: RecordFormat, on_progress: OnProgress) -> None:
        with (
            open_labeller(self.labeller, self.num_workers, self.note_refused) as label,
            self._open_records(output_format) as opened,
        ):
            on_progress(opened.num_done)
            rows = UntilError(opened.rows)
            for number, record in enumerate(label(rows, output_format), opened.num_done + 1):
                opened.write(record)
                on_progress(number)
            rows.check()

    @contextmanager
    def _open_records(self, output_format: RecordFormat) -> Generator[OpenedOutput]:
        """The output, and the rows that are to be written to it."""
        rows, inputs = self.rows, self.inputs
        if self.resume:
            fingerprint = self.fingerprint(output_format.name)
            with resume_output(
                self.output, output_format, rows, fingerprint, on_error=inputs.on_error, report=inputs.report
            ) as opened:
                yield opened
        else:
            with self._open_new(flush=True) as write:
                write(output_format.opening())
                try:
                    yield OpenedOutput(write, rows, 0)
                except LexitreeError as error:
                    with suppress(ConfigError):
                        check_resumable(self.output, output_format)
                        kept = "with --resume, the records before an error are kept"
                        error.remedy = f"{error.remedy}\n{self.output} was not written; {kept}.".lstrip()
                    raise

    @contextmanager
    def _open_new(self, *, flush: bool = False) -> Generator[Callable[[str], object]]:
        """The output, which is replaced when all is written."""
        with open_output(self.output, flush=flush) as write:
            yield write
            if self._output_file:
                # They are those of the old file, which is about to be replaced.
                settings_file(self._output_file).unlink(missing_ok=True)

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
