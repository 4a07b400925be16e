"""The pieces of sentences in, a vector for each word in its context out: a pretrained transformer as a lexicon."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexitree.errors import ConfigError
from lexitree.lexicon.encoder_files import locate_encoder, read_encoder
from lexitree.lexicon.pieces import PieceBatch, SplitSentence, Unit
from lexitree.lexicon.splitting import PieceSplitter
from lexitree.lexicon.table import IndexArray, Lexicon, WordTable

LayerChoice = Literal["last", "mix"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerConfig:
    """Which transformer reads the words, and what is taken from it."""

    name: str
    """A local directory, a name of the Hugging Face hub, or a short one: `minilm`."""
    revision: str | None = None
    """A branch, tag or commit of the hub."""
    layers: LayerChoice = "last"
    """A word's vector is the mean of its pieces' last states, or of a learned mixture of the states of all layers."""
    half_precision: bool = True
    """On a GPU, compute in bfloat16; the weights stay in 32 bits."""

    def __post_init__(self) -> None:
        if not self.name:
            raise ConfigError("an encoder has a name: that of a directory, or of a model on the hub")
        if self.layers not in get_args(LayerChoice):
            raise ConfigError(f"encoder layers must be last or mix, not {self.layers!r}")

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


class TransformerLexicon(Lexicon):
    """A transformer that gives words vectors in their context, and beside them, if given, a table of static ones.

    With the unit "phrase" each phrase of a tree is read for itself, and has one vector: no tree is left in that.
    """

    def __init__(
        self,
        config: TransformerConfig,
        encoder: nn.Module,
        tokenizer: Any,
        *,
        table: WordTable | None = None,
        unit: Unit = "word",
    ) -> None:
        super().__init__()
        if unit == "phrase" and table is not None:
            raise ConfigError(
                "vectors of words do not stand beside those of phrases", remedy="Leave the vectors out."
            )
        self.config = config
        self.encoder = encoder
        self.table = table
        self.splitter = PieceSplitter(tokenizer, _max_positions(encoder.config), unit)
        mixes = config.layers == "mix"
        self.layer_scores = nn.Parameter(torch.zeros(self.num_layers + 1)) if mixes else None
        """By layer, the input of the first one included: how much of its states goes into the vectors."""

    @property
    def unit(self) -> Unit:
        return self.splitter.layout.unit

    @property
    def num_layers(self) -> int:
        return int(_setting(self.encoder.config, "num_hidden_layers", 0))

    @property
    def context_size(self) -> int:
        """The size of the transformer's states."""
        return int(_setting(self.encoder.config, "hidden_size", 0))

    @property
    def word_size(self) -> int:
        return self.context_size + (self.table.word_size if self.table else 0)

    @property
    def lazy_table(self) -> nn.Parameter | None:
        return self.table.lazy_table if self.table else None

    def index(self, words: Sequence[str]) -> IndexArray:
        """The rows of the static vectors, where there are any; the transformer goes by pieces."""
        return self.table.index(words) if self.table else np.zeros(len(words), dtype=np.int64)

    def split(self, words: Sequence[str]) -> SplitSentence:
        return self.splitter.split(words)

    def choose_trained(self, *, words: bool, encoder: bool) -> None:
        super().choose_trained(words=words, encoder=encoder)
        for weight in self.encoder.parameters():
            weight.requires_grad_(encoder)
        if self.layer_scores is not None:
            self.layer_scores.requires_grad_(True)

    @property
    def is_frozen(self) -> bool:
        """Whether the transformer stays as it came."""
        return not any(weight.requires_grad for weight in self.encoder.parameters())

    def pretrained_depths(self) -> Iterator[tuple[nn.Parameter, int]]:
        """The transformer's weights, each with its distance from the top layer; embeddings are farthest."""
        for name, weight in self.encoder.named_parameters():
            if (number := re.search(r"\.(\d+)\.", name)) is not None:
                yield weight, self.num_layers - 1 - int(number[1])
            else:
                yield weight, self.num_layers if "embed" in name or "wte" in name or "wpe" in name else 0

    def train(self, mode: bool = True) -> TransformerLexicon:
        """A transformer that is not trained drops nothing out."""
        super().train(mode)
        if self.is_frozen:
            self.encoder.eval()
        return self

    def forward(
        self,
        word_index: Int[Tensor, " asked"],
        guesses: Float[Tensor, "guesses word"] | None = None,
        pieces: PieceBatch | None = None,
    ) -> Float[Tensor, "vectors word"]:
        """The vectors of words, each by its place among the words of the batch, or of all phrases of it."""
        assert pieces is not None, "a batch for a transformer has pieces"
        states = torch.cat([self._read(ids, lengths).flatten(0, 1) for ids, lengths in pieces.blocks])
        shares = pieces.count.to(states.dtype).reciprocal().index_select(0, pieces.owner)
        counted = states.index_select(0, pieces.place) * shares.unsqueeze(1)
        vectors = states.new_zeros(len(pieces.count), states.shape[1]).index_add(0, pieces.owner, counted)
        vectors = vectors.index_select(0, pieces.vector_of)
        if self.unit == "phrase":
            return vectors
        if self.table is not None:
            vectors = torch.cat([vectors, self.table(pieces.table_index)], 1)
        return vectors.index_select(0, word_index)

    def _read(
        self, ids: Int[Tensor, "rows width"], lengths: Int[Tensor, " rows"]
    ) -> Float[Tensor, "rows width state"]:
        mask = torch.arange(ids.shape[1], device=ids.device) < lengths.unsqueeze(1)
        half = self.config.half_precision and ids.is_cuda
        mixes = self.layer_scores is not None
        learns = torch.is_grad_enabled() and not self.is_frozen
        with torch.autocast(ids.device.type, torch.bfloat16, enabled=half), torch.set_grad_enabled(learns):
            found = self.encoder(
                input_ids=ids, attention_mask=mask.long(), output_hidden_states=mixes, return_dict=True
            )
        # The trees are computed in the precision of the other weights.
        kind = next(self.encoder.parameters()).dtype
        if self.layer_scores is None:
            return found.last_hidden_state.to(kind)
        states = torch.stack([layer.to(kind) for layer in found.hidden_states], -1)
        return states @ self.layer_scores.softmax(0)


def open_transformer(
    config: TransformerConfig, *, table: WordTable | None = None, unit: Unit = "word"
) -> TransformerLexicon:
    """A lexicon with the pretrained weights that a configuration names."""
    name, revision = locate_encoder(config.name), config.revision
    encoder, tokenizer = read_encoder(name, revision)
    found = getattr(encoder.config, "_commit_hash", None) or revision
    return TransformerLexicon(
        dataclasses.replace(config, revision=found), encoder, tokenizer, table=table, unit=unit
    )


def _setting(config: Any, name: str, default: Any) -> Any:
    """A setting of a transformer's configuration, which maps the names that models have for it to one."""
    return getattr(config, name, default)


def _max_positions(config: Any) -> int | None:
    """For how many pieces a transformer has positions; None where it has no limit."""
    positions = _setting(config, "max_position_embeddings", None)
    if positions is None or positions < 1:
        return None
    # Models such as RoBERTa count positions from after the filling piece on.
    shift = (config.pad_token_id or 0) + 1 if config.model_type in _SHIFTED_POSITIONS else 0
    return positions - shift


_SHIFTED_POSITIONS = ("roberta", "xlm-roberta", "camembert", "longformer", "mpnet", "xlm-roberta-xl")
