"""The recurrences in other people's models: precision, optimizers, the compiler, several processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

import lexitree
from lexitree import nn
from lexitree.errors import SizeError, TreeError
from lexitree.kernels.library import why_absent
from tests.command import environment
from tests.tiny import tiny_dependencies, tiny_trees

WORD_SIZE, HIDDEN = 6, 4
TREES = tiny_trees(5)
BATCH = nn.TreeBatch.from_trees(TREES)
DEPENDENCIES = nn.TreeBatch.from_trees(tiny_dependencies(5))
SCHEDULE = nn.SequenceSchedule.from_spans(BATCH.span_start.numpy(), BATCH.span_end.numpy())


class Nearer(nn.HeadGate):
    def __init__(self, word_size: int) -> None:
        super().__init__(word_size)
        self.score = torch.nn.Linear(word_size, 1)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return torch.sigmoid(self.score(left) - self.score(right))


Case = tuple[torch.nn.Module, int, object]
"""A module, the number of rows it needs, and the trees that it reads."""

CASES: dict[str, Callable[[], Case]] = {
    "gated heads": lambda: (nn.HeadComposer(WORD_SIZE), BATCH.num_leaves, BATCH),
    "mean heads": lambda: (nn.HeadComposer(WORD_SIZE, "A"), BATCH.num_leaves, BATCH),
    "left heads": lambda: (nn.HeadComposer(WORD_SIZE, "L"), BATCH.num_leaves, BATCH),
    "mixed heads": lambda: (nn.HeadMixer(Nearer(WORD_SIZE)), BATCH.num_leaves, BATCH),
    "bottom-up": lambda: (nn.BottomUpLSTM(WORD_SIZE, HIDDEN), BATCH.num_leaves, BATCH),
    "bottom-up over heads": lambda: (
        nn.BottomUpLSTM(WORD_SIZE, HIDDEN, lexical=True, peepholes=False),
        BATCH.num_nodes,
        BATCH,
    ),
    "top-down": lambda: (nn.TopDownLSTM(WORD_SIZE, HIDDEN), BATCH.num_nodes, BATCH),
    "child-sum": lambda: (nn.ChildSumLSTM(WORD_SIZE, HIDDEN), DEPENDENCIES.num_nodes, DEPENDENCIES),
    "gated children": lambda: (nn.GatedChildrenLSTM(WORD_SIZE, HIDDEN), BATCH.num_leaves, BATCH),
    "tensor network": lambda: (nn.TensorNetwork(WORD_SIZE), BATCH.num_leaves, BATCH),
    "sequences": lambda: (nn.SequenceLSTM(WORD_SIZE, HIDDEN), BATCH.num_leaves, SCHEDULE),
}
each_case = pytest.mark.parametrize("name", CASES)


def make(name: str, seed: int = 1) -> tuple[torch.nn.Module, Tensor, object]:
    torch.manual_seed(seed)
    module, num_rows, trees = CASES[name]()
    return module, torch.randn(num_rows, WORD_SIZE), trees


def gradients(module: torch.nn.Module, x: Tensor, loss: Callable[[Tensor], Tensor]) -> list[Tensor]:
    """The gradients of x and of the weights, and no gradients left behind."""
    x = x.clone().requires_grad_()
    module.zero_grad()
    loss(x).backward()
    found = [x.grad, *(weight.grad for weight in module.parameters())]
    assert all(each is not None for each in found)
    return [each.clone() for each in found if each is not None]


@each_case
def test_autocast_changes_neither_states_nor_gradients(name: str) -> None:
    """A recurrence computes in the precision of its weights."""
    module, x, trees = make(name)
    x = x.bfloat16().float()
    plain = module(x, trees)
    expected = gradients(module, x, lambda x: module(x, trees).square().sum())

    def under_autocast(x: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            # What autocast gives to the next layer.
            return module(x.bfloat16(), trees).square().sum()

    with torch.autocast("cpu", dtype=torch.bfloat16):
        states = module(x.bfloat16(), trees)
    assert states.dtype == (torch.float32 if [*module.parameters()] else torch.bfloat16)
    exact = {} if [*module.parameters()] else {"rtol": 1e-2, "atol": 1e-2}
    torch.testing.assert_close(states.float(), plain, **exact)
    for found, wanted in zip(gradients(module, x, under_autocast), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-2, atol=1e-2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = gradients(module, x, lambda x: module(x, trees).square().sum())
    for found, wanted in zip(inside, expected, strict=True):
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, wanted, rtol=5e-2, atol=5e-2)


@each_case
def test_weights_come_back_and_half_precision_runs(name: str) -> None:
    module, x, trees = make(name)
    other = make(name, seed=2)[0]
    other.load_state_dict(module.state_dict())
    assert torch.equal(other(x, trees), module(x, trees))
    assert other.bfloat16()(x, trees).dtype == (torch.bfloat16 if [*other.parameters()] else torch.float32)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("mean heads", "left heads")])
def test_any_optimizer_trains_them(name: str) -> None:
    module, x, trees = make(name)
    wanted = torch.zeros_like(module(x, trees))
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.05)
    losses: list[float] = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(module(x, trees), wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", [name for name in CASES if name != "sequences"])
def test_rows_that_do_not_belong_to_the_trees_are_refused(name: str) -> None:
    module, x, trees = make(name)
    with pytest.raises(
        TreeError, match=f"needs {len(x)} rows, one for each of the (leaves|nodes), not {len(x) - 1}"
    ):
        module(x[1:], trees)


@each_case
@pytest.mark.parametrize("change", [-1, 1])
def test_vectors_of_another_size_are_refused(name: str, change: int) -> None:
    module, x, trees = make(name)
    wrong = torch.randn(len(x), WORD_SIZE + change)
    with pytest.raises(
        SizeError, match=f"vectors of {WORD_SIZE} numbers, and x has rows of {WORD_SIZE + change}"
    ):
        module(wrong, trees)


OTHER_SHAPES = """
import numpy as np
import torch
from tests.test_nn import BATCH, CASES, HIDDEN, WORD_SIZE, make
from lexitree import nn
from lexitree import tree_from_brackets
from lexitree.errors import SizeError

TREE = tree_from_brackets("(X (X a b) c)")

def refused(call):
    try:
        call()
    except SizeError as error:
        print(error.message)
    else:
        raise SystemExit("accepted")

for name in CASES:
    module, x, trees = make(name)
    refused(lambda: module(x[..., None], trees))
    refused(lambda: module(x[:, 0], trees))
    refused(lambda: module(torch.stack([x, x]), trees))
spans = nn.SequenceSchedule.from_spans(np.array([0, 2]), np.array([2, 9_000_000]))
refused(lambda: nn.SequenceLSTM(WORD_SIZE, HIDDEN)(torch.zeros(4, WORD_SIZE), spans))
refused(lambda: nn.SequenceSchedule.from_spans(np.array([3]), np.array([3])))
refused(lambda: nn.SequenceSchedule.from_spans(np.array([-1]), np.array([2])))
for tensor in ("children_index", "level_offset"):
    batch = nn.TreeBatch.from_trees([TREE])
    getattr(batch, tensor)[-1] += 1_000_000
    for module in (nn.HeadComposer(WORD_SIZE), nn.BottomUpLSTM(WORD_SIZE, HIDDEN)):
        refused(lambda: module(torch.zeros(3, WORD_SIZE), batch))
for tensor in ("down_order", "down_parent_index", "depth_offset"):
    batch = nn.TreeBatch.from_trees([TREE])
    getattr(batch, tensor)[-1] -= 1_000_000
    refused(lambda: nn.TopDownLSTM(WORD_SIZE, HIDDEN)(torch.zeros(5, WORD_SIZE), batch))
"""


@pytest.mark.skipif(why_absent() is not None, reason=str(why_absent()))
def test_other_shapes_and_indices_are_refused() -> None:
    """In a process of its own, without the checks of shapes that tests have: users have none."""
    paths = os.pathsep.join(str(Path(__file__).parents[1] / part) for part in ("src", ""))
    done = subprocess.run(
        [sys.executable, "-c", OTHER_SHAPES],
        env={**environment(), "PYTHONPATH": paths, "JAXTYPING_DISABLE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"needs one row of {WORD_SIZE} numbers for each word or node" in done.stdout
    assert "'word_of' from 0 to 8999999" in done.stdout


def test_trees_must_be_binary() -> None:
    wide = nn.TreeBatch.from_trees([lexitree.tree_from_brackets("(X (X a) (X b) (X c))")])
    with pytest.raises(TreeError, match="BottomUpLSTM reads binary trees") as caught:
        nn.BottomUpLSTM(WORD_SIZE, HIDDEN)(torch.zeros(3, WORD_SIZE), wide)
    assert "to_binary" in caught.value.remedy
    assert nn.ChildSumLSTM(WORD_SIZE, HIDDEN)(torch.zeros(4, WORD_SIZE), wide).shape == (4, HIDDEN)


def test_a_gate_of_ones_own_gives_head_words() -> None:
    heads, x, _ = make("mixed heads")
    assert isinstance(heads, nn.HeadMixer)
    vectors = heads(x, BATCH)
    found = heads.find_words(vectors, BATCH)
    assert ((BATCH.span_start <= found.leaf) & (found.leaf < BATCH.span_end)).all()
    shares = heads.left_shares(vectors, BATCH)
    assert shares.shape == (BATCH.num_nodes - BATCH.num_leaves, WORD_SIZE)
    left, right = vectors[BATCH.children_index].view(-1, 2, WORD_SIZE).unbind(1)
    torch.testing.assert_close(shares * left + (1 - shares) * right, vectors[BATCH.num_leaves :])


class TreeRegressor(torch.nn.Module):
    """A model as somebody else might write it."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Sequential(torch.nn.Linear(WORD_SIZE, WORD_SIZE), torch.nn.ReLU())
        self.heads = nn.HeadComposer(WORD_SIZE)
        self.up = nn.BottomUpLSTM(WORD_SIZE, HIDDEN, lexical=True)
        self.down = nn.TopDownLSTM(WORD_SIZE, HIDDEN)
        self.score = torch.nn.Linear(2 * HIDDEN, 1)

    def forward(self, vectors: Tensor, batch: nn.TreeBatch) -> Tensor:
        x = self.heads(self.words(vectors), batch)
        return self.score(torch.cat([self.up(x, batch), self.down(x, batch)], 1)).squeeze(1)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_model_computes_the_same(backend: str) -> None:
    torch.manual_seed(1)
    model = TreeRegressor()
    compiled = torch.compile(model, backend=backend)
    for trees in (TREES, tiny_trees(9, seed=3)):
        batch = nn.TreeBatch.from_trees(trees)
        x = torch.randn(batch.num_leaves, WORD_SIZE)
        expected = gradients(model, x, lambda x, batch=batch: model(x, batch).square().sum())
        found = gradients(model, x, lambda x, batch=batch: compiled(x, batch).square().sum())
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other)


DISTRIBUTED = """
import sys
import torch
import torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel
from lexitree import nn
from tests.test_nn import WORD_SIZE, TreeRegressor
from tests.tiny import tiny_trees

rank, meeting_point, result = int(sys.argv[1]), sys.argv[2], sys.argv[3]
distributed.init_process_group("gloo", init_method=f"file://{meeting_point}", rank=rank, world_size=2)
torch.manual_seed(1)
model = DistributedDataParallel(TreeRegressor())
batch = nn.TreeBatch.from_trees(tiny_trees(4, seed=rank))
torch.manual_seed(rank)
model(torch.randn(batch.num_leaves, WORD_SIZE), batch).square().mean().backward()
torch.save({name: weight.grad for name, weight in model.module.named_parameters()}, f"{result}-{rank}.pt")
distributed.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_share_their_gradients(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(DISTRIBUTED)
    root = Path(__file__).parents[1]
    paths = f"{root / 'src'}:{root}"
    running = [
        subprocess.Popen(
            [sys.executable, program, str(rank), tmp_path / "meet", tmp_path / "gradients"],
            env={**environment(), "PYTHONPATH": paths},
        )
        for rank in range(2)
    ]
    assert [process.wait(120) for process in running] == [0, 0]
    shared = [torch.load(tmp_path / f"gradients-{rank}.pt") for rank in range(2)]
    torch.manual_seed(1)
    model = TreeRegressor()
    expected = [torch.zeros_like(weight) for weight in model.parameters()]
    for rank in range(2):
        batch = nn.TreeBatch.from_trees(tiny_trees(4, seed=rank))
        torch.manual_seed(rank)
        x = torch.randn(batch.num_leaves, WORD_SIZE)
        own = gradients(model, x, lambda x, batch=batch: model(x, batch).square().mean())[1:]
        expected = [total + each / 2 for total, each in zip(expected, own, strict=True)]
    for name, wanted in zip(dict(model.named_parameters()), expected, strict=True):
        torch.testing.assert_close(shared[0][name], wanted)
        assert torch.equal(shared[0][name], shared[1][name])
