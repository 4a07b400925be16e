"""Compile the kernels: most once for each kind of processor and each precision, into one library beside the sources.

    python -m lexitree.kernels.compiling

An editable installation does this by itself where there is a C compiler (see hatch_build.py in the repository, which
loads this file alone: it imports nothing of the package). Without a compiler the library is absent, and NumPy or
torch computes instead.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
LIBRARY = FOLDER / "_kernels.so"

KERNELS = (
    "heads.c",
    "bottom_up.c",
    "top_down.c",
    "sequences.c",
    "dense.c",
    "lstm.c",
    "span_scores.c",
    "best_trees.c",
    "node_features.c",
)
"""The files that are compiled for every processor and precision."""

COMMON = ("processor.c", "json_writing.c")
"""The files that are compiled once: neither processor nor precision matters to them."""

X86_TARGETS = {
    "avx512": ("-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma", "-mprefer-vector-width=512"),
    "avx2": ("-mavx2", "-mfma"),
}
"""The kinds of processors that x86 kernels are made for, fastest first, and what the compiler may use there."""
OTHER_TARGETS: dict[str, tuple[str, ...]] = {"generic": ()}

PRECISIONS: dict[str, tuple[str, ...]] = {"f32": (), "f64": ("-DDOUBLE_PRECISION",)}

# Sums are never reordered, so results repeat; the rest of -ffast-math would break the rounding in vectors.h.
FLAGS = (
    "-std=gnu11",
    "-O3",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
)


class CompilerError(Exception):
    """There is no compiler, or it failed; the message says why."""


def targets() -> dict[str, tuple[str, ...]]:
    """The kinds of processors that kernels are compiled for on a machine like this, with the compiler's options."""
    return X86_TARGETS if platform.machine().lower() in ("x86_64", "amd64") else OTHER_TARGETS


def source_hash() -> str:
    """A hash of all sources: a library that was compiled from others must not be called."""
    files = sorted(path for path in FOLDER.iterdir() if path.suffix in (".c", ".h"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def find_compiler() -> list[str] | None:
    """The command of the C compiler, None if there is none."""
    chosen = shlex.split(os.environ.get("CC", ""))
    candidates = [chosen] if chosen else [["cc"], ["gcc"], ["clang"]]
    return next((command for command in candidates if shutil.which(command[0])), None)


def compile_library(library: Path = LIBRARY) -> Path:
    """Compile the library.

    Raises:
        CompilerError: If there is no compiler, or it failed.
    """
    compiler = find_compiler()
    if compiler is None:
        raise CompilerError("there is no C compiler")
    with tempfile.TemporaryDirectory() as folder:
        objects = Path(folder)
        commands = [
            *(_Command(file, f"{file}.o", (f'-DSOURCE="{source_hash()}"',)) for file in COMMON),
            *_kernel_commands(),
        ]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for done in [pool.submit(command.run, compiler, objects) for command in commands]:
                done.result()
        linked = objects / "linked.so"
        _run(
            [*compiler, "-shared", "-o", str(linked), *(str(objects / command.made) for command in commands)]
        )
        # Another process may have the old library open: it keeps its file, and later ones find the new one.
        beside = library.with_name(f"{library.name}.{os.getpid()}")
        shutil.copyfile(linked, beside)
        beside.replace(library)
    return library


class _Command(NamedTuple):
    """One call of the compiler."""

    source: str
    made: str
    flags: tuple[str, ...]

    def run(self, compiler: list[str], folder: Path) -> None:
        _run([*compiler, *FLAGS, *self.flags, "-c", str(FOLDER / self.source), "-o", str(folder / self.made)])


def _kernel_commands() -> list[_Command]:
    return [
        _Command(file, f"{file}_{precision}_{target}.o", (*tuned, *typed, f"-DSUFFIX=_{precision}_{target}"))
        for file in KERNELS
        for target, tuned in targets().items()
        for precision, typed in PRECISIONS.items()
    ]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompilerError(f"{shlex.join(command)} failed:\n{done.stderr.strip()}")


def main() -> None:
    try:
        print(compile_library())
    except CompilerError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
