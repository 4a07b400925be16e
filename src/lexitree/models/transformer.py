"""A pretrained transformer as a lexicon: it gives each word a vector that depends on its context."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from lexitree.arrays import IndexArray
from lexitree.errors import ConfigError
from lexitree.lexicon.pieces import SplitSentence, Unit
from lexitree.lexicon.splitting import PieceSplitter
from lexitree.models.dropout import DropoutByRow
from lexitree.models.encoder_files import locate_encoder, read_encoder
from lexitree.models.word_table import Lexicon, WordTable
from lexitree.ops.tree_batch import PieceBatch
from lexitree.settings import Setting, Settings

LayerChoice = Literal["last", "mix"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerConfig(Settings):
    """Which transformer reads the words, and which of its states become word vectors."""

    name: Annotated[
        str, Setting("A directory, a name on the Hugging Face hub, or a short name: minilm, mpnet.")
    ]
    revision: Annotated[str | None, Setting("Branch, tag or commit on the hub.")] = None
    layers: Annotated[
        LayerChoice,
        Setting("A word's vector is the mean of its pieces' last states, or of a learned mix of all layers."),
    ] = "last"
    half_precision: Annotated[bool, Setting("Compute in bfloat16 on a GPU; the weights stay in float32.")] = (
        True
    )

    def _check_together(self) -> None:
        if not self.name:
            raise ConfigError("an encoder needs a name: a directory, or a model on the hub")


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
        self.was_trained = False
        """Whether the transformer's weights may be others than those that it came with."""
        self.splitter = PieceSplitter(tokenizer, _max_positions(encoder), unit)
        _refuse_foreign_pieces(encoder, self.splitter)
        self.takes_whole_mask = False
        layers = self._try_out()
        self.context_size = layers[-1].shape[-1]
        """The size of the transformer's states."""
        self.layer_scores = nn.Parameter(torch.zeros(len(layers))) if self.mixes else None
        """By layer, the input of the first one included: how much of its states goes into the vectors."""

    @property
    def mixes(self) -> bool:
        """Whether vectors are made of the states of all layers."""
        return self.config.layers == "mix"

    @torch.no_grad()
    def _try_out(self) -> tuple[Tensor, ...]:
        """The states of two short rows, by layer that is looked at: what a transformer is shows when it reads."""
        row_format, unknown = self.splitter.row_format, self.splitter.unknown
        row = [*row_format.before, unknown, unknown, *row_format.after]
        ids = torch.tensor([row, [*row[:-1], row_format.padding]])
        lengths = torch.tensor([len(row), len(row) - 1])
        self.encoder.eval()
        try:
            layers = self._layers(self._run(ids, lengths))
            assert all(states.shape == (*ids.shape, layers[-1].shape[-1]) for states in layers)
        except Exception as error:  # a model for pictures, or one that writes: each fails in its own way
            raise ConfigError(
                f"the transformer {type(self.encoder).__name__} does not read pieces as others do"
                f" ({type(error).__name__}: {error})",
                remedy="Choose an encoder of text, such as BERT, RoBERTa or T5.",
            ) from error
        self.takes_whole_mask = self._same_with_whole_mask(ids, lengths, layers[-1])
        return layers

    def _same_with_whole_mask(self, ids: Tensor, lengths: Tensor, expected: Tensor) -> bool:
        """Whether the transformer, in the version of the library that is here, takes a mask by pairs of pieces."""
        config: Any = self.encoder.config
        if config.model_type not in _PLAIN_ATTENTION or config._attn_implementation != "sdpa":
            return False
        self.takes_whole_mask = True
        try:
            found = self._run(ids, lengths).last_hidden_state
        except (TypeError, ValueError, RuntimeError):
            return False
        return torch.allclose(found, expected, rtol=1e-4, atol=1e-4)

    @property
    def unit(self) -> Unit:
        return self.splitter.row_format.unit

    @property
    def num_layers(self) -> int:
        encoder_config: Any = self.encoder.config
        return int(encoder_config.num_hidden_layers)

    @property
    def word_size(self) -> int:
        return self.context_size + (self.table.word_size if self.table else 0)

    @property
    def lazy_table(self) -> nn.Parameter | None:
        return self.table.lazy_table if self.table else None

    def index(self, words: Sequence[str]) -> IndexArray:
        """The rows of the static vectors, where there are any; the transformer goes by pieces."""
        return self.table.index(words) if self.table else np.zeros(len(words), dtype=np.int64)

    def count_unknown(self, words: Sequence[str]) -> int:
        """Of how many words it knows no piece."""
        split = self.splitter.split(words)
        is_known = np.append(0, np.cumsum(split.ids != self.splitter.unknown))
        return int(np.count_nonzero(is_known[split.ends] == is_known[split.starts]))

    def split(self, words: Sequence[str]) -> SplitSentence:
        return self.splitter.split(words)

    def choose_trained(self, *, words: bool, encoder: bool) -> None:
        super().choose_trained(words=words, encoder=encoder)
        self.was_trained |= encoder
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
        encoder: Any = self.encoder
        inputs = encoder.get_input_embeddings().weight
        for name, weight in encoder.named_parameters():
            if (number := re.search(r"\.(\d+)\.", name)) is not None:
                yield weight, max(0, self.num_layers - 1 - int(number[1]))
            else:
                is_input = weight is inputs or any(part in name for part in ("embed", "wte", "wpe"))
                yield weight, self.num_layers if is_input else 0

    def train(self, mode: bool = True) -> TransformerLexicon:
        """A transformer that is not trained keeps its dropout off."""
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
        states = torch.cat([self._read(*block, pieces.key).flatten(0, 1) for block in pieces.blocks])
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
        self, ids: Int[Tensor, "rows width"], lengths: Int[Tensor, " rows"], key: int | None
    ) -> Float[Tensor, "rows width state"]:
        half = self.config.half_precision and ids.is_cuda
        learns = torch.is_grad_enabled() and not self.is_frozen
        with (
            torch.autocast(ids.device.type, torch.bfloat16, enabled=half),
            torch.set_grad_enabled(learns),
            sdpa_kernel(_ATTENTION) if ids.is_cuda else nullcontext(),
            nullcontext() if key is None else DropoutByRow(key, ids, lengths),
        ):
            found = self._layers(self._run(ids, lengths))
        # The trees are computed in the precision of the other weights.
        kind = next(self.encoder.parameters()).dtype
        if self.layer_scores is None:
            return found[-1].to(kind)
        return torch.stack([layer.to(kind) for layer in found], -1) @ self.layer_scores.softmax(0)

    def _layers(self, found: Any) -> tuple[Tensor, ...]:
        return found.hidden_states if self.mixes else (found.last_hidden_state,)

    def _run(self, ids: Tensor, lengths: Tensor) -> Any:
        """What the transformer says of some rows."""
        width = ids.shape[1]
        is_piece = torch.arange(width, device=ids.device) < lengths.unsqueeze(1)
        # Of a mask by pieces, the library asks the host whether it hides any, and a GPU would wait for the answer.
        by_pairs = is_piece[:, None, None, :].expand(-1, 1, width, -1)
        mask = by_pairs if self.takes_whole_mask else is_piece.long()
        # Asked for all layers, the library changes the model for good, so that it cannot be sent to another process.
        return self.encoder(
            input_ids=ids, attention_mask=mask, output_hidden_states=self.mixes, return_dict=True
        )


def table_of(lexicon: Lexicon) -> WordTable | None:
    """The static vectors of a lexicon: itself, or the table beside a transformer, if it has one."""
    table = lexicon.table if isinstance(lexicon, TransformerLexicon) else lexicon
    return table if isinstance(table, WordTable) else None


def open_transformer(
    config: TransformerConfig, *, table: WordTable | None = None, unit: Unit = "word"
) -> TransformerLexicon:
    """A lexicon with the pretrained weights that a configuration names."""
    name = locate_encoder(config.name, config.revision)
    if config.revision and Path(name).is_dir():
        raise ConfigError(
            f"{config.name} is a directory, and has no revision {config.revision}",
            remedy="Leave the revision out, or give a name of the Hugging Face hub.",
        )
    encoder, tokenizer = read_encoder(name, config.revision)
    encoder_config: Any = encoder.config
    # A branch or tag moves on; the commit that was found is what can be read again.
    found = getattr(encoder_config, "_commit_hash", None) or config.revision
    return TransformerLexicon(
        dataclasses.replace(config, revision=found), encoder, tokenizer, table=table, unit=unit
    )


def _max_positions(encoder: Any) -> int | None:
    """For how many pieces a transformer has positions; None where it has no limit."""
    positions: object = getattr(encoder.config, "max_position_embeddings", None)
    if not isinstance(positions, int) or positions < 1:
        return None
    shifts = [
        1 + part.padding_idx
        for name, part in encoder.named_modules()
        if name.endswith("position_embeddings") and getattr(part, "padding_idx", None) is not None
    ]
    # Models such as RoBERTa count positions from after the number of the filling piece on.
    return positions - max(shifts, default=0)


def _refuse_foreign_pieces(encoder: Any, splitter: PieceSplitter) -> None:
    num_known = encoder.get_input_embeddings().weight.shape[0]
    if splitter.num_pieces > num_known:
        raise ConfigError(
            f"the encoder knows {num_known:,} pieces, and its tokenizer has {splitter.num_pieces:,}",
            remedy="Give a directory in which both belong together.",
        )


_ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""Ways to compute attention on a GPU: all but cuDNN's, which makes a plan for each shape, and shapes are many."""

_PLAIN_ATTENTION = ("bert", "roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "electra")
"""Transformers in which every piece looks at every other, and nothing is added to that."""
