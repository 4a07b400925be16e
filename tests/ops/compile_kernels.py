"""The fused kernels in, machine code for GPUs out, without a GPU: run as a program, one line a kernel."""

from __future__ import annotations

import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from lexitree.ops.fused import bottom_up_kernels, heads, rows, top_down_kernels

INDICES = ("children", "level_offset", "counts", "down_order", "down_parent", "depth_offset", "rows", "order")
NUMBERS = ("learning_rate", "epsilon", "shrink", "l2")
DOUBLES = ("betas", "corrections")

TILES = {"ROWS": 16, "COLUMNS": 16, "INNER": 32}
SIZES = {"HIDDEN": 150, "SIZE": 300, "BLOCK": 512, "NO_ROW": rows.NO_ROW}
FLAGS = {"IS_LEXICAL": True, "HAS_PEEPHOLES": True}


def main() -> None:
    capability, precision = int(sys.argv[1]), sys.argv[2]
    for kernel in (
        heads._heads_forward,
        heads._heads_backward,
        bottom_up_kernels.bottom_up_forward,
        bottom_up_kernels.bottom_up_backward,
        top_down_kernels.top_down_forward,
        top_down_kernels.top_down_backward,
        rows._update_rows,
    ):
        constants = {**TILES, **SIZES, **FLAGS, "PRECISION": precision}
        constants = {name: constants[name] for name in kernel.arg_names if name in constants}
        signature = {name: kind_of(name, constants) for name in kernel.arg_names}
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
        compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32))
        print(kernel.__name__, len(compiled.asm["cubin"]))


def kind_of(name: str, constants: dict[str, object]) -> str:
    if name in constants:
        return "constexpr"
    if name in INDICES:
        return "*i64"
    if name in DOUBLES:
        return "*fp64"
    if name in NUMBERS:
        return "fp32"
    return {"arrivals": "*i32", "num_leaves": "i32"}.get(name, "*fp32")


if __name__ == "__main__":
    main()
