"""Labels files into a folder of parts, and labels only the parts that are missing when a run is repeated.

For the input `data/reviews.parquet`, the folder holds `reviews.parquet/part-00000.parquet` and so on. A part appears
when it is complete. Names that begin with an underscore, which readers of such folders skip, are lexitree's own:
`_lexitree.json` says with which settings the folder was started, and `_input.json`, beside the parts of a file, which
file that was and, when it is done, how many parts it has.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from lexitree.corpora.parquet_files import PARQUET_SUFFIX
from lexitree.corpora.tables import Row
from lexitree.errors import ConfigError, FileError
from lexitree.files import STANDARD_STREAM, plain_suffix
from lexitree.pipeline.formats import OutputSettings, RowFormat
from lexitree.pipeline.inputs import GivenText, InputKind, UntilError
from lexitree.pipeline.job_settings import JobSettings
from lexitree.pipeline.part_folder import InputFile, PartFolder, find_inputs
from lexitree.pipeline.part_sources import Block, PartSource, RecordParts, open_parquet_parts
from lexitree.pipeline.resuming import refuse_changes
from lexitree.pipeline.workers import RowLabeller, open_labeller

SETTINGS_FILE = "_lexitree.json"
INPUT_FILE = "_input.json"

_PART_NAME = re.compile(r"part-(\d+)\.\w+")
_FAILED_NAME = re.compile(r"_failed-(\d+)\.jsonl")


def write_parts(job: JobSettings, folder: PartFolder, on_progress: Callable[[int], object]) -> None:
    """Label the inputs of a job, which may be patterns such as `data/*.csv`, into a folder.

    Args:
        job: What is labelled, and how.
        folder: The output.
        on_progress: Called with the number of texts that were labelled.
    """
    parts, missing = open_run(job, folder)
    if not missing:
        return
    with open_source(job, missing[0]):
        pass  # What is wrong with the settings is said before a model is loaded.
    with open_labeller(job.labeller, job.num_workers, job.note_refused) as label:
        for file in missing:
            with open_source(job, file) as source:
                parts.write(file, source, label, on_progress)


def open_run(job: JobSettings, folder: PartFolder) -> tuple[PartsRun, list[InputFile]]:
    """Check a folder, which may hold parts already; the run, and the files of which something is missing."""
    files = _find_files(job, folder)
    parts = PartsRun(folder, {**job.fingerprint(job.format), "--part-rows": job.part_rows})
    parts.check_folder()
    for inner in ("", *(file.name for file in files)):
        folder.remove_unfinished(inner)
    return parts, [file for file in files if not parts.is_complete(file)]


def _find_files(job: JobSettings, folder: PartFolder) -> list[InputFile]:
    """The files that the inputs name, without those of the output folder itself."""
    by_name: dict[str, InputFile] = {}
    for argument in job.inputs.arguments:
        if isinstance(argument, GivenText) or str(argument) == STANDARD_STREAM:
            raise ConfigError("a folder is for files of texts", remedy="Use an output file: -o FILE.jsonl")
        for file in find_inputs(argument):
            if folder.holds(file.path):
                continue
            other = by_name.setdefault(file.name, file)
            if other.path != file.path:
                raise ConfigError(
                    f"{other.path} and {file.path} would have the same name in the folder",
                    remedy="Give both as one pattern, in quotes, such as 'data/*/reviews.csv'.",
                )
    return list(by_name.values())


@contextmanager
def open_source(job: JobSettings, file: InputFile) -> Generator[PartSource]:
    """Open a file to be read part by part."""
    if plain_suffix(file.path) == PARQUET_SUFFIX:
        with open_parquet_parts(file.path, _parquet_settings(job, file)) as source:
            yield source
        return
    # An empty file would count as trees.
    kind: InputKind = job.inputs.kind if file.describe()["size"] else "text"
    inputs = replace(job.inputs, arguments=[file.path], kind=kind)
    alone = replace(job, inputs=inputs, output=None, resume=False, keep_refused=True)
    if alone.source == "trees":
        raise ConfigError(f"{file.path} holds trees", remedy="Label them into a file: -o FILE.jsonl")
    yield RecordParts(alone.output_format, alone.rows, job.part_rows)


def _parquet_settings(job: JobSettings, file: InputFile) -> OutputSettings:
    if job.column is None:
        raise ConfigError(f"{file.path}: which column holds the texts?", remedy="Name it with --column.")
    options = {
        "--format": job.format is not None,
        "--guard-formulas": job.guard_formulas,
        "--head-weights": job.head_weights,
        "--nodes": job.nodes != "all",
    }
    wrong = next((option for option, is_given in options.items() if is_given), None)
    if wrong:
        raise ConfigError(f"{wrong} is not for Parquet", remedy="Omit it: Parquet stays Parquet.")
    return OutputSettings(
        job.column,
        prefix=job.prefix,
        phrases=job.phrases,
        score=True,
        errors=job.errors,
        warnings=job.warnings,
        keeps_refused=True,
    )


@dataclass
class PartsRun:
    """A run that labels files into a folder; the parts that are there already are left alone."""

    folder: PartFolder
    fingerprint: Mapping[str, Any]
    """The settings and the model, which must be those that the folder was started with."""
    num_labelled: int = 0
    """How many texts were labelled."""

    def check_folder(self) -> None:
        """Raise an error if the folder holds something else than what such a run has written."""
        names = self.folder.names()
        if SETTINGS_FILE in names:
            refuse_changes(self.folder.place, self.folder.read_json(SETTINGS_FILE), self.fingerprint)
        elif names:
            raise FileError(
                self.folder.place,
                f"holds other files, and no {SETTINGS_FILE}",
                remedy="Use an empty or a new folder for the output.",
            )

    def is_complete(self, file: InputFile) -> bool:
        """Whether all parts of a file are there.

        Raises:
            FileError: The file has changed since some of it was labelled.
        """
        names = self.folder.names(file.name)
        if INPUT_FILE not in names:
            return False
        known = self.folder.read_json(f"{file.name}/{INPUT_FILE}")
        num_parts, num_done = known.pop("parts", None), len(_part_numbers(names))
        if known != file.describe() and num_done:
            raise FileError(
                file.path,
                "has changed since it was labelled, or partly labelled",
                remedy=f"Remove {self.folder.path(file.name)} to label it anew, or use another output folder.",
            )
        return num_parts == num_done

    def write(
        self, file: InputFile, source: PartSource, label: RowLabeller, on_progress: Callable[[int], object]
    ) -> None:
        """Label the parts of a file that are missing.

        Args:
            file: The file.
            source: The same, open.
            label: What labels its rows.
            on_progress: Called with the number of texts that were labelled so far.
        """
        self.begin(file, file.describe())
        done = self.done_parts(file)
        blocks = source.blocks(done)
        for first in blocks:
            with (
                self.folder.new_file(part_name(file, first.part, source)) as path,
                source.open_part(path) as write,
            ):
                for block, records in label_part(chain([first], blocks), source.output_format, label):
                    write(block, records)
                    self.num_labelled += len(records)
                    on_progress(self.num_labelled)
            done.add(first.part)
        self.finish(file, len(done))

    def done_parts(self, file: InputFile) -> set[int]:
        """The numbers of the parts of a file that are there already."""
        return _part_numbers(self.folder.names(file.name))

    def begin(self, file: InputFile, described: Mapping[str, str | int]) -> None:
        """Note that a file is being labelled, and what it was like when its rows were counted or first read.

        Lists of rows that failed are removed if their parts are, which are labelled anew.

        Not to be called before its columns were found to be there: a mistyped command leaves nothing behind.
        """
        if SETTINGS_FILE not in self.folder.names():
            self.folder.write_json(SETTINGS_FILE, self.fingerprint)
        self.folder.write_json(f"{file.name}/{INPUT_FILE}", described)
        names = self.folder.names(file.name)
        for part in _part_numbers(names, _FAILED_NAME) - _part_numbers(names):
            self.folder.remove(failed_name(file, part))

    def finish(self, file: InputFile, num_parts: int) -> None:
        """Note that all parts of a file are there."""
        name = f"{file.name}/{INPUT_FILE}"
        # As it was when it was begun: it may have changed meanwhile.
        self.folder.write_json(name, {**self.folder.read_json(name), "parts": num_parts})


def part_name(file: InputFile, part: int, source: PartSource) -> str:
    """The name of a part in the folder."""
    return f"{file.name}/part-{part:05}{source.suffix}"


def failed_name(file: InputFile, part: int) -> str:
    """The name of the list of a part's rows that could not be labelled."""
    return f"{file.name}/_failed-{part:05}.jsonl"


def label_part(
    blocks: Iterator[Block], output_format: RowFormat[Any], label: RowLabeller
) -> Iterator[tuple[Block, list[Any]]]:
    """The blocks of one part with their records.

    Each part is a stream of its own: what else is in a batch changes the last digits, and a part that is labelled
    after an interruption is to be the same.
    """
    waiting = deque[Block]()

    def rows() -> Iterator[Row]:
        for block in blocks:
            waiting.append(block)
            yield from block.rows
            if block.is_last:
                return

    given, records = UntilError(rows()), list[Any]()
    for record in label(given, output_format):
        records.append(record)
        if len(records) == len(waiting[0].rows):
            yield waiting.popleft(), records
            records = []
    given.check()


def _part_numbers(names: Iterable[str], pattern: re.Pattern[str] = _PART_NAME) -> set[int]:
    return {int(found[1]) for name in names if (found := pattern.fullmatch(name))}
