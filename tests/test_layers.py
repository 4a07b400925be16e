"""A module imports only from rooms that stand before its own in the drawing of docs/architecture.md."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import lexitree

PACKAGE = Path(lexitree.__file__).parent
PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
LAYERS = tuple(
    room
    for line in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[0].splitlines()
    # The first column, which ends with several spaces, names the layer.
    for room in re.split(r" {2,}", line)[1:]
)
"""The rooms in the order of the drawing in the documentation."""

WITH_TORCH = ("ops", "models", "saving", "parsers", "learning", "tasks")
"""The rooms that compute with tensors. All others hold NumPy arrays, so that answers without torch stay possible."""

FRONT_DOORS = ("__init__.py", "__main__.py")
"""These two name everything by design."""


def layer_of(module: str) -> int:
    return LAYERS.index(module.split(".")[1])


def all_imports(path: Path) -> set[str]:
    """The names of everything that a module imports, wherever the import stands."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names if node.module == "lexitree")
    return found


def imported_modules(path: Path) -> set[str]:
    return {name for name in all_imports(path) if name.startswith("lexitree.")}


def test_every_module_has_its_layer() -> None:
    names = {path.stem if path.is_file() else path.name for path in PACKAGE.iterdir()}
    assert names - {"__init__", "__main__", "__pycache__", "py", "shipped"} == set(LAYERS)


def test_the_page_describes_every_room() -> None:
    described = re.findall(r"^\| `(\w+)` \|", PAGE.partition("## One sentence")[0], re.MULTILINE)
    assert described == [room for room in LAYERS if room != "version"]


def test_the_page_names_what_there_is() -> None:
    names = re.findall(r"`(lexitree(?:\.\w+)+)`", PAGE)
    assert len(names) > 20
    for name in names:
        module, _, attribute = name.rpartition(".")
        found = importlib.import_module(module)
        assert hasattr(found, attribute) or importlib.import_module(name), name


def test_imports_go_upwards_only() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in PACKAGE.rglob("*.py")
        if not (path.parent == PACKAGE and path.name in FRONT_DOORS)
        for name in imported_modules(path)
        if layer_of(name) > LAYERS.index(path.relative_to(PACKAGE).parts[0].removesuffix(".py"))
    ]
    assert wrong == []


def test_the_library_never_imports_the_paper() -> None:
    """Nor does it name a module of it, which could be imported by its name."""
    assert [
        path
        for path in (*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi"))
        if b"lexitree_paper" in path.read_bytes()
    ] == []


def test_only_rooms_that_compute_import_torch() -> None:
    """Imports inside of functions count too."""
    found = {
        path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for path in PACKAGE.rglob("*.py")
        if any(name.partition(".")[0] == "torch" for name in all_imports(path))
    }
    assert sorted(found - set(WITH_TORCH)) == []


def test_the_front_door_offers_what_it_lists() -> None:
    for name in lexitree.__all__:
        assert getattr(lexitree, name) is not None
    assert set(dir(lexitree)) == set(lexitree.__all__)


def test_the_stub_imports_every_name_from_its_module() -> None:
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    imported = {
        alias.name: node.module
        for node in ast.walk(stub)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(imported) == set(lexitree.__all__)
    modules = {name: importlib.import_module(module or "") for name, module in imported.items()}
    assert [
        name for name, module in modules.items() if getattr(module, name) is not getattr(lexitree, name)
    ] == []


def test_the_front_door_offers_what_the_command_line_does() -> None:
    """Each command is a few calls of public names."""
    commands = {
        "data": {"fetch", "load_corpus", "load_sentences", "load_treebank"},
        "models": {"count_parameters", "list_models", "list_shipped"},
        "pack": {"load_corpus", "load_parser", "pack_model", "read_vectors", "save_model"},
        "trees": {
            "strip_function_tags",
            "strip_traces",
            "tree_statistics",
            "write_json_lines",
            "write_trees",
        },
        "vectors": {"coverage", "read_vectors", "write_vectors_npz"},
    }
    assert {command: names - set(lexitree.__all__) for command, names in commands.items()} == {
        command: set() for command in commands
    }


def test_what_several_modules_need_is_defined_once() -> None:
    sources = {str(path.relative_to(PACKAGE)): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    homes = {
        'Literal["raise", "skip"]': ["errors.py"],
        " Console(": ["cli/console.py"],
        "def show_skipped(": ["cli/console.py"],
        "EncodingOption = Annotated[": ["cli/options.py"],
        "OnErrorOption = Annotated[": ["cli/options.py"],
    }
    found = {text: [name for name, source in sources.items() if text in source] for text in homes}
    assert found == homes
