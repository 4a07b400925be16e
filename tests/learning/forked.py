"""Calls a function in several forked processes that have joined each other, as torchrun's processes do."""

from __future__ import annotations

import multiprocessing
import os
import socket
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import torch

from lexitree.errors import LexitreeError
from lexitree.learning.distributed import OneProcess, join_processes

Outcome = Any
"""What the function returned, or its error, or None if the process was killed."""


def torchrun_variables(rank: int, size: int, port: int) -> dict[str, str]:
    """What torchrun tells a process."""
    numbers = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": size}
    others = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "test"}
    return {name: str(value) for name, value in {**numbers, **others}.items()}


def run_forked(
    size: int, work: Callable[[OneProcess], Any], *, update_seconds: float = 60.0, timeout: float = 300.0
) -> list[Outcome]:
    """The outcome of each process; a forked one starts at once, as it has torch already."""
    context = multiprocessing.get_context("fork")
    port = _free_port()
    started: list[tuple[Any, Connection]] = []
    for rank in range(size):
        ours, theirs = context.Pipe()
        process = context.Process(target=_body, args=(rank, size, port, work, update_seconds, theirs))
        with warnings.catch_warnings():
            # Newer versions of Python warn of forks beside threads; `lexitree.ops.threads` is prepared for them.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        theirs.close()
        started.append((process, ours))
    try:
        return [_receive(ours, timeout) for _, ours in started]
    finally:
        for process, _ in started:
            process.join(1)
            process.kill()
            process.join()


def _receive(end: Connection, timeout: float) -> Outcome:
    assert end.poll(timeout), "the process hangs"
    try:
        return end.recv()
    except EOFError:
        return None


def _body(
    rank: int, size: int, port: int, work: Callable[[OneProcess], Any], update_seconds: float, end: Connection
) -> None:
    torch.set_num_threads(1)
    os.environ.update(torchrun_variables(rank, size, port))
    try:
        with join_processes(update_seconds=update_seconds) as processes:
            end.send(work(processes))
    except LexitreeError as error:
        end.send(error)


def _free_port() -> int:
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return each.getsockname()[1]
