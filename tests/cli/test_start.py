"""What a command imports before it answers: most of the time of a short run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lexitree.cli.main import ALL_COMMANDS, COMMANDS, make_app
from tests.cli.untrained_parser import save_untrained_parser
from tests.command import environment

HEAVY = (
    *("torch._dynamo", "torch._inductor", "triton", "sympy", "networkx"),
    *("scipy", "sklearn", "nltk", "matplotlib", "PIL", "pandas", "tensorboard"),
    *("huggingface_hub", "transformers", "stanza", "benepar", "spacy"),
)
"""Other packages, and parts of torch, that would add from a tenth of a second to several."""
FOR_OTHER_COMMANDS = (
    "lexitree.learning",
    "lexitree.tasks",
    "lexitree_paper",
    "lexitree.analysis",
    "lexitree.views.page",
    "lexitree.ops.fused",
    *(f"lexitree.cli.{home.partition('.')[0]}" for name, home in COMMANDS.items() if name != "predict"),
)
PROGRAM = """
import json, sys
from lexitree.cli.main import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def imported_by(*arguments: object) -> list[str]:
    """The modules that a command has imported when it ends."""
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    return json.loads(finished.stderr.splitlines()[-1])


def unwanted(modules: list[str], *packages: str) -> list[str]:
    return [name for name in modules if name in packages or name.startswith(tuple(f"{p}." for p in packages))]


@pytest.fixture(scope="module")
def parser_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_untrained_parser(tmp_path_factory.mktemp("parser") / "untrained")


def test_labelling_a_text_imports_nothing_for_other_purposes(saved_model: Path, parser_folder: Path) -> None:
    text = "The film isn't bad (at all)."
    modules = imported_by("predict", "--model", saved_model, "--parser", f"builtin:{parser_folder}", text)
    assert "lexitree.parsers.neural" in modules
    assert unwanted(modules, *HEAVY, *FOR_OTHER_COMMANDS) == []


def test_handing_out_work_needs_no_torch() -> None:
    """With several workers, the first process only reads, hands out and writes."""
    modules = "lexitree.cli.predict, lexitree.pipeline.labelling"
    program = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], env=environment(), check=False).returncode == 0


def test_a_parser_without_a_reranker_imports_none(parser_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "sentences.txt").write_text("It works .\n")
    modules = imported_by("parse", tmp_path / "sentences.txt", "--parser", f"builtin:{parser_folder}")
    assert "lexitree.parsers.neural" in modules
    assert unwanted(modules, "lexitree.tasks", "lexitree.learning") == []


def test_a_command_imports_no_other(trees_file: Path) -> None:
    modules = imported_by("trees", "check", trees_file)
    assert "lexitree.cli.trees" in modules
    assert unwanted(modules, "torch", *HEAVY, "lexitree.cli.train", "lexitree.cli.predict") == []


def test_the_commands_are_those_of_the_help() -> None:
    app = make_app()
    names = [command.name for command in app.registered_commands] + [
        group.name for group in app.registered_groups
    ]
    assert sorted(filter(None, names)) == sorted(ALL_COMMANDS)
    assert set(ALL_COMMANDS) > set(COMMANDS)
    assert "reproduce" in ALL_COMMANDS
