"""Labels the parts of a folder in the workers of an engine such as Ray, which distributes them and tries them again.

If a part cannot be labelled, because labelling it raises an error or ends the process, its rows are tried alone, and
those that fail are left without a label and listed in a file beside the part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from lexitree.errors import LexitreeError
from lexitree.pipeline.job_settings import JobSettings
from lexitree.pipeline.part_folder import InputFile, PartFolder
from lexitree.pipeline.part_worker import PartResult, PartTask, PartWorker
from lexitree.pipeline.parts import open_run, open_source
from lexitree.pipeline.workers import CHUNK_ROWS

MAX_FAILED = 1000
"""If more rows than this fail, or chunks of rows, the reason is not in the rows."""

ENDS_PROCESS = "it ends the process that labels it"

RunTasks = Callable[[Sequence[PartTask]], Iterator[PartResult]]
"""Runs tasks in workers, in any order. A task that ends its worker again and again fails with `ENDS_PROCESS`."""

PartEngine = Callable[[PartWorker], AbstractContextManager[RunTasks]]
"""Starts workers, each with a copy of the given one, and ends them with the `with` block."""


def write_parts_with(
    engine: PartEngine, job: JobSettings, folder: PartFolder, on_progress: Callable[[int], object]
) -> None:
    """Label the inputs of a job into a folder, as `write_parts` does, with the workers of an engine.

    Args:
        engine: What runs the workers.
        job: What is labelled, and how.
        folder: The output, which all workers can write to.
        on_progress: Called with the number of texts that were labelled.
    """
    run, missing = open_run(job, folder)
    # Before their rows are counted: a file that changes later does not hold the rows that workers are sent for.
    described = {file: file.describe() for file in missing}
    num_parts: dict[InputFile, int] = {}
    tasks: list[PartTask] = []
    for file in missing:
        with open_source(job, file) as source:
            sizes = source.part_sizes()
        num_parts[file] = len(sizes)
        done = run.done_parts(file)
        tasks += [PartTask(file, part, size) for part, size in enumerate(sizes) if part not in done]

    def note(result: PartResult) -> None:
        run.num_labelled += result.num_labelled
        job.refused.add(result.refused)
        job.failed.add(result.failed)
        on_progress(run.num_labelled)

    starting = engine(PartWorker(job, folder)) if tasks else nullcontext(_run_nothing)
    with starting as run_tasks:
        for file in missing:
            file.check(described[file])
            run.begin(file, described[file])
        _label_tasks(run_tasks, tasks, note)
    for file in missing:
        # Left by workers that were killed.
        folder.remove_unfinished(file.name)
        file.check(described[file])
        run.finish(file, num_parts[file])


def _run_nothing(_: Sequence[PartTask]) -> Iterator[PartResult]:
    return iter(())


def _label_tasks(
    run_tasks: RunTasks, tasks: Sequence[PartTask], note: Callable[[PartResult], object]
) -> None:
    """Label all parts, those with rows that cannot be labelled without these rows."""
    left = _unfinished(run_tasks, tasks, note)
    chunks = _unfinished(run_tasks, [chunk for task in left for chunk in task.pieces(CHUNK_ROWS)])
    if len(chunks) > MAX_FAILED:
        raise _cannot_label(chunks)
    rows = _unfinished(run_tasks, [row for chunk in chunks for row in chunk.pieces(1)])
    if len(rows) > MAX_FAILED:
        raise _cannot_label(rows)
    left = _unfinished(run_tasks, [_without_failed(task, rows) for task in left], note)
    if left:
        raise _cannot_label(left)


def _unfinished(
    run_tasks: RunTasks, tasks: Iterable[PartTask], note: Callable[[PartResult], object] = lambda _: None
) -> dict[PartTask, str]:
    """Run tasks; those that failed, each with the reason."""
    left = dict.fromkeys(tasks, "it has no result")
    if not left:
        return left
    for result in run_tasks(list(left)):
        if result.error is not None:
            raise result.error
        if result.problem:
            left[result.task] = result.problem
        elif left.pop(result.task, None):
            note(result)
    return left


def _without_failed(task: PartTask, rows: Mapping[PartTask, str]) -> PartTask:
    """The task with those rows that failed alone."""
    failed = [
        (row.tried[0], problem)
        for row, problem in rows.items()
        if row.tried and (row.file, row.part) == (task.file, task.part)
    ]
    return replace(task, failed=tuple(failed))


def _cannot_label(tasks: Mapping[PartTask, str]) -> LexitreeError:
    task, problem = next(iter(tasks.items()))
    return LexitreeError(
        f"{task.file.path}: part {task.part} cannot be labelled: {problem}",
        remedy="All other parts are kept. Label this one in one process to see what is wrong, without --engine.",
    )
