"""Small transformers with random weights and their tokenizers, in the forms in which real ones come."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tests.tiny import tiny_trees

# Nothing here is on the hub, and nobody is to be asked for it.
os.environ["HF_HUB_OFFLINE"] = "1"

SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}
ROOM = 32
"""So many places have the small models: sentences of the tests are to be longer."""
KINDS = ("bert", "roberta", "t5")

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def write_encoder(folder: Path, kind: str, **settings: Any) -> Path:
    """A directory with a transformer of one of the kinds, as `transformers` writes it."""
    torch.manual_seed(7)
    tokenizer = _TOKENIZERS[kind]()
    encoder = _MODELS[kind](tokenizer, settings)
    # What real weights are not: so small that one piece looks like another.
    for weight in encoder.parameters():
        weight.data.mul_(8 if weight.ndim > 1 else 1)
    encoder.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _words() -> list[str]:
    return sorted({word for tree in tiny_trees(60) for word in tree.words})


def _bert_tokenizer() -> Any:
    """Pieces of words; as MiniLM's does, its file asks for texts to be cut off and filled up."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *_words()[::2], *LETTERS, *(f"##{letter}" for letter in LETTERS), *"()[]<>/.,'`-*"]
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    backend = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=100))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    backend.enable_truncation(8)
    backend.enable_padding(length=8, pad_token="[PAD]")
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=ROOM,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def _roberta_tokenizer() -> Any:
    """Pairs of bytes, learned from a few sentences: every word has pieces, and the space before it is one of them."""
    from tokenizers import ByteLevelBPETokenizer, processors
    from transformers import PreTrainedTokenizerFast

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained = ByteLevelBPETokenizer()
    sentences = [" ".join(tree.words) for tree in tiny_trees(60)]
    trained.train_from_iterator(sentences, vocab_size=320, min_frequency=2, special_tokens=special)
    backend = trained._tokenizer  # type: ignore[attr-defined]
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=ROOM,
        bos_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        cls_token="<s>",
        unk_token="<unk>",
        pad_token="<pad>",
        mask_token="<mask>",
    )


def _t5_tokenizer() -> Any:
    """Pieces with their likelihoods, as of SentencePiece: a mark stands for the space, and `</s>` is a piece too."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    words = [(f"▁{word}", -3.0) for word in _words()[::2]]
    letters = [(letter, -6.0) for letter in (*LETTERS, *"▁()[]<>/.,'`-*")]
    backend = Tokenizer(models.Unigram([*special, *words, *letters], unk_id=2))
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=ROOM,
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
    )


def _bert(tokenizer: Any, settings: dict[str, Any]) -> Any:
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=ROOM, **{**SIZES, **settings})
    return BertModel(config)


def _roberta(tokenizer: Any, settings: dict[str, Any]) -> Any:
    from transformers import RobertaConfig, RobertaModel

    config = RobertaConfig(
        vocab_size=len(tokenizer),
        # Its positions begin after the number of the filling piece.
        max_position_embeddings=ROOM + 2,
        pad_token_id=tokenizer.pad_token_id,
        **{**SIZES, **settings},
    )
    return RobertaModel(config)


def _t5(tokenizer: Any, settings: dict[str, Any]) -> Any:
    from transformers import T5Config, T5Model

    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2}
    config = T5Config(
        vocab_size=len(tokenizer), pad_token_id=0, decoder_start_token_id=0, **{**sizes, **settings}
    )
    return T5Model(config)


def _other(kind: str) -> Any:
    """A model of another kind over BERT's pieces; names of sizes are translated by its configuration."""

    def make(tokenizer: Any, settings: dict[str, Any]) -> Any:
        from transformers import AutoConfig, AutoModel

        own = {"vocab_size": len(tokenizer), "pad_token_id": 0, "max_position_embeddings": ROOM}
        more = {"electra": {"embedding_size": 8}, "albert": {"embedding_size": 8}}.get(kind, {})
        return AutoModel.from_config(AutoConfig.for_model(kind, **{**SIZES, **own, **more, **settings}))

    return make


OTHER_KINDS = ("electra", "distilbert", "albert", "gpt2", "deberta-v2", "modernbert")

_TOKENIZERS: dict[str, Callable[[], Any]] = {
    "roberta": _roberta_tokenizer,
    "t5": _t5_tokenizer,
    **dict.fromkeys(("bert", *OTHER_KINDS), _bert_tokenizer),
}
_MODELS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "bert": _bert,
    "roberta": _roberta,
    "t5": _t5,
    **{kind: _other(kind) for kind in OTHER_KINDS},
}
