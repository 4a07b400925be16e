import random

import torch
from torch import nn

import lexitree
from lexitree.nn import BottomUpLSTM, HeadComposer, TopDownLSTM, TreeBatch

# The value of an expression such as ( ( 3 - ( 1 + 4 ) ) - 2 ): a number for each tree, and for each of its phrases.
SIGNS = {"+": 1, "-": -1}
WORDS = {word: number for number, word in enumerate([*map(str, range(10)), *SIGNS])}
numbers = random.Random(1)


def make_tree(depth: int) -> tuple[str, list[int]]:
    """A tree in brackets, and the values of its nodes in pre-order; an operator counts 0."""
    if depth == 0 or numbers.random() < 0.25:
        digit = numbers.randrange(10)
        return f"(_ {digit})", [digit]
    sign = numbers.choice([*SIGNS])
    (left, values), (right, other_values) = make_tree(depth - 1), make_tree(depth - 1)
    right_value = SIGNS[sign] * other_values[0]
    # Binary: the operator and what follows it are a phrase of their own.
    text = f"(_ {left} (_ (_ {sign}) {right}))"
    return text, [values[0] + right_value, *values, right_value, 0, *other_values]


class Calculator(nn.Module):
    """Your model: an embedding, tree LSTMs in both directions, and an output layer."""

    def __init__(self, word_size: int = 32, hidden: int = 48) -> None:
        super().__init__()
        self.words = nn.Embedding(len(WORDS), word_size)
        self.heads = HeadComposer(word_size)
        self.up = BottomUpLSTM(word_size, hidden, lexical=True)
        self.down = TopDownLSTM(word_size, hidden)
        self.value = nn.Sequential(nn.Linear(2 * hidden, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, batch: TreeBatch) -> torch.Tensor:
        x = self.heads(self.words(batch.word_index), batch)  # [nodes, word_size]
        states = torch.cat([self.up(x, batch), self.down(x, batch)], 1)  # [nodes, 2 * hidden]
        return self.value(states).squeeze(1)  # [nodes]


def make_batch(size: int) -> tuple[TreeBatch, torch.Tensor]:
    made = [make_tree(3) for _ in range(size)]
    trees = [lexitree.tree_from_brackets(text) for text, _ in made]
    rows = [torch.tensor([WORDS[word] for word in tree.words]).numpy() for tree in trees]
    batch = TreeBatch.from_trees(trees, rows)
    # Values come by tree in pre-order, the model's answers in the order of the batch.
    values = torch.tensor([float(value) for _, each in made for value in each])
    return batch, torch.empty_like(values).index_copy_(0, batch.preorder_index, values)


torch.manual_seed(1)
torch.set_num_threads(1)  # the matrices are small
model = Calculator()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-2, total_steps=150)
for step in range(1, 151):
    batch, values = make_batch(64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        answers = model(batch)
    loss = nn.functional.mse_loss(answers.float(), values)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    if step % 50 == 0:
        print(f"step {step}: mean squared error {loss.item():.2f}")

batch, values = make_batch(200)
with torch.inference_mode():
    answers = model(batch)
error = (answers - values)[batch.root_index].abs().mean()
print(
    f"values of new expressions are off by {error:.2f} on average, zero would be off by "
    f"{values[batch.root_index].abs().mean():.2f}"
)
