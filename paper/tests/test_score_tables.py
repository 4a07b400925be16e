"""Tables hold the means of the records beside the paper's figures, and say what a reader must know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lexitree_paper.experiments import find_experiment
from lexitree_paper.report import Picture, Report, Table, table_to_markdown, to_markdown
from lexitree_paper.run_records import save_record
from lexitree_paper.score_tables import make_table, read_records, report_scores


def record(roots: list[float], devs: list[float], vectors: str | None = None) -> dict[str, Any]:
    runs = {
        str(seed): {"test_root": root, "test_phrase": 0.8, "dev_root": dev, "seconds": 10.0 * seed}
        for seed, (root, dev) in enumerate(zip(roots, devs, strict=True), 1)
    }
    return {
        "recipe": {"vectors": vectors, "model": {}, "training": {"epochs": 30}},
        "seeds": list(range(1, len(roots) + 1)),
        "num_parameters": 1_234_567,
        "runs": runs,
    }


def test_mean_deviation_and_the_seed_that_development_chooses() -> None:
    experiment = find_experiment("head-methods")
    records = {"sst-bicontree": record([0.50, 0.52, 0.54], [0.6, 0.9, 0.7])}
    table = make_table(experiment, records)
    row = dict(zip(table.columns, table.rows[-1], strict=True))
    assert row["5-class root"] == "52.0 ± 2.0 (best by dev: 52.0)"
    assert row["5-class root, the paper"] == "53.5"
    assert table.rows[0][1] == "–"
    assert any("not run yet: sst-bicontree-L" in note for note in table.notes)
    assert "3 seeds, 30 epochs" in table.notes


def test_vectors_that_stand_in_for_others_are_named() -> None:
    experiment = find_experiment("head-methods")
    notes = make_table(experiment, {"sst-bicontree": record([0.5], [0.5], "glove.approx.npz")}).notes
    assert any("approximation of GloVe" in note for note in notes)
    notes = make_table(experiment, {"sst-bicontree": record([0.5], [0.5], "glove.840B.300d.zip")}).notes
    assert not any("approximation" in note for note in notes)


def test_models_that_learn_their_own_vectors_are_named_beside_others() -> None:
    experiment = find_experiment("quoted-systems")
    own = record([0.5], [0.5])
    own["recipe"]["model"] = {"model": "rntn"}
    assert "without pretrained word vectors" in make_table(experiment, {"sst-rntn": own}).notes
    records = {"sst-rntn": own, "sst-deptree": record([0.5], [0.5], "glove.840B.300d.zip")}
    assert "without pretrained word vectors (rntn)" in make_table(experiment, records).notes


def test_parameters_and_seconds_have_columns_of_their_own() -> None:
    records = {"sst-bicontree": record([0.5, 0.6], [0.5, 0.6]), "sst-bicontree-cpu": record([0.5], [0.5])}
    sizes = make_table(find_experiment("model-size"), records)
    assert dict(zip(sizes.columns, sizes.rows[-1], strict=True))["5-class parameters"] == "1,234,567"
    times = make_table(find_experiment("training-time"), records)
    row = dict(zip(times.columns, times.rows[-1], strict=True))
    assert (row["5-class seconds"], row["5-class seconds, the paper"]) == ("10", "11,434")


def test_markdown_has_a_line_a_row_and_the_notes() -> None:
    table = make_table(find_experiment("questions"), {})
    lines = table_to_markdown(table).splitlines()
    assert len([line for line in lines if line.startswith("|")]) == 2 + len(table.rows)
    assert lines[-1].startswith("not run yet")


def test_markdown_of_pictures_titles_and_bars() -> None:
    table = Table(("a|b", "n"), (("x | y", "1"),), title="who is right")
    page = to_markdown(Report((table,), (Picture("plot.svg", "A plot"),)))
    assert page.startswith("![A plot](images/plot.svg)\n\nWho is right:\n\n| a\\|b | n |\n| --- | ---: |")
    assert page.endswith("| x \\| y | 1 |")
    assert to_markdown(Report()) == "*Not measured yet.*"


def test_records_from_before_answers_were_kept_still_make_a_table() -> None:
    records = {name: record([0.5, 0.6], [0.5, 0.6]) for name in ("sst-contree", "sst-bicontree")}
    tables = report_scores(find_experiment("main-table"), records).tables
    assert ["differences in phrase" in table.title for table in tables] == [False, True]


def test_further_runs_of_a_recipe_count_with_the_first(tmp_path: Path) -> None:
    names = ("sst-bicontree-minilm-static", "sst-bicontree-minilm-static-rounded")
    for name, scores in zip(names, ([0.5, 0.6], [0.7, 0.8]), strict=True):
        save_record(tmp_path, name, record(scores, scores))
    found = read_records(find_experiment("transformer"), tmp_path)
    assert list(found) == [names[0]]
    assert [run["test_root"] for run in found[names[0]]["runs"].values()] == [0.5, 0.6, 0.7, 0.8]
    assert found[names[0]]["seeds"] == [1, 2, 1, 2]


def test_records_are_read_by_the_names_of_the_runs(tmp_path: Path) -> None:
    save_record(tmp_path, "sst-bicontree-L", record([0.5], [0.5]))
    assert set(read_records(find_experiment("head-methods"), tmp_path)) == {"sst-bicontree-L"}
