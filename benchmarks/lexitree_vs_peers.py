"""Compare training speed with other tree LSTM libraries; results are checked first.

    python benchmarks/lexitree_vs_peers.py                 # real SST trees, through LEXITREE_DATA
    python benchmarks/lexitree_vs_peers.py --corpus mini-reviews --threads 2
    python benchmarks/lexitree_vs_peers.py --occasions 4 --busy-cores 0 1 --output results/lexitree-vs-peers.json

The peers are DyNet with automatic batching, DGL's message passing and pytorch-tree-lstm. Each is installed from
the package index, pinned, into an environment of its own in a cache folder; one that cannot be installed is
reported as absent. DyNet and DGL run the n-ary cell of Tai et al. (2015), pytorch-tree-lstm the child-sum cell,
each against the same cell here, on the same trees, weights and loss. The gate compares the loss and the gradient
of every weight on the first batch with a recursion in float64 before anything is timed, and every timed run's loss
with this package's.

What is timed (see peer_systems.py) goes from trees prepared one by one to the gradients of all weights: batching
or graph building, look-up of words (with sparse gradients everywhere), cell, loss at every node, backward; no
update. All systems run the same batches in turns, in rounds, so that a busy machine slows all; the ratio of an
occasion is the median over the rounds of (seconds of the peer / seconds of lexitree in the same round). On each
occasion all processes are started anew, on an idle machine or beside cores that are kept busy, and the rows have the
median, the lowest and the highest ratio of the occasions: rounds of one occasion vary less than occasions do.

With more than one thread turns are not enough: threads that wait for one another suffer out of proportion from any
other program, and those of systems with many small operations most, so `--threads 2` needs a machine with free cores.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

import lexitree
from environment import corpus_files, describe_run
from lexitree.batch.tree_examples import make_examples
from lexitree.corpora.named import load_corpus
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.word_table import WordTable
from peer_environments import PEERS, AbsentPeerError, Peer, Worker, default_cache, prepare
from peer_systems import NO_WORD, PlainTree, make_weights, read_arrays, write_arrays, write_trees

TREE_FILE = "trees.jsonl"
GATE_TOLERANCE = 1e-4
"""Relative, for float32: the largest difference of a gradient over the largest entry of the true one."""

SYSTEMS = Path(__file__).with_name("peer_systems.py")
SOURCE = Path(lexitree.__file__).parent.parent
"""The workers measure the very package that this program imports."""

_KEY = ("busy_cores", "cell", "batch_size", "system")
"""What tells the rows of one occasion from each other."""

OURS = "lexitree"
LEVELWISE = "lexitree, level-wise"
"""The same package without its native kernels: what these gain."""


def main() -> None:
    options = parse_options()
    trees, num_words, classes = read_corpus(options)
    absent: dict[str, str] = {}
    versions: dict[str, dict[str, str]] = {}
    occasions: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        write_trees(Path(folder) / TREE_FILE, trees)
        for number in range(options.occasions):
            # By turns, so that what else happens to the machine meets both alike.
            for num_busy in options.busy_cores:
                time.sleep(options.pause if occasions else 0)
                before = load_average()
                with busy_cores(num_busy):
                    rows = measure_all(trees, num_words, classes, Path(folder), options, absent, versions)
                rows = [{"busy_cores": num_busy, **row} for row in rows]
                occasions.append({"number": number + 1, "load_average_before": before, "rows": rows})
    rows = combine([occasion["rows"] for occasion in occasions])
    for num_busy in options.busy_cores:
        print(f"{options.occasions} occasions beside {num_busy} busy cores:")
        print_table([row for row in rows if row["busy_cores"] == num_busy], absent, options)
    if options.output:
        write_record(rows, occasions, absent, versions, options)


def measure_all(
    trees: list[PlainTree],
    num_words: int,
    classes: int,
    folder: Path,
    options: argparse.Namespace,
    absent: dict[str, str],
    versions: dict[str, dict[str, str]],
) -> list[dict[str, Any]]:
    """The rows of one occasion: both cells, all batch sizes, with processes of their own."""
    rows: list[dict[str, Any]] = []
    for cell in ("n-ary", "child-sum"):
        peers = [peer for peer in PEERS if peer.cell == cell and peer.name in options.peers]
        if not peers:
            continue
        weights = make_weights(cell, num_words, options.word_size, options.hidden, classes, options.seed)
        weight_file = folder / f"{cell}.npz"
        write_arrays(weight_file, weights)
        arguments = [str(folder / TREE_FILE), str(weight_file), "--cell", cell]
        workers = start_workers(peers, arguments, options, absent)
        try:
            errors = run_gate(workers, cell, trees[: options.gate_trees], weights, folder)
            for batch_size in options.batch_sizes:
                rows += measure(workers, cell, batch_size, len(trees), errors, options)
            versions |= {worker.name: worker.versions for worker in workers}
        finally:
            for worker in workers:
                worker.close()
    return rows


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [peer.name for peer in PEERS]
    parser.add_argument("--corpus", default="sst")
    parser.add_argument("--peers", nargs="+", choices=names, default=names)
    parser.add_argument("--batch-sizes", nargs="+", type=int, default=[1, 25, 128])
    parser.add_argument("--threads", type=int, default=1, help="of each system that can use them")
    parser.add_argument("--rounds", type=int, default=12, help="best a multiple of the systems: see measure")
    parser.add_argument(
        "--trees", type=int, default=128, help="trees a round, in as many batches as it takes"
    )
    parser.add_argument("--occasions", type=int, default=1, help="of each load; processes are started anew")
    parser.add_argument(
        "--busy-cores", nargs="+", type=int, default=[0], help="loads: how many cores other work keeps busy"
    )
    parser.add_argument("--pause", type=float, default=20, help="seconds between two occasions")
    parser.add_argument("--gate-trees", type=int, default=25)
    parser.add_argument("--word-size", type=int, default=300)
    parser.add_argument("--hidden", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where the environments are kept")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    return parser.parse_args()


def read_corpus(options: argparse.Namespace) -> tuple[list[PlainTree], int, int]:
    """The trees of all rounds, binary and with every node labelled, the number of words and that of classes."""
    corpus = load_corpus(options.corpus)
    trees = corpus.train[: max(options.trees * options.rounds, max(options.batch_sizes))]
    lexicon = WordTable.random(Vocabulary.from_trees(trees), 1)
    examples = make_examples(trees, lexicon, labels=corpus.label_set.trained_ids, direction="right")
    plain: list[PlainTree] = []
    for example in examples:
        words = np.full(example.num_nodes, NO_WORD)
        words[example.binary.tree.leaves] = example.word_index
        if (example.label_index < 0).any():
            raise SystemExit(
                f"{options.corpus} has nodes without a label; this comparison needs one on every node"
            )
        children = [list(nodes) for nodes in example.binary.tree.children]
        plain.append(PlainTree(children, words.tolist(), example.label_index.tolist()))
    num_words = 1 + max(max(tree.words) for tree in plain)
    return plain, num_words, len(corpus.label_set.trained_ids)


def start_workers(
    peers: list[Peer], arguments: list[str], options: argparse.Namespace, absent: dict[str, str]
) -> list[Worker]:
    """This package's two workers first, then those of the peers that can be had; the others are noted as absent."""
    command = [sys.executable, str(SYSTEMS), "lexitree", *arguments]
    workers = [
        Worker(name, [*command, "--backend", backend], options.threads, python_path=SOURCE)
        for name, backend in ((OURS, "auto"), (LEVELWISE, "levelwise"))
    ]
    for peer in peers:
        try:
            command = [str(prepare(peer, options.cache)), str(SYSTEMS), peer.name, *arguments]
            workers.append(Worker(peer.name, command, min(options.threads, peer.threads or options.threads)))
        except AbsentPeerError as reason:
            absent[peer.name] = str(reason)
    return workers


def run_gate(
    workers: list[Worker], cell: str, trees: list[PlainTree], weights: dict[str, Any], folder: Path
) -> dict[str, float]:
    """The largest relative error of each system, in the loss and in the gradient of any weight."""
    loss, gradients = run_recursion(cell, trees, weights)
    errors: dict[str, float] = {}
    for worker in workers:
        file = folder / f"{worker.name}-{cell}-gradients.npz"
        _, found_loss = worker.run([list(range(len(trees)))], gradients=file)
        found = read_arrays(file)
        parts = [relative_error(found[name], true) for name, true in gradients.items()]
        errors[worker.name] = max([*parts, abs(found_loss - loss) / abs(loss)])
        if not errors[worker.name] <= GATE_TOLERANCE:
            problem = f"{worker.name} is off by {errors[worker.name]:.1e} in the {cell} cell"
            raise SystemExit(f"{problem}; no speed is reported")
    return errors


def run_recursion(
    cell: str, trees: Sequence[PlainTree], weights: dict[str, Any]
) -> tuple[float, dict[str, Any]]:
    """The loss of the trees and its gradient by every weight."""
    w = {
        name: torch.tensor(array, dtype=torch.float64, requires_grad=True) for name, array in weights.items()
    }
    update = _update_nary if cell == "n-ary" else _update_child_sum
    states: list[Tensor] = []
    for tree in trees:
        h: list[Tensor] = [torch.empty(0)] * len(tree.words)
        c = list(h)
        for node in reversed(range(len(tree.words))):
            x = w["embedding"][tree.words[node]]  # -1, the last row, stands for phrases
            children = [(h[child], c[child]) for child in tree.children[node]]
            assert (tree.words[node] == NO_WORD) == bool(children)
            h[node], c[node] = update(x, children, w)
        states += h
    labels = torch.tensor([label for tree in trees for label in tree.labels])
    loss = cross_entropy(torch.stack(states) @ w["output"].t() + w["output_bias"], labels, reduction="sum")
    loss.backward()
    return loss.item(), {name: weight.grad.numpy() for name, weight in w.items() if weight.grad is not None}


def _update_nary(
    x: Tensor, children: list[tuple[Tensor, Tensor]], w: dict[str, Tensor]
) -> tuple[Tensor, Tensor]:
    hidden = w["h"].shape[1] // 2
    if not children:
        i, g, o = (w["x"] @ x + w["bias"][2 * hidden :]).chunk(3)
        c = i.sigmoid() * g.tanh()
    else:
        (h_l, c_l), (h_r, c_r) = children
        f_l, f_r, i, g, o = (w["h"] @ torch.cat([h_l, h_r]) + w["bias"]).chunk(5)
        c = i.sigmoid() * g.tanh() + f_l.sigmoid() * c_l + f_r.sigmoid() * c_r
    return o.sigmoid() * c.tanh(), c


def _update_child_sum(
    x: Tensor, children: list[tuple[Tensor, Tensor]], w: dict[str, Tensor]
) -> tuple[Tensor, Tensor]:
    W_f, W_i, W_g, W_o = w["x"].chunk(4)
    U_f, U_i, U_g, U_o = w["h"].chunk(4)
    b_f, b_i, b_g, b_o = w["bias"].chunk(4)
    h_sum = sum((h for h, _ in children), torch.zeros(U_f.shape[0], dtype=x.dtype))
    i = (W_i @ x + U_i @ h_sum + b_i).sigmoid()
    g = (W_g @ x + U_g @ h_sum + b_g).tanh()
    o = (W_o @ x + U_o @ h_sum + b_o).sigmoid()
    c = i * g
    for h_k, c_k in children:
        c = c + (W_f @ x + U_f @ h_k + b_f).sigmoid() * c_k
    return o * c.tanh(), c


def relative_error(found: Any, true: Any) -> float:
    if found.shape != true.shape:
        return float("inf")
    return float(np.abs(found - true).max() / np.abs(true).max())


def measure(
    workers: list[Worker],
    cell: str,
    batch_size: int,
    num_trees: int,
    errors: dict[str, float],
    options: argparse.Namespace,
) -> list[dict[str, Any]]:
    """One row a system: trees a second and the ratio to this package, from rounds in which all take turns."""
    size = max(options.trees, batch_size) // batch_size * batch_size
    seconds: dict[str, list[float]] = {worker.name: [] for worker in workers}
    for number in range(-1, options.rounds):
        first = max(number, 0) * options.trees
        chosen = [(first + k) % num_trees for k in range(size)]
        batches = [chosen[k : k + batch_size] for k in range(0, size, batch_size)]
        # Who runs first in a round was seen to lose some percent: the systems take that place by turns.
        turn = number % len(workers)
        losses: dict[str, float] = {}
        for worker in workers[turn:] + workers[:turn]:
            time, losses[worker.name] = worker.run(batches)
            if number >= 0:  # the round before the first is the warm-up
                seconds[worker.name].append(time)
        check_losses(losses)
    return [
        {
            "cell": cell,
            "batch_size": batch_size,
            "system": worker.name,
            "gate_error": errors[worker.name],
            "trees_per_second": size / statistics.median(seconds[worker.name]),
            **describe_ratio(seconds[worker.name], seconds[OURS]),
        }
        for worker in workers
    ]


def check_losses(losses: dict[str, float]) -> None:
    for name, loss in losses.items():
        if not abs(loss - losses[OURS]) <= GATE_TOLERANCE * abs(losses[OURS]):
            raise SystemExit(f"{name} and {OURS} differ in a timed run: {loss} and {losses[OURS]}")


def describe_ratio(theirs: list[float], ours: list[float]) -> dict[str, float]:
    ratios = [their / our for their, our in zip(theirs, ours, strict=True)]
    return {"ratio": statistics.median(ratios), "lowest_ratio": min(ratios), "highest_ratio": max(ratios)}


@contextmanager
def busy_cores(number: int) -> Generator[None]:
    """Keep so many cores busy with other work meanwhile."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_work_for_ever, daemon=True) for _ in range(number)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _work_for_ever() -> None:
    number = 1
    while True:
        number = number * 6364136223846793005 % (1 << 64)


def load_average() -> float:
    """How many processes wanted to run in the last minute, before the measurement adds its own."""
    return os.getloadavg()[0]


def combine(occasions: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """One row a system from all occasions: the median, with the lowest and the highest ratio of an occasion."""
    by_key: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for rows in occasions:
        for row in rows:
            by_key.setdefault(tuple(row[name] for name in _KEY), []).append(row)
    return [_combine_rows(key, rows) for key, rows in by_key.items()]


def _combine_rows(key: tuple[Any, ...], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    ratios = [row["ratio"] for row in rows]
    # Of a single occasion there are its rounds.
    bounds = ratios if len(rows) > 1 else [rows[0]["lowest_ratio"], rows[0]["highest_ratio"]]
    return {
        **dict(zip(_KEY, key, strict=True)),
        "gate_error": max(row["gate_error"] for row in rows),
        "trees_per_second": statistics.median(row["trees_per_second"] for row in rows),
        "ratio": statistics.median(ratios),
        "lowest_ratio": min(bounds),
        "highest_ratio": max(bounds),
        "occasions": len(rows),
    }


def print_table(rows: list[dict[str, Any]], absent: dict[str, str], options: argparse.Namespace) -> None:
    print(f"{'cell':<11}{'batch':>6}  {'system':<21}{'trees/s':>9}{'ratio':>9}   over the rounds    gate")
    for row in rows:
        spread = f"{row['lowest_ratio']:.2f} to {row['highest_ratio']:.2f}"
        print(
            f"{row['cell']:<11}{row['batch_size']:>6}  {row['system']:<21}{row['trees_per_second']:>9.0f}"
            f"{row['ratio']:>8.2f}x   {spread:<18} {row['gate_error']:.0e}"
        )
    for name, reason in absent.items():
        print(f"{name} is absent, so nothing is said about it: {reason}")
    threads = "thread" if options.threads == 1 else "threads (DyNet has one)"
    print(f"ratio: seconds of the system / seconds of lexitree; {options.threads} {threads}")


def write_record(
    rows: list[dict[str, Any]],
    occasions: list[dict[str, Any]],
    absent: dict[str, str],
    versions: dict[str, dict[str, str]],
    options: argparse.Namespace,
) -> None:
    record = {
        **describe_run(corpus_files(options.corpus)),
        "what": "forward and backward of tree LSTMs; ratio: seconds of the system over seconds of lexitree, the"
        " median of the occasions with the lowest and the highest",
        "seeds": [options.seed],
        "threads": options.threads,
        "rounds": options.rounds,
        "trees_a_round": options.trees,
        "word_size": options.word_size,
        "hidden": options.hidden,
        "gate_tolerance": GATE_TOLERANCE,
        "versions": versions,
        "absent": absent,
        "rows": rows,
        "by_occasion": occasions,
    }
    options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
