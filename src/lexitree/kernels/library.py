"""The compiled kernels: found, checked and called with tensors or NumPy arrays."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable

from lexitree.kernels import compiling
from lexitree.kernels.checked_calls import checked_kernel
from lexitree.kernels.signatures import SIGNATURES

WRITE_SENTENCE = "pp ii pi pi ppp i pp ii pi"
"""The arguments of `find_sentence_writer`'s function: p is an address or None, i a whole number."""

REMEDY = "python -m lexitree.kernels.compiling"

SWITCH = "LEXITREE_KERNELS"
"""The variable that switches the kernels off, to see what runs without: LEXITREE_KERNELS=off."""

Kernel = Callable[..., None]


class Kernels:
    """The kernels of one precision for one kind of processor, as functions of arrays and numbers.

    Each takes the arguments of its entry in `signatures.SIGNATURES`, and raises a `SizeError` if an array is not as
    large as the numbers say, or has indices beyond them.

    Args:
        library: The loaded library.
        precision: f32 or f64.
        target: The kind of processor.
    """

    def __init__(self, library: ctypes.CDLL, precision: str, target: str) -> None:
        for name, signature in SIGNATURES.items():
            run = checked_kernel(library[f"{name}_{precision}_{target}"], name, signature, precision)
            setattr(self, name, run)

    heads_pack: Kernel
    heads_forward_packed: Kernel
    heads_forward: Kernel
    heads_backward: Kernel
    bottom_up_pack: Kernel
    bottom_up_forward_packed: Kernel
    bottom_up_forward: Kernel
    bottom_up_backward: Kernel
    top_down_pack: Kernel
    top_down_forward_packed: Kernel
    top_down_forward: Kernel
    top_down_backward: Kernel
    sequences_pack: Kernel
    sequences_forward_packed: Kernel
    sequences_forward: Kernel
    sequences_backward: Kernel
    dense_pack: Kernel
    dense_forward: Kernel
    lstm_pack: Kernel
    lstm_forward: Kernel
    span_scores: Kernel
    best_trees: Kernel
    find_heads: Kernel
    gather_features: Kernel


def why_absent() -> str | None:
    """What keeps the kernels from running here, None if nothing does."""
    found = _load()
    return found if isinstance(found, str) else None


def supported_targets() -> tuple[str, ...]:
    """The kinds of processors whose kernels run on this one, fastest first."""
    library = _load()
    return () if isinstance(library, str) else _supported(library)


@functools.cache
def find_kernels(precision: str, target: str | None = None) -> Kernels:
    """The kernels of a precision, f32 or f64, for a kind of processor or the best that this one supports.

    Raises:
        OSError: If they cannot run here; see `why_absent`.
    """
    library = _load()
    if isinstance(library, str):
        raise OSError(library)
    return Kernels(library, precision, target or _supported(library)[0])


@functools.cache
def find_sentence_writer() -> Callable[..., int] | None:
    """Writes a sentence as JSON and returns the number of bytes (json_writing.c); None if kernels cannot run here."""
    library = _load()
    if isinstance(library, str):
        return None
    function = library.lexitree_write_sentence
    kinds = {"p": ctypes.c_void_p, "i": ctypes.c_int64}
    function.argtypes = [kinds[letter] for letter in WRITE_SENTENCE.replace(" ", "")]
    function.restype = ctypes.c_int64
    return function


@functools.cache
def _load() -> ctypes.CDLL | str:
    """The library, or why there is none."""
    if os.environ.get(SWITCH) == "off":
        return f"the kernels are switched off ({SWITCH}=off)"
    if not compiling.LIBRARY.exists():
        return f"the kernels are not compiled ({REMEDY})"
    try:
        library = ctypes.CDLL(str(compiling.LIBRARY))
        library.lexitree_source.restype = ctypes.c_char_p
    except (OSError, AttributeError) as error:
        return f"the kernels cannot be loaded: {error}"
    if library.lexitree_source().decode() != compiling.source_hash():
        return f"the kernels were compiled from other sources ({REMEDY})"
    return library if _supported(library) else "this processor lacks AVX2"


def _supported(library: ctypes.CDLL) -> tuple[str, ...]:
    if compiling.targets() is compiling.OTHER_TARGETS:
        return tuple(compiling.OTHER_TARGETS)
    return tuple(target for target in compiling.X86_TARGETS if library[f"lexitree_has_{target}"]())
