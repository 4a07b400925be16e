"""Labels files of texts, tables or trees and writes the results: what `lexitree predict` does, as library calls."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexitree.errors import ConfigError, LexitreeError
from lexitree.pipeline.formats import RecordFormat, WholeFormat
from lexitree.pipeline.inputs import InputKind, Inputs, UntilError
from lexitree.pipeline.job_settings import JobSettings
from lexitree.pipeline.part_engine import PartEngine, write_parts_with
from lexitree.pipeline.parts import write_parts
from lexitree.pipeline.resuming import (
    OpenedOutput,
    check_resumable,
    record_ends,
    resume_output,
    settings_file,
)
from lexitree.pipeline.workers import LabellerSettings, handle_refused, open_labeller
from lexitree.trees.brackets import ReadReport
from lexitree.writing import exclusive_lock, open_output

if TYPE_CHECKING:
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
class LabellingJob(JobSettings):
    """Everything about labelling some inputs; `run` does it.

    Raises:
        ConfigError: The settings contradict each other or the inputs. It is raised before a model is loaded.
    """

    engine: PartEngine | None = None
    """What labels the parts of a folder in other processes, on this machine or others."""

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
            # An engine need not be picklable, and the job is sent to its workers.
            job = replace(self, engine=None)
            with self.folder.locked():
                write(job, self.folder, on_progress or (lambda _: None))
            return self.inputs.report
        self._check_engine()
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

    def trees(self) -> Iterator[LabelledTree]:
        """Label all inputs: a labelled tree for each tree, or for each sentence of the texts."""
        self._check_engine()
        self._check_source()
        if self.source == "trees":
            trees = UntilError(self.inputs.trees())
            yield from self.labeller.open_predictor().predict_all(trees, nodes=self.nodes)
            trees.check()
            return
        for document in self._documents():
            yield from document.sentences

    def _check_engine(self) -> None:
        """Refuse an engine that would do nothing."""
        if self.engine is not None:
            raise ConfigError(
                "an engine writes a folder of parts", remedy="Name one: -o FOLDER/ (with the slash)."
            )

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
