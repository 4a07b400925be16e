"""Extrapolate from measured costs to a very large corpus on many nodes, as tables of the page about scale.

    python scripts/scale_tables.py                                        # with the assumptions of the page
    python scripts/scale_tables.py --nodes 20 --cpu-node-price 0.5        # with your own

The costs are those of results/scale-costs.json (one core) and results/scale-costs-gpu.json (one GPU). While there
is none of a GPU, results/gpu-speed.json gives an upper bound: the classifier alone, for trees that are parsed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from record_tables import NOT_MEASURED, rows_table
from result_records import read_record

Row = dict[str, Any]
Costs = Mapping[str, Any]
"""The record of paper/benchmarks/scale_costs.py."""

OUTPUTS = ("labels", "labels and phrases")


@dataclass(frozen=True)
class Plan:
    """What is assumed: nothing of it was measured."""

    sentences: int = field(default=10**9, metadata={"about": "sentences of about the lengths of SST's"})
    nodes: int = field(default=100, metadata={"about": "nodes of one kind"})
    cores: int = field(default=16, metadata={"about": "cores of a node, with a worker on each"})
    gpus: int = field(default=1, metadata={"about": "GPUs of a GPU node, with a worker on each"})
    engine_share: float = field(
        default=0.75, metadata={"about": "what an engine leaves of the speed of plain processes"}
    )
    core_share: float = field(
        default=0.8, metadata={"about": "what a core does while all others of its node are busy, too"}
    )
    store_gigabytes: float = field(
        default=10.0, metadata={"about": "gigabytes per second that the store reads or writes for all nodes"}
    )
    part_sentences: int = field(default=20_000, metadata={"about": "sentences of a part"})
    cpu_node_price: float = field(default=0.80, metadata={"about": "price of a CPU node per hour"})
    gpu_node_price: float = field(default=4.00, metadata={"about": "price of a GPU node per hour"})

    @property
    def workers(self) -> int:
        """On the cores of all nodes."""
        return self.nodes * self.cores

    def node_rate(self, core_rate: float) -> float:
        """Sentences per second of a node whose cores label so many each."""
        return core_rate * self.cores * self.core_share * self.engine_share


def plan_rows(plan: Plan, costs: Costs, gpu: Costs | None, *, gpu_note: str = "") -> Iterator[Row]:
    """How long it takes and what it costs, by what is written and by the kind of the nodes."""
    for output in OUTPUTS:
        rate = plan.node_rate(_find(costs, "rates", "output", output)["sentences_per_second"])
        yield _plan_row(plan, costs, output, f"{plan.cores} cores", rate, plan.cpu_node_price)
        if gpu:
            rate = _find(gpu, "rates", "output", output)["sentences_per_second"]
            rate *= plan.gpus * plan.engine_share
            yield _plan_row(plan, costs, output, f"GPUs: {plan.gpus}{gpu_note}", rate, plan.gpu_node_price)


def classifier_bound(speed: Costs | None) -> Costs | None:
    """The speed of the classifier alone on a GPU, as the rates of a record of costs."""
    if speed is None:
        return None
    rows = [row for row in speed["inference"] if (row["backend"], row["precision"]) == ("fused", "float32")]
    rate = max(row["trees_per_second"] for row in rows)
    return {"rates": [{"output": output, "sentences_per_second": rate} for output in OUTPUTS]}


def _plan_row(plan: Plan, costs: Costs, output: str, node: str, rate: float, price: float) -> Row:
    hours = plan.sentences / (rate * plan.nodes) / 3600
    given, made = (_find(costs, "tables", "table", table)["parquet_bytes"] for table in ("input", output))
    cost = hours * plan.nodes * price
    return {
        "output": output,
        "node": node,
        "sentences_per_second_and_node": rate,
        "hours": hours,
        "gigabytes_read": plan.sentences * given / 1e9,
        "gigabytes_written": plan.sentences * made / 1e9,
        "cost": cost,
        "cost_per_million": cost / plan.sentences * 1e6,
    }


def limit_rows(plan: Plan, costs: Costs, output: str = OUTPUTS[-1]) -> Iterator[Row]:
    """How long each part of the work takes on CPU nodes, as if there were nothing else, and when it takes over."""
    given, made = (_find(costs, "tables", "table", table) for table in ("input", output))
    rate = plan.node_rate(_find(costs, "rates", "output", output)["sentences_per_second"])
    each = plan.sentences / (plan.workers * plan.core_share)
    slowest = max(row["milliseconds_per_sentence"] for row in costs["lengths"])
    seconds = {
        "labelling": plan.sentences / (rate * plan.nodes),
        "sending rows between Python and the engine": each
        * 1e-6
        * sum(table[step] for table in (given, made) for step in ("sending_µs", "receiving_µs")),
        "reading and writing Parquet": each * 1e-6 * (given["reading_µs"] + made["writing_µs"]),
        "the store": plan.sentences
        * (given["parquet_bytes"] + made["parquet_bytes"])
        / (plan.store_gigabytes * 1e9),
        "the start of the workers": costs["starts"][0]["processor_seconds"] / plan.core_share,
        "a last part of long sentences only": plan.part_sentences * slowest * 1e-3 / plan.core_share,
    }
    grows = {"the store", "the start of the workers", "a last part of long sentences only"}
    for name, value in seconds.items():
        # These do not shrink with the number of nodes, so more nodes let them take over.
        nodes = int(plan.nodes * seconds["labelling"] / value) if name in grows else None
        yield {
            "work": name,
            "seconds": value,
            "labelling_share": value / seconds["labelling"],
            "as_long_as_labelling_at_nodes": nodes,
        }


def _find(record: Costs, table: str, column: str, value: str) -> Mapping[str, Any]:
    return next(row for row in record[table] if row[column] == value)


def render_scale_plan(plan: Plan | None = None) -> str:
    """Hours and costs."""
    costs, gpu, note = read_record("scale-costs"), read_record("scale-costs-gpu"), ""
    if gpu is None:
        gpu, note = classifier_bound(read_record("gpu-speed")), ", classifier alone (upper bound)"
    return rows_table([*plan_rows(plan or Plan(), costs, gpu, gpu_note=note)]) if costs else NOT_MEASURED


def render_scale_limits(plan: Plan | None = None) -> str:
    """What limits the speed."""
    costs = read_record("scale-costs")
    return rows_table([*limit_rows(plan or Plan(), costs)]) if costs else NOT_MEASURED


def render_scale_assumptions(plan: Plan | None = None) -> str:
    """What the extrapolation assumes, by the options of this program."""
    values = plan or Plan()
    rows: list[Row] = [
        {
            "option": f"`--{each.name.replace('_', '-')}`",
            "assumed": f"{getattr(values, each.name):,}",
            "what_it_is": each.metadata["about"],
        }
        for each in fields(Plan)
    ]
    return rows_table(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for each in fields(Plan):
        parser.add_argument(
            f"--{each.name.replace('_', '-')}",
            type=type(each.default),
            default=each.default,
            help=f"{each.metadata['about']} (default: %(default)s)",
        )
    plan = Plan(**vars(parser.parse_args()))
    print(render_scale_assumptions(plan), render_scale_plan(plan), render_scale_limits(plan), sep="\n\n")


if __name__ == "__main__":
    main()
