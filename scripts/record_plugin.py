"""Install the package of examples/plugin in a fresh environment, use it, and record that in results/plugin.json.

    python scripts/record_plugin.py

The fresh environment sees everything that this one has installed, so nothing is downloaded.
"""

from __future__ import annotations

import shutil
import site
import subprocess
import sys
import tempfile
from pathlib import Path

from record_tour import Step, run_step
from result_records import ROOT, describe_run, write_record

PACKAGE = "lexitree-weather"
TEXT = '"Tomorrow will be sunny."'
RECIPE = """\
corpus = "weather"

[model]
model = "tree-rnn"
head_method = "norm"
keep = 0.25
hidden = 20
word_size = 20

[training]
epochs = 3
learning_rate = 0.02
"""
STEPS = (
    Step("models", "lexitree models | grep -A 3 tree-rnn"),
    Step("train", "lexitree train --recipe weather.toml -o runs/weather"),
    Step(
        "predict",
        f"lexitree predict runs/weather/model {TEXT} --parser right-branching -o today.md && cat today.md",
    ),
)
WITHOUT = Step("without", f"lexitree predict runs/weather/model {TEXT} --parser builtin", width=160, status=1)
"""What happens where the package is not installed."""


def make_environment(folder: Path) -> Path:
    """A fresh environment with what is installed here; its folder of programs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    shared = [ROOT / "src", *site.getsitepackages(), *(path for path in sys.path if "site-packages" in path)]
    # As code, so that the .pth files of those folders count too: an editable install is one.
    lines = [f"import site; site.addsitedir({str(path)!r})" for path in dict.fromkeys(map(str, shared))]
    (packages / "shared.pth").write_text("\n".join(lines))
    program = folder / "bin" / "lexitree"
    program.write_text(f'#!/bin/sh\nexec "{folder}/bin/python" -m lexitree "$@"\n')
    program.chmod(0o755)
    return folder / "bin"


def pip(programs: Path, *arguments: str | Path) -> None:
    """Run the pip of this environment for the fresh one."""
    command = [sys.executable, "-m", "pip", "--python", programs / "python", "--disable-pip-version-check"]
    subprocess.run([*command, "--quiet", *arguments], check=True)


def run_steps(folder: Path) -> dict[str, str]:
    """Install, use and uninstall the package; what each step printed.

    Raises:
        RuntimeError: A step did not end with the status that it should.
    """
    programs = make_environment(folder / "environment")
    project = shutil.copytree(ROOT / "examples" / "plugin", folder / "plugin")
    (folder / "weather.toml").write_text(RECIPE)
    pip(programs, "install", "--no-index", "--no-deps", "--no-build-isolation", project)
    outputs = {step.name: _run(step, folder, programs) for step in STEPS}
    pip(programs, "uninstall", "--yes", PACKAGE)
    return {**outputs, WITHOUT.name: _run(WITHOUT, folder, programs)}


def _run(step: Step, folder: Path, programs: Path) -> str:
    status, output = run_step(step, folder, programs)
    if status != step.status:
        raise RuntimeError(f"{step.command}\n{output}\nended with {status}, not {step.status}")
    return output


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        outputs = run_steps(Path(folder))
    steps = {step.name: {"command": step.command, "output": outputs[step.name]} for step in (*STEPS, WITHOUT)}
    record = {
        **describe_run({}),
        "command": "python scripts/record_plugin.py",
        "data": {"weather": "embedded"},
        "seeds": [1],
        "files": {"weather.toml": RECIPE},
        "steps": steps,
    }
    write_record("plugin", record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
