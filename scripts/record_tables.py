"""Tables of what was measured, each from one record or put together from several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markdown_text import DEVIATION, make_table, show_cell, show_percent, show_spread, show_title
from result_records import current_command, read_record

NOT_MEASURED = "*Not measured yet.*"

SCORES = ("dev_root", "dev_phrase", "test_root", "test_phrase")


def render_record(record: Mapping[str, Any], table: str = "") -> str:
    """The figures of a record, or one table of them, and where they come from."""
    parts = [record["what"][0].upper() + record["what"][1:] + "."] if "what" in record and not table else []
    if "runs" in record:
        parts.append(_runs_table(record["runs"]))
    else:
        rows = record[table or "rows"]
        parts.append(rows_table([rows] if isinstance(rows, dict) else rows))
    # Tables of one record may have been measured one by one.
    parts.append(show_origin({**record, **record.get("origins", {}).get(table, {})}))
    return "\n\n".join(parts)


def _runs_table(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """One row a seed, and the mean with the standard deviation."""
    scores = [score for score in SCORES if all(run[score] is not None for run in runs.values())]
    rows = [
        [
            seed,
            str(run["best_epoch"]),
            *(show_percent(run[score]) for score in scores),
            f"{run['seconds']:.0f}",
        ]
        for seed, run in runs.items()
    ]
    rows.append(["mean", "", *(show_spread([run[score] for run in runs.values()]) for score in scores), ""])
    return make_table(["seed", "best epoch", *map(show_title, scores), "seconds"], rows)


def rows_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows of a benchmark; lists stay in the record, deviations stand with their means."""
    columns = [
        name
        for name in dict.fromkeys(name for row in rows for name in row)
        if not name.endswith(DEVIATION) and not any(isinstance(row.get(name), list) for row in rows)
    ]
    return make_table(
        [show_title(name) for name in columns], [[show_cell(row, name) for name in columns] for row in rows]
    )


def show_origin(record: Mapping[str, Any]) -> str:
    """Where the figures of a record come from."""
    machine = record["machine"]
    processor = machine.get("gpu") or f"{machine['cpu']}, {machine['cores']} cores"
    lines = [
        f"`{current_command(record['command'])}`",
        f"Commit `{record['commit']}`, {record['date']}; {processor}, {machine['memory_gib']} GiB, Python"
        f" {machine['python']}, torch {machine['torch']}."
        + (f" {record['note']}" if "note" in record else ""),
    ]
    return "<br>\n".join(lines)


def render_speed() -> str:
    """A few figures of the records on speed, each with where all of them stand."""
    rows: list[list[str]] = []
    if gpu := read_record("gpu-speed"):
        name = gpu["machine"]["gpu"]
        rows += [
            [
                f"an epoch of SST, BiConTree, {name}, batch {row['batch_size']}, {row['precision']}"
                f" ({row['backend']})",
                f"{row['epoch_seconds']:.2f} s",
            ]
            for row in gpu["training"]
        ]
        best = max(gpu["inference"], key=lambda row: row["trees_per_second"])
        rows.append(
            [
                f"inference, {name}, batch {best['batch_size']}, {best['precision']}",
                f"{best['trees_per_second']:,.0f} trees a second",
            ]
        )
    if (seeds := read_record("sst-bicontree")) and "wall_seconds" in seeds:
        epochs = seeds["recipe"]["training"]["epochs"]
        rows.append(
            [
                f"{len(seeds['seeds'])} seeds of {epochs} epochs on one {seeds['machine']['gpu']}, all of it",
                f"{seeds['wall_seconds']:.0f} s",
            ]
        )
    if floor := read_record("cpu-floor"):
        row = next(row for row in floor["rows"] if (row["model"], row["batch_size"]) == ("bicontree", 25))
        rows.append(
            [
                "a training step of BiConTree, one CPU thread, batch 25, beside its matrix products alone in PyTorch",
                f"{row['step_ms']:.1f} and {row['floor_ms']:.1f} ms",
            ]
        )
    if peers := read_record("lexitree-vs-peers"):
        rows += [_against_peer(row, peers) for row in peers["rows"] if _is_shown(row)]
    return make_table(["what", "measured"], rows) if rows else NOT_MEASURED


def _is_shown(row: Mapping[str, Any]) -> bool:
    """Whether a row is about another library, on an idle machine, in batches of the usual size.

    Rows of one occasion only, in older records, do not say enough to be quoted.
    """
    is_peer = not row["system"].startswith("lexitree")
    return is_peer and row["batch_size"] == 25 and row.get("busy_cores") == 0


def _against_peer(row: Mapping[str, Any], peers: Mapping[str, Any]) -> list[str]:
    """How lexitree compares with a library when the machine is idle, with the range over all occasions and loads."""
    key = ("cell", "batch_size", "system")
    alike = [other for other in peers["rows"] if all(other[name] == row[name] for name in key)]
    lowest = min(other["lowest_ratio"] for other in alike)
    highest = max(other["highest_ratio"] for other in alike)
    version = next(iter(peers["versions"][row["system"]].values()))
    return [
        f"training against {row['system']} {version} ({row['cell']} cell, one CPU thread, batch {row['batch_size']})",
        f"{row['ratio']:.1f} times as fast ({lowest:.1f} to {highest:.1f})",
    ]


def render_robustness() -> str:
    """What hostile input and faults have done, by their records."""
    rows: list[list[str]] = []
    if fuzz := read_record("fuzz"):
        failures = sum(len(target["failures"]) for target in fuzz["targets"].values())
        what = f"{fuzz['cases']:,} damaged inputs for {len(fuzz['targets'])} readers and commands"
        rows.append(
            [
                what,
                f"{failures} foreign exceptions, peak memory {fuzz['peak_mib']:,} MiB",
                show_origin(fuzz).replace("\n", " "),
            ]
        )
    if faults := read_record("fault-injection"):
        what = (
            f"{faults['num_faults']:,} faults at file-system calls of {len(faults['faults'])} operations, and"
            f" {faults['num_kills']} kills at random moments"
        )
        rows.append(
            [
                what,
                f"{faults['num_violations']} files damaged or lost",
                show_origin(faults).replace("\n", " "),
            ]
        )
    if service := read_record("service-fuzz"):
        ways = service["ways"]
        failures = sum(sum(way["failures"].values()) + way["errors_in_log"] for way in ways.values())
        counted = ", ".join(f"{way['requests']:,} {name}" for name, way in ways.items())
        rows.append(
            [
                f"damaged requests to the service: {counted}",
                f"{failures} unhandled exceptions or answers out of order",
                show_origin(service).replace("\n", " "),
            ]
        )
    if faults := read_record("service-faults"):
        changed = sum(row["outcome"] != "as before" for row in faults["rows"])
        rows.append(
            [
                f"{len(faults['rows'])} kinds of clients that misbehave, and ends of the service",
                f"{changed} left it otherwise than before",
                show_origin(faults).replace("\n", " "),
            ]
        )
    return make_table(["tried", "outcome", "command, commit and machine"], rows) if rows else NOT_MEASURED
