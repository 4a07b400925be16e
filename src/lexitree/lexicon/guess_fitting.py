"""Words with their vectors in, a guesser out that tells from a word's letters about where its vector is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lexitree.errors import ConfigError
from lexitree.lexicon.guesses import VectorGuesser, letter_groups

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
