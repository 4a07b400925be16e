"""An output file holds what its name says, whichever command writes it, or it is not written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import SENTENCE, Call, assert_users_error, records

PAGE = "<!doctype html>"


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        ("predict MODEL TREES -o", ".png"),
        ("predict MODEL TREES -o", ".csv"),
        ("predict MODEL TREES -f json -o", ".html"),
        ("predict MODEL REVIEWS --column review --parser builtin -o", ".html"),
        ("explain MODEL TREES -o", ".svg"),
        ("explain MODEL TREES -o", ".csv"),
        ("trees convert TREES -o", ".csv"),
        ("trees convert TREES --to jsonl -o", ".txt"),
        ("trees binarize TREES -o", ".html"),
        ("vectors filter VECTORS -t TREES -o", ".txt"),
    ],
)
def test_another_ending_is_refused_before_anything_is_done(
    command: str, ending: str, call: Call, tmp_path: Path, saved_model: Path, trees_file: Path, reviews: Path
) -> None:
    """Even if the other files are missing: they are looked for later."""
    places = {"MODEL": saved_model, "TREES": trees_file, "REVIEWS": reviews}
    words = [str(places.get(word, word)) for word in command.split()]
    output = tmp_path / f"out{ending}"
    assert_users_error(call(*words, output), f"out{ending}", ending, "Endings that fit: .")
    assert not output.exists()


def test_trees_are_converted_to_what_the_ending_means(call: Call, tmp_path: Path, trees_file: Path) -> None:
    for command, printed in (("convert", "{"), ("binarize", "(")):
        assert call("trees", command, trees_file).out.startswith(printed)
        for name, start in (("a.jsonl", "{"), ("a.txt", "("), ("a.mrg", "(")):
            assert call("trees", command, trees_file, "-o", tmp_path / name).code == 0
            assert (tmp_path / name).read_text().startswith(start)


def test_texts_can_become_a_table(predict: Call, tmp_path: Path) -> None:
    (tmp_path / "reviews.txt").write_text('the film is good\nis it "bad", or not?\n')
    assert predict(tmp_path / "reviews.txt", "-o", tmp_path / "out.csv", "--resume").code == 0
    header, first, second = records((tmp_path / "out.csv").read_text())
    assert header == ["text", "label", "probability"]
    assert first[0] == "the film is good"
    assert second[0] == 'is it "bad", or not?'
    assert predict(tmp_path / "reviews.txt", "-o", tmp_path / "out.csv", "--resume").code == 0
    assert len(records((tmp_path / "out.csv").read_text())) == 3


def test_the_other_endings_are_followed(call: Call, saved_model: Path, tmp_path: Path) -> None:
    for name, start in (("a.html", PAGE), ("a.svg", "<svg"), ("a.jsonl", "{"), ("a.ptb", "(")):
        assert call("predict", saved_model, "-o", tmp_path / name, stdin=SENTENCE).code == 0
        assert (tmp_path / name).read_text().startswith(start)
    assert call("explain", saved_model, "-o", tmp_path / "b.htm", stdin=SENTENCE).code == 0
    assert (tmp_path / "b.htm").read_text().startswith(PAGE)
