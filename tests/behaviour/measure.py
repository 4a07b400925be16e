"""Run the behaviour suite on sentiment models, beside VADER, TextBlob and AFINN.

    python -m tests.behaviour.measure sentiment --output results/behaviour.json
    python -m tests.behaviour.measure runs/mine/model --quick --failures     # your own model, with what it gets wrong

A model is a shipped one or a folder, or `NAME=MODEL` to call it otherwise in the tables.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from environment import describe_run
from polarity_systems import ModelSystem, PolaritySystem, word_lists
from tests.behaviour.suite import (
    FOLDER,
    SIDED,
    Case,
    Judgement,
    all_cases,
    conceded_decides,
    passes,
)

Row = dict[str, Any]
Judgements = dict[str, list[list[Judgement]]]
"""What each system says of the texts of each case."""
Verdicts = dict[str, list[bool]]
"""Whether each case is passed, or has another property, by system."""
Verdict = Callable[[Case, Sequence[Judgement]], bool]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", metavar="[NAME=]MODEL", help="shipped models or folders")
    parser.add_argument("--quick", action="store_true", help="without the word lists")
    parser.add_argument("--failures", action="store_true", help="print the cases that fail")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    described = describe_run(
        {f"behaviour/{file.name}": file for file in [*sorted(FOLDER.glob("*.toml")), FOLDER / "natural.tsv"]}
    )
    models = [ModelSystem(model) for model in options.models]
    systems: list[PolaritySystem] = [*models, *([] if options.quick else word_lists())]
    cases = all_cases()
    judged = {system.name: judge_cases(system, cases) for system in systems}
    passed = verdicts(cases, judged, passes)
    tables = {
        "kinds": [
            *pass_rates(cases, passed, lambda case: {"kind": case.kind}),
            *pass_rates(cases, passed, lambda case: {"kind": "all"}),
        ],
        "capabilities": pass_rates(
            cases, passed, lambda case: {"kind": case.kind, "capability": case.capability}
        ),
        "tests": pass_rates(
            cases, passed, lambda case: {"kind": case.kind, "capability": case.capability, "test": case.test}
        ),
        "conceded": measure_conceded(cases, judged),
        "goals": measure_goals(cases, judged),
    }
    if options.failures:
        print_failures(cases, judged, passed)
    for row in [
        row for name in ("tests", "capabilities", "kinds", "conceded", "goals") for row in tables[name]
    ]:
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


def verdicts(cases: Sequence[Case], judged: Judgements, verdict: Verdict) -> Verdicts:
    return {
        name: [verdict(*pair) for pair in zip(cases, answers, strict=True)]
        for name, answers in judged.items()
    }


def fails(case: Case, judgements: Sequence[Judgement]) -> bool:
    return not passes(case, judgements)


def measure_conceded(cases: Sequence[Case], judged: Judgements) -> list[Row]:
    """How often a text gets the label of the clause that it concedes, by construction and order."""
    mixed, answers = some_of(cases, judged, is_mixed)
    decides = verdicts(mixed, answers, conceded_decides)
    return [
        *pass_rates(
            mixed, decides, lambda case: {"capability": case.capability, "conceded": conceded_of(case)}
        ),
        *pass_rates(mixed, decides, lambda case: {"capability": "both", "conceded": "all"}),
    ]


def is_mixed(case: Case) -> bool:
    return case.conceded is not None


def conceded_of(case: Case) -> str:
    return f"{'praise' if case.labels == ('negative',) else 'blame'}, {case.conceded}"


def family_of(case: Case) -> str:
    return case.capability


@dataclass(frozen=True)
class Goal:
    """A share of some of the cases that a model is meant to reach, or to stay below."""

    measure: str
    wanted: Literal["at least", "at most"]
    aim: float
    counts: Callable[[Case], bool]
    """Whether a case belongs to those of the goal."""
    holds: Verdict = passes
    worst_of: Callable[[Case], str] | None = None
    """Tells the groups of cases apart of which the worst one counts; without it, all cases count together."""


GOALS = (
    Goal("constructions and natural sentences right", "at least", 0.85, lambda case: case.kind in SIDED),
    Goal("natural sentences right", "at least", 0.75, lambda case: case.kind == "natural"),
    Goal(
        "the worst family but irony right",
        "at least",
        0.70,
        lambda case: case.kind == "construction" and case.capability != "irony",
        worst_of=family_of,
    ),
    Goal(
        "irony right",
        "at least",
        0.40,
        lambda case: case.kind == "construction" and case.capability == "irony",
    ),
    Goal("the conceded clause decides", "at most", 0.05, is_mixed, conceded_decides),
    Goal(
        "the conceded clause decides, in the worst order",
        "at most",
        0.05,
        is_mixed,
        conceded_decides,
        worst_of=conceded_of,
    ),
    Goal(
        "neutral fillers change the side",
        "at most",
        0.03,
        lambda case: case.capability == "neutral fillers",
        fails,
    ),
    Goal(
        "handles, links or tags change the side",
        "at most",
        0.02,
        lambda case: case.capability == "handles and links",
        fails,
    ),
)


def measure_goals(cases: Sequence[Case], judged: Judgements) -> list[Row]:
    """What a model is meant to reach, and how far each system is."""
    return [goal_row(goal, *some_of(cases, judged, goal.counts)) for goal in GOALS]


def goal_row(goal: Goal, cases: Sequence[Case], judged: Judgements) -> Row:
    holds, group_of = verdicts(cases, judged, goal.holds), goal.worst_of
    groups = pass_rates(cases, holds, lambda case: {"group": group_of(case) if group_of else "all"})
    worst = min if goal.wanted == "at least" else max
    return {
        "measure": goal.measure,
        "wanted": goal.wanted,
        "aim_share": goal.aim,
        "cases": len(cases),
        **{f"{name}_share": worst(row[f"{name}_share"] for row in groups) for name in judged},
    }


def some_of(
    cases: Sequence[Case], judged: Judgements, counts: Callable[[Case], bool]
) -> tuple[list[Case], Judgements]:
    places = [number for number, case in enumerate(cases) if counts(case)]
    answers = {name: [each[place] for place in places] for name, each in judged.items()}
    return [cases[place] for place in places], answers


def pass_rates(cases: Sequence[Case], passed: Verdicts, key: Callable[[Case], dict[str, str]]) -> list[Row]:
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


def print_failures(cases: Sequence[Case], judged: Judgements, passed: Verdicts) -> None:
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
