"""Measure the errors of GPU backends against float64; nothing is timed unless the kernels are right."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from gpu_models import PRODUCTS, build
from lexitree.corpora.corpus import Corpus
from lexitree.models.classifier import TreeClassifier
from lexitree.ops.tree_batch import TreeBatch, batch_examples


def run_gate(corpus: Corpus, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Nothing is timed unless the kernels are right."""
    for row in (
        *(check(corpus, options.model, precision) for precision in PRODUCTS),
        check_bf16(corpus, options.model),
    ):
        yield row
        if not row["passes"]:
            raise SystemExit("the fused backend is not as exact as the level-wise one; no speed is reported")


def check(corpus: Corpus, name: str, precision: str) -> dict[str, Any]:
    """The worst relative error of scores and gradients, against float64, fused and level-wise alike."""
    model, examples = build(corpus, name, "levelwise", dropout=0.0)
    batch = batch_examples(examples[:25]).to("cuda")
    exact = scores_and_gradients(model.double(), batch)
    model.float()
    errors: dict[str, list[float]] = {}
    torch.set_float32_matmul_precision(PRODUCTS[precision])
    for backend in ("fused", "levelwise"):
        model.backend_name = backend
        found = scores_and_gradients(model, batch)
        errors[backend] = [
            float((a.double() - b).norm() / b.norm()) for a, b in zip(found, exact, strict=True)
        ]
    torch.set_float32_matmul_precision("highest")
    ratio = max(a / max(b, 1e-9) for a, b in zip(errors["fused"], errors["levelwise"], strict=True))
    return {
        "precision": precision,
        **{f"{backend}_error": max(values) for backend, values in errors.items()},
        "worst_ratio": ratio,
        "passes": ratio <= 2.0,
    }


@torch.inference_mode()
def check_bf16(corpus: Corpus, name: str) -> dict[str, Any]:
    """The error of the scores when the whole model is in bfloat16, which is for inference."""
    model, examples = build(corpus, name, "levelwise", dropout=0.0)
    batch = batch_examples(examples[:25]).to("cuda")
    exact = model.double()(batch)
    model.bfloat16()
    errors: dict[str, float] = {}
    for backend in ("fused", "levelwise"):
        model.backend_name = backend
        errors[backend] = float((model(batch).double() - exact).norm() / exact.norm())
    ratio = errors["fused"] / errors["levelwise"]
    return {
        "precision": "bf16",
        **{f"{backend}_error": error for backend, error in errors.items()},
        "worst_ratio": ratio,
        "passes": ratio <= 2.0,
    }


def scores_and_gradients(model: TreeClassifier, batch: TreeBatch) -> list[Tensor]:
    model.zero_grad()
    scores = model(batch)
    (model.loss(batch) / batch.num_trees).backward()
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    return [scores.detach(), *(gradient.to_dense().clone() for gradient in gradients)]
