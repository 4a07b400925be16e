"""Guesses the vectors of unknown words from their letters, as fastText does."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from lexitree.errors import ConfigError
from lexitree.lexicon.vocabulary import UNK_INDEX, Vocabulary
from lexitree.lexicon.word_parts import MAX_LETTERS, WordParts, joined_parts, typed_parts
from lexitree.ops.tree_batch import send
from lexitree.trees.brackets import surface_form

SHORTEST_GROUP, LONGEST_GROUP = 2, 5

_REPEATS = re.compile(r"(\D)\1\1+")


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
    lengths = np.array([len(bag) for bag in bags], dtype=np.int64)
    rows = np.fromiter(chain.from_iterable(bags), dtype=np.int64, count=int(lengths.sum()))
    numbers = np.concatenate([rows, np.cumsum(lengths) - lengths])
    flat, starts = torch.split(send(torch.from_numpy(numbers), device), [len(rows), len(bags)])
    return flat, starts


def letter_groups(word: str, num_rows: int) -> list[int]:
    """The rows of a word's groups of two to five letters, each group once, and of how it is capitalized.

    A checksum is the same on every machine, which Python's own hash of a text is not.
    """
    framed = f"<{word.lower()[:MAX_LETTERS]}>"
    groups = {
        framed[start : start + size]: None
        for size in range(SHORTEST_GROUP, LONGEST_GROUP + 1)
        for start in range(len(framed) - size + 1)
    }
    case = f"case {word[:1].isupper():d}{word.isupper():d}"
    return [zlib.crc32(group.encode("utf-8", "surrogatepass")) % num_rows for group in (*groups, case)]


def guess_vectors(
    words: Sequence[str],
    vocabulary: Vocabulary,
    vectors: Float[Tensor, "rows word"],
    guesser: VectorGuesser,
) -> Float[Tensor, "words word"]:
    """A vector for each word that a vocabulary does not have.

    `goooood` has the vector of `good`. That of `thought-provokingly` is half what its letters say, and half the mean
    of its parts; that of a hashtag or a pictograph is the mean of its words, where these are looked up. All others go
    by their letters.
    """
    surfaces = [surface_form(word) for word in words]
    parts = {word: _parts(word, vocabulary) for word in surfaces}
    strange = [part for each in parts.values() for part in each.words if not vocabulary.index(part)]
    asked = {word: number for number, word in enumerate({**parts, **dict.fromkeys(strange)})}
    # Each guess is a weighted sum of known vectors and of those that letters give, so all are made in one call.
    rows: list[list[int]] = []
    weights: list[list[float]] = []
    for word in surfaces:
        own, of_parts = asked[word], parts[word]
        if row := _row_without_repeats(word, vocabulary):
            rows.append([len(asked) + row])
            weights.append([1.0])
        elif of_parts.words:
            share = (1.0 if of_parts.is_all else 0.5) / len(of_parts.words)
            known = [(part, vocabulary.index(part)) for part in of_parts.words]
            rows.append([own, *(len(asked) + row if row else asked[part] for part, row in known)])
            weights.append([0.0 if of_parts.is_all else 0.5, *[share] * len(known)])
        else:
            rows.append([own])
            weights.append([1.0])
    return _weighted_sums(rows, weights, guesser(list(asked)), vectors)


def _weighted_sums(
    rows: Sequence[Sequence[int]],
    weights: Sequence[Sequence[float]],
    first: Float[Tensor, "first word"],
    others: Float[Tensor, "others word"],
) -> Float[Tensor, "words word"]:
    """Weighted sums of the rows of two tables, which are numbered one after the other."""
    used = sorted({row for bag in rows for row in bag if row >= len(first)})
    place = {row: len(first) + number for number, row in enumerate(used)}
    known = send(torch.tensor([row - len(first) for row in used], dtype=torch.long), first.device)
    table = torch.cat([first, others.index_select(0, known).to(first.dtype)])
    flat, starts = send_bags([[place.get(row, row) for row in bag] for bag in rows], first.device)
    shares = send(torch.tensor(list(chain.from_iterable(weights)), dtype=table.dtype), first.device)
    return nn.functional.embedding_bag(flat, table, starts, mode="sum", per_sample_weights=shares)


def _parts(word: str, vocabulary: Vocabulary) -> WordParts:
    """The words that a word is made of; none if it is not."""
    if vocabulary.lookup == "written":
        return WordParts(joined_parts(word), is_all=False)
    return typed_parts(word, vocabulary.index)


def _row_without_repeats(word: str, vocabulary: Vocabulary) -> int:
    """The row of the word that is lengthened by repeating a letter, digits aside; 0 where it is no such word."""
    if not _REPEATS.search(word):
        return UNK_INDEX
    return vocabulary.index(_REPEATS.sub(r"\1\1", word)) or vocabulary.index(_REPEATS.sub(r"\1", word))


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
