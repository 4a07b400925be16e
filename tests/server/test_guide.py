"""The guide to the service names settings, metrics and statuses that there are."""

from __future__ import annotations

import re
from pathlib import Path

from lexitree.server.openapi import openapi_document
from lexitree.server.service_metrics import ServiceMetrics
from lexitree.server.service_settings import ServiceSettings

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "service.md").read_text(encoding="utf-8")


def table(heading: str) -> str:
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def names_in_tables(heading: str) -> set[str]:
    cells = [line.split("|")[1] for line in table(heading).splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_settings() -> None:
    assert names_in_tables("Settings") <= set(ServiceSettings.declared())
    assert len(names_in_tables("Settings")) > 15


def test_metrics() -> None:
    page = ServiceMetrics().page().decode()
    described = {line.split()[2] for line in page.splitlines() if line.startswith("# HELP")}
    described = {name for name in described if not name.endswith("_created")}
    assert names_in_tables("Log and metrics") == described


def test_statuses() -> None:
    cells = [line.split("|")[1] for line in table("Errors").splitlines() if re.match(r"\| \d", line)]
    listed = {number for cell in cells for number in re.findall(r"\d+", cell)}
    paths = openapi_document(ServiceSettings(), ["sentiment"])["paths"]
    described = {status for path in paths.values() for each in path.values() for status in each["responses"]}
    assert described - {"200"} == listed - {"404", "405"}


def test_every_path_is_described() -> None:
    paths = set(re.findall(r"`(?:GET|POST) (/[\w./]*)`", PAGE)) - {"/"}
    assert paths == set(openapi_document(ServiceSettings(), ["sentiment"])["paths"])
