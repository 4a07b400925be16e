"""Text that is shown as it is, whatever is in it."""

from __future__ import annotations

from lexitree.views.visible import html_text, visible


def test_text_is_on_one_line_and_spelled_out() -> None:
    assert visible("a\nb\tc\u2028d") == "a b c d"
    assert visible("\u202e\x1b\x00") == "\\u202e\\x1b\\x00"
    assert visible("👩\u200d👧 می\u200cخواهم") == "👩\u200d👧 می\u200cخواهم"
    assert html_text("<a href='x'>\"&") == "&lt;a href=&#x27;x&#x27;&gt;&quot;&amp;"
