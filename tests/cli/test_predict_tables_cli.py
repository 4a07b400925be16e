"""`lexitree predict` on columns of tables, and interrupted runs that are resumed."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli import parser_program
from tests.cli.conftest import CSV, Call, assert_users_error, records
from tests.command import COMMAND, environment

PARSER = f"command:{sys.executable} {parser_program.__file__}"
TEXT = "The film is good. The plot is bad."


def test_a_column_of_csv_with_everything_else(predict: Call, reviews: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    assert predict(reviews, "--column", "review", "-o", output) == (0, "", "")
    found, source = records(output.read_text()), records(CSV)
    assert found[0] == ["id", "review", "label", "probability"]
    assert [row[:2] for row in found] == source
    assert [row[2] for row in found[1:]] == ["1", "0", "", found[4][2]]
    assert found[3][2:] == ["", ""]
    assert predict(reviews, "--column", "review").out == output.read_text()
    as_json = predict(reviews, "--column", "review", "-o", tmp_path / "out.jsonl", "--phrases")
    assert as_json == (0, "", "")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == ["1", "2", "3", "4"]
    assert lines[1]["phrases"][0]["text"] == "bad"
    with_phrases = records(predict(reviews, "--column", "review", "--phrases").out)
    assert json.loads(with_phrases[2][4]) == lines[1]["phrases"]
    scored = records(predict(reviews, "--column", "review", "--score", "--labels", 2).out)
    assert scored[0] == ["id", "review", "label", "score", "probability"]
    assert [float(row[3]) > 0 for row in scored[1:3]] == [True, False]
    assert_users_error(predict(reviews, "--column", "review", "--labels", 3), "cannot answer with 3")
    assert_users_error(predict(TEXT, "--score"), "--score is for a column of a table")


def test_a_folder_of_parts(predict: Call, reviews: Path, tmp_path: Path) -> None:
    pattern, output = tmp_path / "*.csv", tmp_path / "out"
    options = ("--column", "review", "-o", f"{output}/", "--part-rows", 3, "--errors", "--limit", "words=3")
    found = predict(pattern, *options)
    assert (found.code, found.out) == (0, "")
    assert "texts without a label because they were refused: 2" in found.err
    assert f"{reviews}:2: the text has" in found.err
    parts = sorted((output / reviews.name).glob("part-*"))
    assert [path.name for path in parts] == ["part-00000.csv", "part-00001.csv"]
    rows = [row for path in parts for row in records(path.read_text())[1:]]
    assert [row[:2] for row in rows] == records(CSV)[1:]
    assert [bool(row[4]) for row in rows] == [True, False, False, True]
    parts[1].unlink()
    assert "refused: 1" in predict(pattern, *options).err
    assert parts[1].exists()
    assert predict(pattern, *options) == (0, "", "")
    assert_users_error(predict(pattern, *options, "--phrases"), "--phrases was False, is True")


def test_a_column_of_json_lines(predict: Call, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"z": [1, null], "review": "the film is good", "a": {"b": "é"}}\n\n{"review": null}\n')
    found = predict(path, "--column", "review").out
    first, second = map(json.loads, found.splitlines())
    assert list(first) == ["z", "review", "a", "label", "probability"]
    assert first["a"] == {"b": "é"}
    assert second == {"review": None, "label": None, "probability": None}
    assert predict("--column", "review", stdin=path.read_text()).out == found
    for options in (["-f", "csv"], ["-o", tmp_path / "out.csv"]):
        assert_users_error(predict(path, "--column", "review", *options), "cannot be written as CSV")


def test_columns_that_are_there_already(predict: Call, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\ngood,1\n")
    assert_users_error(
        predict(tmp_path / "a.csv", "--column", "text"), "a.csv:1", "a column 'label'", "--prefix"
    )
    found = predict(tmp_path / "a.csv", "--column", "text", "--prefix", "predicted_")
    assert found.out.startswith("text,label,predicted_label,predicted_probability\ngood,1,1,")
    (tmp_path / "a.jsonl").write_text('{"text": "good"}\n{"text": "bad", "label": 0}\n')
    assert_users_error(predict(tmp_path / "a.jsonl", "--column", "text"), "a.jsonl:2", "a column 'label'")
    found = predict(tmp_path / "a.jsonl", "--column", "text", "--on-error", "skip")
    assert [json.loads(line)["text"] for line in found.out.splitlines()] == ["good"]
    assert "skipped 1 malformed rows" in found.err


def test_wrong_rows_stop_or_are_listed(predict: Call, tmp_path: Path) -> None:
    path, output = tmp_path / "a.csv", tmp_path / "out.csv"
    path.write_text("id,review\n1,good\n2\n3,bad\n")
    assert_users_error(predict(path, "--column", "review", "-o", output), "a.csv:3")
    assert not output.exists()
    assert_users_error(predict(path, "--column", "text"), "no column 'text'", "'id', 'review'")
    found = predict(path, "--column", "review", "--on-error", "skip")
    assert [row[0] for row in records(found.out)] == ["id", "1", "3"]
    assert "skipped 1 malformed rows" in found.err
    (tmp_path / "b.csv").write_text("review\nx\n")
    assert_users_error(predict(path, tmp_path / "b.csv", "--column", "review"), "different columns")


def test_an_interrupted_run_is_resumed(predict: Call, reviews: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("the film is good\n\nthe plot is bad\nthe cast is great\n")
    for arguments, name in (
        ([texts], "out.jsonl"),
        ([reviews, "--column", "review"], "out.csv"),
        ([reviews, "--column", "review", "--phrases"], "phrases.jsonl"),
    ):
        output = tmp_path / name
        # One by one: the last digits depend on what else is in a batch.
        arguments += ["--batch-size", 1]
        assert predict(*arguments, "-o", output, "--resume") == (0, "", "")
        whole = output.read_bytes()
        assert predict(*arguments, "-o", output, "--resume").code == 0
        assert output.read_bytes() == whole
        for cut in range(0, len(whole), max(1, len(whole) // 7)):
            output.write_bytes(whole[:cut])
            assert predict(*arguments, "-o", output, "--resume") == (0, "", "")
            assert output.read_bytes() == whole


def test_only_the_same_run_is_resumed(predict: Call, reviews: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    command = ["--column", "review", "-o", output, "--resume"]
    predict(reviews, *command)
    before = output.read_bytes()
    assert predict(reviews, *command) == (0, "", "")
    other = tmp_path / "other.csv"
    for content in (CSV.replace("not bad", "not good"), "id,review\n1,x\n"):
        other.write_text(content)
        assert_users_error(predict(other, *command), "does not hold the first results")
    other.write_text(CSV.replace("id,", "number,"))
    assert_users_error(predict(other, *command), "its header differs")
    assert_users_error(predict(reviews, *command, "--phrases"), "--phrases was False, is True")
    assert output.read_bytes() == before
    lines = tmp_path / "out.jsonl"
    for content in ("one line without an end", "[1]\n", "no json\ntwo lines", '{"text": "another"}\n'):
        lines.write_text(content)
        assert_users_error(predict("good film", "-o", lines, "--resume"), "not started with --resume")
        assert lines.read_text() == content


def test_without_resume_a_file_appears_when_it_is_complete(predict: Call, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    output.write_text("before\n")
    path = tmp_path / "a.jsonl"
    path.write_text('{"review": "good"}\nnonsense\n')
    assert_users_error(
        predict(path, "--column", "review", "-o", output),
        "a.jsonl:2",
        "out.jsonl was not written",
        "--resume",
    )
    assert output.read_text() == "before\n"


def test_broken_quotes_and_numbers_are_skipped(predict: Call, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,review\n1,good\n2,"bad\n3,"fine"\n')
    found = predict(tmp_path / "a.csv", "--column", "review", "--on-error", "skip")
    assert [row[0] for row in records(found.out)] == ["id", "1", "3"]
    assert "skipped 1 malformed rows" in found.err
    assert "a.csv:3: this is not CSV" in found.err
    (tmp_path / "a.jsonl").write_text('{"review": "good", "x": 1e999}\n{"review": "bad"}\n')
    found = predict(tmp_path / "a.jsonl", "--column", "review", "--on-error", "skip")
    assert [json.loads(line)["review"] for line in found.out.splitlines()] == ["bad"]
    assert "'x' holds a number that is too large" in found.err


def test_packed_output(predict: Call, reviews: Path, tmp_path: Path) -> None:
    for name in ("out.csv", "out.jsonl", "out.tsv"):
        assert predict(reviews, "--column", "review", "-o", tmp_path / name) == (0, "", "")
        assert predict(reviews, "--column", "review", "-o", tmp_path / f"{name}.gz") == (0, "", "")
        assert gzip.decompress((tmp_path / f"{name}.gz").read_bytes()) == (tmp_path / name).read_bytes()
    assert_users_error(
        predict(reviews, "--column", "review", "-o", tmp_path / "out.csv.gz", "--resume"),
        "a compressed file cannot be resumed",
    )


def test_a_link_is_written_through(predict: Call, reviews: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    target, link = tmp_path / "data" / "real.csv", tmp_path / "out.csv"
    link.symlink_to(target)
    for options in ([], ["--resume"]):
        target.unlink(missing_ok=True)
        assert predict(reviews, "--column", "review", "-o", link, *options) == (0, "", "")
        assert link.is_symlink()
        assert len(records(target.read_text())) == 5
    assert sorted(path.name for path in target.parent.iterdir()) == [".real.csv.resume.json", "real.csv"]


def test_formulas_can_be_guarded(predict: Call, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,review\n=1+1,good\n")
    assert records(predict(tmp_path / "a.csv", "--column", "review").out)[1][0] == "=1+1"
    guarded = predict(tmp_path / "a.csv", "--column", "review", "--guard-formulas").out
    assert records(guarded)[1][0] == "'=1+1"
    assert_users_error(predict("a text", "--guard-formulas"), "--guard-formulas is for CSV")


@pytest.mark.slow
def test_a_killed_run_leaves_whole_lines(saved_model: Path, tmp_path: Path) -> None:
    texts, output = tmp_path / "texts.txt", tmp_path / "out.jsonl"
    texts.write_text("".join(f"the film is {number}\n" for number in range(3_000)))
    command = [
        *COMMAND,
        "predict",
        str(saved_model),
        str(texts),
        "--parser",
        PARSER,
        "-o",
        str(output),
        "--resume",
    ]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment()) as process:
        while process.poll() is None and not (output.exists() and output.stat().st_size):
            os.sched_yield()
        process.kill()
    num_before = output.read_text().count("\n")
    finished = subprocess.run(command, capture_output=True, env=environment(), check=False)
    assert finished.returncode == 0, finished.stderr
    found = [json.loads(line)["text"] for line in output.read_text().splitlines()]
    assert found == texts.read_text().splitlines()
    assert 0 < num_before <= 3_000
