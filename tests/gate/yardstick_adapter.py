"""Asks commit 5f42adee for its answers, as plain arrays. Frozen: it calls the names of that commit and no others.

`adapter.py` asks the checkout under test, and overrides each method here whose names have changed since. Nothing of
lexitree is imported before a method needs it.
"""

# The names of another commit cannot be checked against this one.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportOptionalCall=false

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from answer_files import Array, SentenceAnswer

Weights = Mapping[str, Array]


class YardstickAdapter:
    """The questions of the gate to a checkout."""

    kernels_off: Mapping[str, str] = {"LEXITREE_KERNELS": "off"}
    """The environment in which the compiled kernels do not run."""

    # Texts and trees

    def detokenize(self, line: str) -> str:
        """The words of a tree in brackets as people would write them."""
        from lexitree.text import detokenize
        from lexitree.trees.brackets import tree_from_brackets

        return " ".join(detokenize(tree_from_brackets(line).words).split())

    def question_trees(self, data: Path) -> list[str]:
        """TREC's test questions as trees in brackets, whose roots carry their types."""
        from lexitree.corpora.trec import load_trec
        from lexitree.trees.brackets import tree_to_brackets

        return list(map(tree_to_brackets, load_trec(data).test))

    def has_kernels(self) -> bool:
        """Whether the compiled kernels run."""
        from lexitree.kernels.library import why_absent

        return why_absent() is None

    def open(self, model: Path, parser: Path, device: str, library: str) -> Any:
        """A pipeline over the saved weights; `library` is numpy or torch."""
        import lexitree

        own_parser = lexitree.load_parser(parser, device=device, library=library)
        if library == "numpy":
            return lexitree.load(model, reads="text", parser=own_parser, device=device)
        from lexitree.pipeline.predictor import Predictor
        from lexitree.saving.pretrained import from_pretrained

        predictor = Predictor(from_pretrained(model, device=device))
        reading = predictor.model.reading
        return lexitree.TextPipeline(predictor, own_parser, split=reading.layout if reading else "text")

    def label_texts(self, pipe: Any, texts: Iterable[str]) -> Iterator[SentenceAnswer]:
        """The answers to all sentences of some texts."""
        for number, document in enumerate(pipe.stream(texts)):
            for sentence in document.sentences:
                answer = _labelled(sentence, sentence.source)
                places = [token.start for token in sentence.tokens]
                yield answer._replace(parse=str(sentence.parse), text=number, places=places)

    def label_trees(self, pipe: Any, lines: Iterable[str]) -> Iterator[SentenceAnswer]:
        """The answers to trees in brackets."""
        from lexitree.trees.brackets import tree_from_brackets

        for number, labelled in enumerate(pipe.predictor.predict_all(map(tree_from_brackets, lines))):
            yield _labelled(labelled, labelled.source)._replace(text=number)

    def score_labels(self, pipe: Any, lines: Iterable[str]) -> dict[str, float]:
        """Accuracies on trees with gold labels."""
        from lexitree.trees.brackets import tree_from_brackets

        found = pipe.predictor.evaluate(map(tree_from_brackets, lines))
        parts = {"sentences": found.root, "phrases": found.phrase}
        return {name: part.accuracy for name, part in parts.items() if part is not None}

    # The parser

    def parse_treebank(
        self, pipe: Any, lines: Iterable[str]
    ) -> tuple[list[SentenceAnswer], dict[str, float]]:
        """The parses of the words of gold trees, and their scores."""
        from lexitree.evaluation.bracket_score import score_brackets
        from lexitree.parsers.penn_spans import clean_trees
        from lexitree.trees.brackets import read_bracket_lines

        gold = list(clean_trees(read_bracket_lines(enumerate(lines, 1), "treebank")))
        found = list(pipe.parser.parse_all([tree.words for tree in gold]))
        overall = score_brackets(gold, found, tags="gold").overall
        names = ("f1", "precision", "recall", "tagging_accuracy", "complete_match")
        answers = [SentenceAnswer(tree.words, str(tree), number) for number, tree in enumerate(found)]
        return answers, {name: getattr(overall, name) for name in names}

    def k_best(
        self, pipe: Any, sentences: Sequence[Sequence[str]], k: int
    ) -> Iterator[list[tuple[str, float]]]:
        """The k best trees of each sentence with their log probabilities."""
        for candidates in pipe.parser.parse_all_k_best(sentences, k):
            yield [(str(each.tree), each.log_probability) for each in candidates]

    # Margins: asked only where two checkouts differ, in double precision

    def head_margins(self, model: Path, words: Sequence[str], spans: Sequence[Sequence[int]]) -> list[float]:
        """By node: how much closer the head vector is to one part's than to the other's; no margin is infinite."""
        import torch

        from lexitree.batch.tree_examples import example_to_label, lay_out_to_label
        from lexitree.models.head_words import lean_to_candidates
        from lexitree.models.tensor_inference import send_layout
        from lexitree.ops.tree_batch import TreeBatch
        from lexitree.ops.weights import SAME_SIMILARITY
        from lexitree.saving.pretrained import from_pretrained
        from lexitree.trees.binarize import unchanged
        from lexitree.trees.tree import Tree

        tree = Tree([2 * (end - start > 1) for start, end in spans], [""] * len(spans), words)
        classifier = from_pretrained(model, device="cpu")
        example = example_to_label(unchanged(tree), classifier.lexicon)
        layout = lay_out_to_label([example], guesses=classifier.lexicon.can_guess)
        batch: TreeBatch = send_layout(classifier, layout)
        with torch.no_grad():
            vectors = classifier.lexicon(batch.node_word_index, batch.guesses, batch.pieces).double()
            classifier.encoder.double()
            x = classifier.encoder.heads(vectors, batch)
            pairs = x.index_select(0, batch.children_index).view(-1, 2, x.shape[1])
            closer = torch.cosine_similarity(x[batch.num_leaves :].unsqueeze(1), pairs, dim=2).diff(dim=1)
            margins = torch.full((batch.num_nodes,), torch.inf, dtype=torch.float64)
            margins[batch.num_leaves :] = (closer.squeeze(1) - SAME_SIMILARITY).abs()
            lean = lean_to_candidates(batch, classifier.config.head_candidates)
            if lean is not None:
                margins[batch.num_leaves :][lean != 0] = torch.inf
        return margins.index_select(0, batch.preorder_index).tolist()

    def parse_margin(self, parser: Path, ours: str, theirs: str) -> float:
        """How much better the parser finds one tree than another, as a share of its score."""
        import torch

        import lexitree
        from lexitree.tasks.parse.examples import gold_batch, make_parser_example
        from lexitree.trees.brackets import tree_from_brackets

        loaded = lexitree.load_parser(parser, device="cpu", library="torch")
        network: Any = loaded.model
        scores: list[float] = []
        network.double()
        network.encoder.vectors = network.encoder.vectors.double()
        style = network.config.style_index(loaded.style)
        for line in (ours, theirs):
            tree = tree_from_brackets(line)
            if tree.num_words > network.config.max_words:
                return float("inf")
            batch = gold_batch([make_parser_example(network, tree, style)], network.config)
            with torch.no_grad():
                spans, tags = network(batch.sentences)
            chosen_tags = tags.flatten(0, 1).gather(1, batch.tags.flatten().unsqueeze(1))
            scores.append(float(spans.flatten()[batch.entries].sum() + chosen_tags.sum()))
        return abs(scores[0] - scores[1]) / max(1.0, *map(abs, scores))

    # Gradients

    def gradients(self, case: Mapping[str, Any], weights: Weights | None, device: str, kind: str) -> Weights:
        """The weights of a model, its loss and all gradients; without weights, it draws some."""
        from lexitree.lexicon.vocabulary import Vocabulary
        from lexitree.models.classifier import TreeClassifier
        from lexitree.models.head_methods import HeadMixer
        from lexitree.models.model_config import ModelConfig
        from lexitree.models.word_table import WordTable
        from lexitree.ops.tree_batch import batch_examples

        config = ModelConfig.from_dict(case["settings"])
        if unit := case.get("transformer"):
            lexicon = _tiny_transformer(case["words"], config.word_size, unit)
        else:
            lexicon = WordTable.random(Vocabulary(case["words"]), config.word_size)
        model = TreeClassifier(config, lexicon)
        if case.get("own_gate"):
            model.encoder.heads = HeadMixer(_own_gate(config.word_size))
        batch = batch_examples(model.prepare(map(_tree, case["trees"]), training=True)).to(device)

        def loss() -> Any:
            return model.loss(batch, config.supervision, **case.get("loss", {}))

        return _weights_and_gradients(model, loss, weights, device, kind)

    def parser_gradients(
        self, case: Mapping[str, Any], weights: Weights | None, device: str, kind: str
    ) -> Weights:
        """The same for the parser's network."""
        from lexitree.lexicon.vocabulary import Vocabulary
        from lexitree.parsers.network import ParserModel
        from lexitree.parsers.parser_config import ParserConfig
        from lexitree.tasks.parse.examples import gold_batch, make_parser_example, parser_loss

        config = ParserConfig.from_dict(case["settings"])
        words = case["words"]
        model = ParserModel(config, Vocabulary(words[::2]), Vocabulary(words[1:]))
        examples = [
            make_parser_example(model, _tree(tree), number % 2) for number, tree in enumerate(case["trees"])
        ]

        def loss() -> Any:
            return parser_loss(model, gold_batch(examples, config, device), 0.7)

        return _weights_and_gradients(model, loss, weights, device, kind)

    # Times

    def measure_stream(self, pipe: Any, texts: Sequence[str]) -> None:
        for document in pipe.stream(texts):
            document.to_json()

    def measure_warm(self, pipe: Any, texts: Sequence[str]) -> None:
        for text in texts:
            pipe(text).to_json()

    def training(self, lines: Sequence[str], device: str) -> Callable[[], None]:
        """A function that trains the paper's model for an epoch on SST's trees."""
        import torch

        from lexitree.corpora.corpus import Corpus
        from lexitree.labels import LabelSet
        from lexitree.tasks.classify.building import build_model
        from lexitree.tasks.classify.recipe import Recipe
        from lexitree.tasks.classify.task import ClassifyTask
        from lexitree.trees.brackets import tree_from_brackets

        torch.manual_seed(1)
        trees = list(map(tree_from_brackets, lines))
        recipe = Recipe(corpus="gate", model={"weight_dropout": 0.2, "dropout": 0.3})
        corpus = Corpus("gate", {"train": trees, "dev": [], "test": []}, LabelSet(tuple("01234")), "all")
        model = build_model(recipe, corpus).to(device)
        task = ClassifyTask(model, model.prepare(trees, training=True), [], recipe.training)
        rng = np.random.default_rng(1)

        def epoch() -> None:
            for batch in task.batches(rng).batches:
                task.update(batch)
            # On a GPU, this waits for the last step.
            float(task.losses)

        return epoch

    def predict_command(self, model: Path, text: str) -> list[str]:
        """The command that labels a text in a process of its own."""
        options = ["--model", str(model), "--parser", "builtin", "--input", "text", "--format", "json"]
        return [sys.executable, "-m", "lexitree", "predict", text, *options, "--device", "cpu"]

    def serve_command(self, port: int) -> list[str]:
        """The command that starts the service with the model that comes with the checkout.

        A folder of a model that was trained on trees has no parser for texts, which the service asks for.
        """
        return [sys.executable, "-m", "lexitree", "serve", "--port", str(port), "--device", "cpu"]

    def service_request(self, text: str) -> tuple[str, bytes]:
        """The path and the body of a request for the labels of a text."""
        return "/v1/label", json.dumps({"text": text}).encode()

    ready_path = "/ready"
    """Where the service says whether it is ready."""


def _labelled(sentence: Any, tree: Any) -> SentenceAnswer:
    names = {name: number for number, name in enumerate(sentence.label_set.names)}
    heads = np.full(tree.num_nodes, -1) if sentence.head_index is None else sentence.head_index
    shares = np.zeros(tree.num_nodes) if sentence.head_weight is None else sentence.head_weight
    labels = [names[label] for label in sentence.labels]
    nodes = np.stack([tree.starts, tree.ends, labels, heads], 1)
    return SentenceAnswer(tree.words, nodes=nodes, shares=shares, probabilities=sentence.node_probabilities)


def _tree(given: Any) -> Any:
    """A tree in brackets, or a dependency tree by words, parents and labels."""
    if isinstance(given, str):
        from lexitree.trees.brackets import tree_from_brackets

        return tree_from_brackets(given)
    from lexitree.trees.dependencies import DependencyTree

    return DependencyTree.from_parents(given["words"], given["parents"]).with_labels(given["labels"])


def _own_gate(word_size: int) -> Any:
    """A head method of a user's: one share for all dimensions."""
    import torch

    from lexitree import HeadGate

    class Gate(HeadGate):
        def __init__(self, word_size: int) -> None:
            super().__init__(word_size)
            self.layer = torch.nn.Linear(2 * word_size, 1)

        def forward(self, left: Any, right: Any) -> Any:
            return self.layer(torch.cat([left, right], 1)).sigmoid()

    return Gate(word_size)


def _tiny_transformer(words: Sequence[str], size: int, unit: str) -> Any:
    """A BERT that knows half of the words, and letters."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    from lexitree.models.transformer import TransformerConfig, TransformerLexicon

    letters = sorted(set("".join(words)) | set("unseen"))
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words[::2], *letters, *(f"##{each}" for each in letters)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    backend = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=100))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=64, **special)
    sizes = {"hidden_size": size, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 6}
    undropped = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **sizes, **undropped)
    return TransformerLexicon(TransformerConfig(name="tiny"), BertModel(config), tokenizer, unit=unit)


def _weights_and_gradients(
    model: Any, loss: Callable[[], Any], weights: Weights | None, device: str, kind: str
) -> Weights:
    """Give a model its weights, those of the yardstick or random ones, and differentiate its loss."""
    import torch

    # The tables of fixed vectors are no parameters, and are weights here all the same.
    buffers = {name: value for name, value in model.named_buffers() if value.is_floating_point()}
    parameters = dict(model.named_parameters())
    rng = np.random.default_rng(5)
    model.to(device, getattr(torch, kind))
    for name, value in {**parameters, **buffers}.items():
        # Numbers that float32 has too.
        drawn = (0.4 * rng.standard_normal(value.shape)).astype(np.float32)
        if weights is not None:
            drawn = weights[f"weight of {name}"]
        value.data = torch.from_numpy(np.asarray(drawn)).to(device, getattr(torch, kind))
    found = {
        f"weight of {name}": value.detach().double().cpu().numpy()
        for name, value in {**parameters, **buffers}.items()
    }
    total = loss()
    total.backward()
    found["loss"] = total.detach().double().cpu().numpy()
    for name, value in parameters.items():
        gradient = torch.zeros_like(value) if value.grad is None else value.grad.to_dense()
        found[f"gradient of {name}"] = gradient.double().cpu().numpy()
    return found
