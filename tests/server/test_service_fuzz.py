"""Damaged requests by the thousand: every answer is one that the interface promises, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.driver import FAILURES
from tests.fuzz.service_runs import AS_DOCUMENTED, Report, run_in_process, run_over_http, run_schemathesis
from tests.server.service_process import ServiceProcess

pytestmark = pytest.mark.slow


def assert_clean(report: Report, number: int) -> None:
    assert not [f"{each.save(FAILURES)}: {each.problem}: {each.message}" for each in report.failures.values()]
    assert report.is_clean, report.as_dict()
    assert report.answers.total() == report.requests == number
    assert report.answers["200"] > number // 10
    assert report.answers["422"] > number // 20


def test_no_request_breaks_the_application() -> None:
    assert_clean(run_in_process(10_000), 10_000)


def test_no_request_breaks_the_service() -> None:
    with ServiceProcess() as service:
        assert_clean(run_over_http(service, 2_000), 2_000)


def test_the_service_is_as_its_document_says(tmp_path: Path) -> None:
    pytest.importorskip("schemathesis", reason="schemathesis makes requests from the OpenAPI document")
    with ServiceProcess(**AS_DOCUMENTED) as service:
        found = run_schemathesis(service, 10, tmp_path)
    assert found["requests"] > 100
    assert not found["failures"], found["output"]
    assert not found["errors_in_log"]
