"""The central statements of docs/security.md: data is never code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))

CODE_FROM_DATA = {
    "cloudpickle",
    "code",
    "dill",
    "joblib",
    "jsonpickle",
    "marshal",
    "pickle",
    "shelve",
    "yaml",
}
"""Modules that make objects or code from data."""
CALLS = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "torch.load",
    "np.load",
    "numpy.load",
    "os.system",
    "os.popen",
}
ONLY_FALSE = {"allow_pickle", "trust_remote_code"}
STARTS_PARSERS = "parsers/adapters/process.py"
"""The only module that may start a program through a shell: that of a parser, which the user has named."""


def code_from_data(source: str) -> Iterator[str]:
    """What in a program could run code that comes with data."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.partition(".")[0] in CODE_FROM_DATA)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in CODE_FROM_DATA:
            yield str(node.module)
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in CALLS:
                yield name
            for keyword in node.keywords:
                is_false = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
                if keyword.arg in {*ONLY_FALSE, "shell", "weights_only"} and not is_false:
                    yield str(keyword.arg)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if (
                    isinstance(key, ast.Constant)
                    and key.value in ONLY_FALSE
                    and ast.unparse(value) != "False"
                ):
                    yield str(key.value)


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from yaml import load",
        "torch.load(path)",
        "np.load(path, allow_pickle=True)",
        "eval(text)",
        "exec(text)",
        "subprocess.run(text, shell=True)",
        "options = {'trust_remote_code': True}",
        "AutoModel.from_pretrained(name, trust_remote_code=remote)",
    ],
)
def test_code_from_data_is_found(source: str) -> None:
    assert list(code_from_data(source))


def test_no_module_runs_code_that_comes_with_data() -> None:
    assert len(SOURCES) > 200
    found = {
        str(path.relative_to(ROOT / "src")): names
        for path in SOURCES
        if (names := list(code_from_data(path.read_text(encoding="utf-8"))))
    }
    assert found == {f"lexitree/{STARTS_PARSERS}": ["shell"]}


def test_the_pages_about_security_are_there() -> None:
    assert "security.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    assert "private security advisory" in page
    assert "docs/security.md" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
