"""`lexitree explain`: a page from a text, a tree or a file, under have the same name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lexitree.cli.explain import new_file_name
from tests.cli import parser_program
from tests.cli.conftest import SENTENCE, Call, assert_users_error

PARSER = f"command:{sys.executable} {parser_program.__file__}"


def test_a_page_is_named_after_its_text(
    call: Call, saved_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = call("explain", saved_model, "The film is not bad!", "--parser", PARSER)
    assert (found.code, found.out, found.err) == (0, "", "the-film-is-not-bad.html\n")
    page = Path("the-film-is-not-bad.html").read_text(encoding="utf-8")
    assert "<title>The film is not bad! · lexitree</title>" in page
    again = call("explain", "-m", saved_model, "The film is not bad!", "--parser", PARSER)
    assert again.err == "the-film-is-not-bad-2.html\n"
    assert Path("the-film-is-not-bad-2.html").read_text(encoding="utf-8") == page


def test_a_page_on_standard_output_or_where_it_is_wanted(
    call: Call, saved_model: Path, tmp_path: Path
) -> None:
    printed = call("explain", saved_model, "bad film", "--parser", PARSER, "-o", "-")
    assert printed.out.startswith("<!doctype html>")
    assert printed.err == ""
    page = tmp_path / "sub" / "page.html"
    assert call("explain", saved_model, "bad film", "--parser", PARSER, "-o", page).err == f"{page}\n"
    assert page.read_text(encoding="utf-8") == printed.out


def test_trees_need_no_parser(call: Call, saved_model: Path, tmp_path: Path) -> None:
    printed = call("explain", saved_model, SENTENCE.strip(), "-o", "-").out
    assert "<title>the film is good · lexitree</title>" in printed
    assert printed == call("explain", saved_model, "-o", "-", stdin=SENTENCE).out
    (tmp_path / "two.txt").write_text(SENTENCE * 2)
    assert (
        '<p class="lt-reason">2 sentences: 2 '
        in call("explain", saved_model, tmp_path / "two.txt", "-o", "-").out
    )


def test_a_tag_that_is_a_word_stays_a_word(call: Call, saved_model: Path) -> None:
    printed = call("explain", saved_model, "(_ (_ good) (_ <img/src=x/onerror=hit>))", "-o", "-").out
    assert "<img" not in printed
    assert "<bdi>&lt;img/src=x/onerror=hit&gt;</bdi>" in printed


def test_a_file_is_one_text(call: Call, saved_model: Path, tmp_path: Path) -> None:
    (tmp_path / "review.txt").write_text("The film is\ngood. The plot is bad.\n")
    page = call("explain", saved_model, tmp_path / "review.txt", "--parser", PARSER, "-o", "-").out
    assert page.count("<pre") == 2
    one = call(
        "explain", saved_model, tmp_path / "review.txt", "--parser", PARSER, "-o", "-", "--one-sentence"
    ).out
    assert one.count("<pre") == 1


def test_what_is_wrong_is_said(call: Call, saved_model: Path, shipped_folder: Path, tmp_path: Path) -> None:
    assert_users_error(call("explain", saved_model, "a film", "-o", "-"), "no parser of its own")
    assert_users_error(call("explain", saved_model), "the input is empty")
    assert_users_error(call("explain", "just a text"), "sentiment: does not come with this version")
    assert_users_error(call("explain", saved_model, "(_ (_ a)", "-o", "-"), "<command line>:1")
    assert_users_error(call("explain", saved_model, tmp_path / "none.txt"), "none.txt: cannot be read")
    assert "Usage: lexitree explain" in call("explain", "--help").out


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Not bad!", "not-bad.html"),
        ("../../etc/passwd", "etc-passwd.html"),
        ("<script>", "script.html"),
        ("…", "explanation.html"),
        ("Ça va? 5%", "ça-va-5.html"),
        ("a" * 100, "a" * 40 + ".html"),
    ],
)
def test_names_of_files_are_plain_words(text: str, name: str, tmp_path: Path) -> None:
    assert new_file_name(text, tmp_path) == tmp_path / name


def test_a_column(call: Call, saved_model: Path, reviews: Path) -> None:
    """Rows are counted as they stand in the table; a row of several sentences has a section for each."""
    command = ("explain", saved_model, reviews, "--parser", PARSER, "-o", "-")
    found = call(*command, "--column", "review")
    assert (found.code, found.err) == (0, "rows 1 to 4 (choose others with --rows)\n")
    for name in ("<h2>Row 1</h2>", "<h2>Row 2</h2>", "<h2>Row 4</h2>", "<title>review"):
        assert name in found.out
    assert "Row 3" not in found.out  # It is empty.
    some = call(*command, "--column", "review", "--rows", "2,4").out
    assert "Row 1" not in some
    assert "<h2>Row 4</h2>" in some
    assert_users_error(call(*command, "--column", "review", "--rows", "7"), "there is no row 7")
    assert_users_error(call(*command, "--column", "reveiw"), "reveiw", "review")
    assert_users_error(call(*command), "which column holds the texts", "--column review")
    assert call(*command, "--column", "review", "--rows", "x").code == 2


def test_a_column_with_texts_of_several_sentences(call: Call, saved_model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "The film is good. The plot is bad."}\n')
    shown = call(
        "explain", saved_model, tmp_path / "a.jsonl", "--column", "text", "--parser", PARSER, "-o", "-"
    )
    assert "<h2>Row 1, sentence 2</h2>" in shown.out
