from __future__ import annotations

from lexitree.fingerprints import describe_changes


def test_what_differs_is_named_with_both_values() -> None:
    before = {"seed": 1, "model": {"hidden": 8, "sizes": [1, 2]}, "gone": "x"}
    assert describe_changes(before, {**before, "model": {"hidden": 8, "sizes": (1, 2)}}) == ""
    changes = describe_changes(before, {"seed": 1, "model": {"hidden": 9, "sizes": (1, 2)}, "new": True})
    assert changes == "model.hidden was 8, is 9; gone was 'x', is None; new was None, is True"


def test_long_values_are_cut_and_deep_ones_are_no_trouble() -> None:
    assert len(describe_changes({"a": "word " * 100}, {"a": "b"})) < 120
    deep: dict[str, object] = {}
    inner = deep
    for _ in range(5_000):
        inner["a"] = inner = {}
    inner["b"] = 1
    assert describe_changes(deep, {}).endswith("a.b was 1, is None")
