"""Run the behaviour suite of tests/behaviour on sentiment models, beside VADER, TextBlob and AFINN.

    python benchmarks/behaviour.py sentiment --output results/behaviour.json
    python benchmarks/behaviour.py runs/mine/model --quick --failures     # your own model, with what it gets wrong

A model is a shipped one or a folder, or `NAME=MODEL` to call it otherwise in the tables.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from environment import describe_run
from polarity_systems import ModelSystem, PolaritySystem, word_lists

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))

from tests.behaviour.suite import FOLDER, Case, Judgement, all_cases, passes  # noqa: E402

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", metavar="[NAME=]MODEL", help="shipped models or folders")
    parser.add_argument("--quick", action="store_true", help="without the word lists")
    parser.add_argument("--failures", action="store_true", help="print the cases that fail")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    described = describe_run({f"behaviour/{file.name}": file for file in sorted(FOLDER.glob("*.toml"))})
    models = [ModelSystem(model) for model in options.models]
    systems: list[PolaritySystem] = [*models, *([] if options.quick else word_lists())]
    cases = all_cases()
    judged = {system.name: judge_cases(system, cases) for system in systems}
    passed = {
        name: [passes(*pair) for pair in zip(cases, answers, strict=True)] for name, answers in judged.items()
    }
    tables = {
        "kinds": pass_rates(cases, passed, lambda case: {"kind": case.kind}),
        "capabilities": pass_rates(
            cases, passed, lambda case: {"kind": case.kind, "capability": case.capability}
        ),
        "tests": pass_rates(
            cases, passed, lambda case: {"kind": case.kind, "capability": case.capability, "test": case.test}
        ),
    }
    tables["kinds"] += pass_rates(cases, passed, lambda case: {"kind": "all"})
    if options.failures:
        print_failures(cases, judged, passed)
    for row in [*tables["tests"], *tables["capabilities"], *tables["kinds"]]:
        print(*(f"{value:.3f}" if isinstance(value, float) else value for value in row.values()), sep=" | ")
    if options.output:
        failed = {
            name: [case.id for case, is_passed in zip(cases, results, strict=True) if not is_passed]
            for name, results in passed.items()
        }
        record = {**described, "seeds": [], **tables, "failed": failed}
        options.output.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def judge_cases(system: PolaritySystem, cases: Sequence[Case]) -> list[list[Judgement]]:
    """What a system says of the texts of each case; every text is judged once."""
    texts = list(dict.fromkeys(text for case in cases for text in case.texts))
    judged = system.judge(texts, one_sentence=False)
    by_text = {
        text: Judgement(label, score)
        for text, label, score in zip(texts, judged.names, judged.scores.tolist(), strict=True)
    }
    return [[by_text[text] for text in case.texts] for case in cases]


def pass_rates(
    cases: Sequence[Case], passed: dict[str, list[bool]], key: Callable[[Case], dict[str, str]]
) -> list[Row]:
    """A row for each group of cases, with the share of cases that each system passes."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, case in enumerate(cases):
        groups.setdefault(tuple(key(case).values()), []).append(number)
    names = list(key(cases[0]))
    return [
        {
            **dict(zip(names, group, strict=True)),
            "cases": len(numbers),
            **{
                f"{name}_share": _share(results[number] for number in numbers)
                for name, results in passed.items()
            },
        }
        for group, numbers in groups.items()
    ]


def _share(values: Iterable[bool]) -> float:
    values = list(values)
    return sum(values) / len(values)


def print_failures(
    cases: Sequence[Case], judged: dict[str, list[list[Judgement]]], passed: dict[str, list[bool]]
) -> None:
    for name, results in passed.items():
        for case, judgements, is_passed in zip(cases, judged[name], results, strict=True):
            if not is_passed:
                found = "; ".join(
                    f"{text!r} {judgement.label} {judgement.score:.2f}"
                    for text, judgement in zip(case.texts, judgements, strict=True)
                )
                print(f"{name}: {case.id}: {found}; expected {case.expect or ' or '.join(case.labels)}")


if __name__ == "__main__":
    main()
