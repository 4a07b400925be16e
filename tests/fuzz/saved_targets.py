"""Targets that read what a run or a server left: model folders, checkpoints, and downloads."""

from __future__ import annotations

import hashlib
import io
import math
import shutil
import socket
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from safetensors import SafetensorError

from lexitree.batch.tree_examples import make_examples
from lexitree.cli.models import info_command
from lexitree.corpora.download import fetch_package
from lexitree.corpora.locations import LocalFile, Package, RemoteFile
from lexitree.errors import FileError
from lexitree.learning.checkpoint import CHECKPOINT_FILE
from lexitree.learning.loop import Trainer
from lexitree.models.classifier import TreeClassifier
from lexitree.parsers.neural import NeuralParser
from lexitree.pipeline.predictor import Predictor
from lexitree.saving.model_kinds import load_model, save_model
from lexitree.tasks.classify.recipe import TrainingConfig
from lexitree.tasks.classify.task import ClassifyTask
from tests.fuzz.driver import target, write_case
from tests.fuzz.mutations import Case, zip_bytes
from tests.saving.edited_models import MAKERS, make, seal, seal_checkpoint
from tests.tiny import LABELS, tiny_model, tiny_trees

SEALED = (b"", b"yes", b"yes")
"""Two of three cases get checksums that fit the damage, so that what is behind them is reached as well."""
NOT_SEALABLE = (ValueError, AttributeError, TypeError, KeyError, RecursionError, SafetensorError, FileError)
"""Raised for files that are damaged so much that they have no place for a checksum; they stay as they are."""
TRAINING = {"corpus": "tiny", "dev_root": 0.5, "seed": 1}


def model_folders() -> list[Case]:
    """Every kind of model."""
    found: list[Case] = []
    for kind in MAKERS:
        with tempfile.TemporaryDirectory() as name:
            folder = save_model(make(kind, hidden=4), Path(name) / "model", training=TRAINING)
            files = {path.name: path.read_bytes() for path in folder.iterdir()}
        found += [{**files, "=sealed": sealed} for sealed in SEALED]
    return found


@target("model folders", model_folders, 10)
def check_model(case: Case, folder: Path) -> None:
    source, copy = folder / "source", folder / "copy"
    source.mkdir(exist_ok=True)
    write_case(case, source)
    if case["=sealed"]:
        with suppress(*NOT_SEALABLE):
            seal(source)
    with redirect_stdout(io.StringIO()):
        info_command(str(source))
    model: Any = load_model(source)
    if isinstance(model, TreeClassifier):
        assert Predictor(model).predict(tiny_trees(1)[0]).as_dict(head_weights=True)
    elif isinstance(model, NeuralParser):
        assert model.parse(["a", "b", "c"]).num_words == 3
    shutil.rmtree(copy, ignore_errors=True)
    save_model(model, copy)


def trainer(folder: Path, epochs: int) -> Trainer[Any]:
    model = tiny_model("contree", hidden=4, output=0, dropout=0.0)
    examples = make_examples(tiny_trees(4), model.lexicon, labels=LABELS, direction="right")
    task = ClassifyTask(model, examples, examples, TrainingConfig(epochs=epochs, batch_size=4), {"data": 1})
    return Trainer(task, folder=folder)


def checkpoints() -> list[Case]:
    found: list[Case] = []
    for epochs in (1, 2):
        # Its history holds times, and cases should be the same each time.
        with tempfile.TemporaryDirectory() as name, patch("time.perf_counter", return_value=0.0):
            trainer(Path(name), epochs).run()
            content = (Path(name) / CHECKPOINT_FILE).read_bytes()
        found += [{CHECKPOINT_FILE: content, "=sealed": sealed} for sealed in SEALED]
    return found


@target("checkpoints", checkpoints, 8)
def check_checkpoint(case: Case, folder: Path) -> None:
    write_case(case, folder)
    if case["=sealed"]:
        with suppress(*NOT_SEALABLE):
            seal_checkpoint(folder / CHECKPOINT_FILE)
    result = trainer(folder, epochs=2).run(minutes=0)
    assert math.isfinite(result.best.scores["dev_root"] + result.seconds)


CONTENT = b"(0 (1 good) (0 film))\n" * 10
ARCHIVE = zip_bytes([("train.txt", CONTENT)])


def responses() -> list[Case]:
    """What a server may answer, and what an earlier attempt may have left."""
    found: list[Case] = []
    for body, sealed in ((CONTENT, b""), (ARCHIVE, b"zip")):
        size = len(body)
        heads = (
            f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n",
            f"HTTP/1.0 206 Partial\r\nContent-Range: bytes 0-{size - 1}/{size}\r\nContent-Length: {size}\r\n\r\n",
            "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:9/a\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 416 Range Not Satisfiable\r\n\r\n",
        )
        found += [{"response": head.encode() + body, "part": b"", "=kind": sealed} for head in heads]
        found.append({"response": heads[2].encode() + body, "part": body[:9], "=kind": sealed})
    return found


class HostileServer:
    """Answers every request on this machine with the same bytes, and hangs up."""

    def __init__(self) -> None:
        self.response = b""
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/file"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self.socket.accept()
            with connection, suppress(OSError):
                connection.settimeout(1)
                connection.recv(1 << 16)
                connection.sendall(self.response)


server = cache(HostileServer)


@contextmanager
def this_machine_only() -> Generator[None]:
    """Redirections lead nowhere else."""
    find = socket.getaddrinfo

    def find_here(host: Any, *arguments: Any, **options: Any) -> Any:
        if host != "127.0.0.1":
            raise socket.gaierror(f"{host!r} is not this machine")
        return find(host, *arguments, **options)

    with patch("socket.getaddrinfo", find_here):
        yield


@target("downloads", responses, 25)
def check_download(case: Case, folder: Path) -> None:
    body = ARCHIVE if case["=kind"] else CONTENT
    member = LocalFile("train.txt", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), "train.txt")
    server().response = case["response"]
    remote = RemoteFile(
        server().url, "file", len(body), hashlib.sha256(body).hexdigest(), (member,) if case["=kind"] else ()
    )
    write_case({"file.part": case["part"]} if case["part"] else {}, folder)
    with this_machine_only():
        fetched = fetch_package(Package("a", "a", "a", (remote,)), folder)
    assert [path.read_bytes() for path in fetched.paths] == [CONTENT]
