"""The notebook of examples/ runs as it stands, and shows what it promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parent.parent / "examples" / "tour.ipynb"


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_it_is_kept_without_outputs() -> None:
    cells = code_cells(json.loads(NOTEBOOK.read_text(encoding="utf-8")))
    assert len(cells) > 5
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


@pytest.mark.slow
def test_it_runs_and_shows_views_tables_and_drivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output.get("data", {}) for cell in code_cells(notebook) for output in cell["outputs"]]
    pages = ["".join(data.get("text/html", "")) for data in shown]
    assert any("image/svg+xml" in data for data in shown)
    assert any("srcdoc=" in page for page in pages)
    assert any("lt-drivers" in page for page in pages)
    assert sum("dataframe" in page for page in pages) >= 3
    texts = [str(output.get("text", "")) for cell in code_cells(notebook) for output in cell["outputs"]]
    assert any("nowhere" in text and "head word" in text for text in texts)
    assert "<!doctype html>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "runs" / "mine" / "model").is_dir()
