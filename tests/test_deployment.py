"""The files that deploy the service agree with its settings and with each other."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from lexitree.server.service_settings import ServiceSettings

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "deploy"))  # where they import each other by their bare names
script: Any = importlib.import_module("check_container")
DRAIN_SECONDS = ServiceSettings().drain_seconds


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def read_yaml(name: str) -> list[Any]:
    yaml = pytest.importorskip("yaml", reason="PyYAML reads these files")
    return list(yaml.safe_load_all(read(name)))


def steps(name: str) -> list[str]:
    return [step.text for step in script.read_dockerfile(read("Dockerfile")) if step.name == name]


def test_the_image_runs_without_rights() -> None:
    (user,) = steps("USER")
    number, _, group = user.partition(":")
    assert int(number) == int(group) >= 1000
    assert any(f"--uid {number}" in text for text in steps("RUN"))
    (deployment, _) = read_yaml("deploy/kubernetes.yaml")
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsUser"] == int(number)
    assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


def test_the_image_gets_signals_and_is_probed() -> None:
    assert steps("ENTRYPOINT") == ['["lexitree", "serve"]']
    assert "/live" in steps("HEALTHCHECK")[0]
    assert steps("EXPOSE") == [str(ServiceSettings().port)]


def test_the_image_gets_only_what_it_is_built_from() -> None:
    sources = [word for text in steps("COPY") if not text.startswith("--from") for word in text.split()[:-1]]
    assert sources
    assert all(script.is_sent(source) and (ROOT / source).exists() for source in sources)


def test_variables_of_the_image_are_settings() -> None:
    names = re.findall(r"(LEXITREE_SERVE_\w+)", read("Dockerfile") + read("deploy/compose.yaml"))
    values = {name: "none" if name.endswith("TOKEN") else "1" for name in names}
    assert ServiceSettings.values_from_environment("LEXITREE_SERVE_", values)


def test_there_is_time_to_drain() -> None:
    deployment, service = read_yaml("deploy/kubernetes.yaml")
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]
    before = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > before + DRAIN_SECONDS
    assert {container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "readiness")} == {"/ready"}
    assert container["livenessProbe"]["httpGet"]["path"] == "/live"
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]
    (compose,) = read_yaml("deploy/compose.yaml")
    assert int(compose["services"]["lexitree"]["stop_grace_period"].rstrip("s")) > DRAIN_SECONDS
    unit = dict(line.split("=", 1) for line in read("deploy/lexitree.service").splitlines() if "=" in line)
    assert int(unit["TimeoutStopSec"]) > DRAIN_SECONDS
    assert unit["KillMode"] == "mixed"
