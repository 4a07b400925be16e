"""The models of others that the paper compares with: input vectors and a batch in, the features of nodes out."""

from __future__ import annotations

from types import MappingProxyType

from lexitree.models.cells import ChildSumLSTM, GatedChildrenLSTM, TensorNetwork
from lexitree.models.config import ModelConfig
from lexitree.models.encoders import BiLSTM, BottomUpEncoder, make_bottom_up


class NaryConTree(BottomUpEncoder):
    title = "ConTree (Tai 2015)"
    about = "N-ary tree LSTM of Tai et al. (2015): ConTree without peepholes"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.bottom_up = make_bottom_up(config, lexical=False, peepholes=False)


class GatedChildrenConTree(BottomUpEncoder):
    title = "ConTree (Le and Zuidema 2015)"
    about = "tree LSTM of Le and Zuidema (2015): an input gate and a forget gate for each child"
    waits_for_host = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.bottom_up = GatedChildrenLSTM(config.word_size, config.hidden, bias_init=config.bias_init)


class RNTN(BottomUpEncoder):
    title = "RNTN (Socher 2013)"
    about = (
        "recursive neural tensor network of Socher et al. (2013): small word vectors, composed by a tensor"
    )
    waits_for_host = True
    words_are_states = True
    defaults = MappingProxyType({"hidden": 25, "output": 0, "dropout": 0.0, "bias_init": "zero"})

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.bottom_up = TensorNetwork(config.hidden, bias_init=config.bias_init)


class DepTree(BottomUpEncoder):
    title = "DepTree (Tai 2015)"
    about = "child-sum tree LSTM of Tai et al. (2015) over dependency trees"
    # The sizes of the levels' edges are asked for on the host.
    waits_for_host = True
    tree_kind = "dependency"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.bottom_up = ChildSumLSTM(config.word_size, config.hidden, bias_init=config.bias_init)


class PlainBiLSTM(BiLSTM):
    title = "BiLSTM (Li 2015)"
    about = "BiLSTM without peepholes, as Li et al. (2015) compare with trees"
    has_peepholes = False
