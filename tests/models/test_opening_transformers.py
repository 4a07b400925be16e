"""Transformers are opened, copied and sent to other processes alike; what does not fit together is refused."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from lexitree.errors import ConfigError
from lexitree.models.transformer import TransformerConfig, TransformerLexicon, open_transformer
from tests.models.slow_vectors import open_lexicon, vectors


def test_a_tokenizer_of_another_transformer_is_refused(encoders: dict[str, Path]) -> None:
    small = open_lexicon(encoders["bert"])
    other = open_lexicon(encoders["roberta"])
    with pytest.raises(ConfigError, match=r"its tokenizer has 3[0-9]{2}"):
        TransformerLexicon(small.config, small.encoder, other.splitter.tokenizer)


def test_what_does_not_read_as_others_do_is_refused(encoders: dict[str, Path]) -> None:
    lexicon = open_lexicon(encoders["bert"])

    class Deaf(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.config: Any = lexicon.encoder.config
            self.inner = lexicon.encoder

        def get_input_embeddings(self) -> Any:
            return self.inner.get_input_embeddings()  # type: ignore[operator]

        def forward(self, input_ids: torch.Tensor) -> None: ...

    with pytest.raises(ConfigError, match="Deaf does not read pieces as others do"):
        TransformerLexicon(lexicon.config, Deaf(), lexicon.splitter.tokenizer)


def test_copies_and_other_processes(encoders: dict[str, Path]) -> None:
    lexicon = open_lexicon(encoders["bert"]).eval()
    words = [["the", "film", "[SEP]"]]
    with torch.no_grad():
        for other in (copy.deepcopy(lexicon), pickle.loads(pickle.dumps(lexicon))):
            assert torch.equal(vectors(other, words), vectors(lexicon, words))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": ""}, "an encoder needs a name"),
        ({"name": 3}, "name must be a string, not 3"),
        ({"name": "x", "layers": "first"}, "layers must be one of last, mix, not 'first'"),
        ({"name": "x", "revision": 5}, "revision must be a string, not 5"),
        ({"name": "x", "half_precision": "yes"}, "half_precision must be true or false, not 'yes'"),
        ({"name": "x", "colour": 1}, "unknown setting: colour"),
        ({"layers": "mix"}, "missing setting: name"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TransformerConfig.from_dict(settings)


def test_settings_are_kept_as_they_are() -> None:
    config = TransformerConfig(name="x", revision="main", layers="mix", half_precision=False)
    assert TransformerConfig.from_dict(config.as_dict()) == config
    assert dataclasses.asdict(config) == config.as_dict()


def test_a_directory_has_no_revision(encoders: dict[str, Path]) -> None:
    with pytest.raises(ConfigError, match="has no revision main"):
        open_transformer(TransformerConfig(name=str(encoders["bert"]), revision="main"))


def test_two_openings_are_the_same_transformer(encoders: dict[str, Path]) -> None:
    """Nothing in it is left to chance: what a checkpoint lacks would be."""
    torch.manual_seed(1)
    first = open_lexicon(encoders["bert"]).state_dict()
    torch.manual_seed(2)
    second = open_lexicon(encoders["bert"]).state_dict()
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not any("pooler" in name for name in first)
