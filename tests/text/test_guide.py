"""The tokenizer example of the guide prints what its comments say."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "guide" / "text.md"


def test_the_example_of_the_guide() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    [code] = [block for block in blocks if "from lexitree.text import" in block]
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, names)
    assert printed.getvalue().splitlines() == re.findall(r"^# (.*)$", code, re.MULTILINE)
    expressions = re.findall(r"^(\w+\(.*?)  # (.*)$", code, re.MULTILINE)
    assert len(expressions) == 2
    assert [repr(eval(code, names)) for code, _ in expressions] == [
        repr(eval(expected, names)) for _, expected in expressions
    ]
