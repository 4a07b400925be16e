"""Guesses the vectors of unknown words from their letters, as fastText does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from lexitree.errors import ConfigError
from lexitree.lexicon.guessing import flatten_bags, letter_groups, plan_guesses
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.ops.transfers import send


class VectorGuesser(nn.Module):
    """Guesses the vector of a word as a sum over the groups of letters in it, as fastText does.

    There are many more groups than rows here, so each shares its row with a few others, told by a checksum. The
    sums are short vectors, which one matrix makes as long as the table's. `fit_guesser` finds the numbers. They are
    buffers and not parameters: training a model leaves them alone.
    """

    group_vectors: Tensor
    projection: Tensor
    mean: Tensor

    def __init__(
        self,
        group_vectors: Float[Tensor, "groups small"],
        projection: Float[Tensor, "small word"],
        mean: Float[Tensor, " word"],
    ) -> None:
        super().__init__()
        if (group_vectors.ndim, mean.ndim) != (2, 1) or not group_vectors.numel():
            raise ValueError("a guesser has a table of groups of letters and a mean")
        if (group_vectors.shape[1], len(mean)) != projection.shape:
            raise ValueError("the tensors of a guesser do not fit each other")
        self.register_buffer("group_vectors", group_vectors)
        self.register_buffer("projection", projection)
        self.register_buffer("mean", mean)

    @property
    def word_size(self) -> int:
        return len(self.mean)

    def forward(self, words: Sequence[str]) -> Float[Tensor, "words word"]:
        """A vector for each word, by its letters alone; what other words it comes with does not matter."""
        groups = [letter_groups(word, len(self.group_vectors)) for word in words]
        flat, starts = send_bags(groups, self.mean.device)
        sums = nn.functional.embedding_bag(flat, self.group_vectors, starts, mode="sum")
        return sums @ self.projection + self.mean


def send_bags(bags: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """The rows of several bags, one after the other, and where each bag begins; sent to a device in one copy."""
    rows, starts = flatten_bags(bags)
    numbers = torch.from_numpy(np.concatenate([rows, starts]))
    sent = torch.split(send(numbers, device), [len(rows), len(bags)])
    return sent[0], sent[1]


def guess_vectors(
    words: Sequence[str],
    vocabulary: Vocabulary,
    vectors: Float[Tensor, "rows word"],
    guesser: VectorGuesser,
) -> Float[Tensor, "words word"]:
    """A vector for each word that a vocabulary does not have; `plan_guesses` says which."""
    plan = plan_guesses(words, vocabulary)
    spelled = guesser(plan.spelled)
    known = send(torch.tensor(plan.known, dtype=torch.long), spelled.device)
    table = torch.cat([spelled, vectors.index_select(0, known).to(spelled.dtype)])
    flat, starts = send_bags(plan.bags, spelled.device)
    shares = send(torch.tensor(list(chain.from_iterable(plan.weights)), dtype=table.dtype), spelled.device)
    return nn.functional.embedding_bag(flat, table, starts, mode="sum", per_sample_weights=shares)


NUM_ROWS = 1 << 15
SMALL_SIZE = 64
NUM_EPOCHS = 10
BATCH_WORDS = 256
LEARNING_RATE = 3e-3
DROPPED = 0.5
"""The share of a word's groups that are left out of an update, or it would learn words by heart."""
HELD_OUT = 0.03
"""The share of the words that is kept apart to tell how good the guesses are."""


@dataclass(frozen=True, slots=True)
class FittedGuesser:
    """A guesser, and how near it comes to the vectors of words that it was not fitted to."""

    guesser: VectorGuesser
    similarity: float
    """The mean cosine of guessed and true vectors ..."""
    mean_similarity: float
    """... and that of the mean of all vectors, which is what an unknown word has otherwise."""


def fit_guesser(
    words: Sequence[str],
    vectors: Float[Tensor, "words word"],
    *,
    num_rows: int = NUM_ROWS,
    size: int = SMALL_SIZE,
    num_epochs: int = NUM_EPOCHS,
    seed: int = 1,
) -> FittedGuesser:
    """Fit a guesser to words that have vectors, by least squares. 50,000 words take less than a minute."""
    if len(words) < 2:
        raise ConfigError("a guesser needs at least two words to be fitted to")
    random = torch.Generator().manual_seed(seed)
    vectors = vectors.detach().float().cpu()
    groups = [torch.tensor(letter_groups(word, num_rows)) for word in words]
    fitted, held_out = _split(words, random)
    weights = [
        torch.empty(num_rows, size).normal_(std=0.05, generator=random),
        torch.empty(size, vectors.shape[1]).normal_(std=size**-0.5, generator=random),
        vectors[fitted].mean(0),
    ]
    parameters = [nn.Parameter(weight) for weight in weights]
    optimizer = torch.optim.Adam(parameters, lr=LEARNING_RATE)
    for epoch in range(num_epochs):
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - epoch / num_epochs)
        for batch in _shuffled(fitted, random):
            guesses = _guesses([groups[word] for word in batch], parameters, random)
            optimizer.zero_grad()
            nn.functional.mse_loss(guesses, vectors[batch]).backward()
            optimizer.step()
    guesser = VectorGuesser(*(parameter.detach() for parameter in parameters))
    truth, mean = vectors[held_out], weights[2]
    guessed = guesser([words[word] for word in held_out])
    return FittedGuesser(guesser, _similarity(guessed, truth), _similarity(mean.expand_as(truth), truth))


def _split(words: Sequence[str], random: torch.Generator) -> tuple[list[int], list[int]]:
    """The numbers of the words to fit to and of those held out: `Film` and `film` go together."""
    forms = sorted({word.lower() for word in words})
    num_apart = max(1, int(HELD_OUT * len(forms)))
    apart = {forms[number] for number in _permutation(len(forms), random)[:num_apart]}
    held_out = [number for number, word in enumerate(words) if word.lower() in apart]
    fitted = [number for number, word in enumerate(words) if word.lower() not in apart]
    return fitted or held_out, held_out


def _shuffled(numbers: Sequence[int], random: torch.Generator) -> Iterator[list[int]]:
    order = _permutation(len(numbers), random)
    for start in range(0, len(order), BATCH_WORDS):
        yield [numbers[place] for place in order[start : start + BATCH_WORDS]]


def _permutation(number: int, random: torch.Generator) -> list[int]:
    return cast("list[int]", torch.randperm(number, generator=random).tolist())


def _guesses(groups: Sequence[Tensor], parameters: Sequence[Tensor], random: torch.Generator) -> Tensor:
    """What the guesser would say if it saw only some of each word's groups."""
    group_vectors, projection, mean = parameters
    flat = torch.cat(list(groups))
    starts = torch.tensor([0, *(len(word) for word in groups[:-1])]).cumsum(0)
    kept = (torch.rand(len(flat), generator=random) >= DROPPED).float() / (1 - DROPPED)
    sums = nn.functional.embedding_bag(flat, group_vectors, starts, mode="sum", per_sample_weights=kept)
    return sums @ projection + mean


def _similarity(guesses: Tensor, truth: Tensor) -> float:
    return float(torch.cosine_similarity(guesses, truth).mean())
