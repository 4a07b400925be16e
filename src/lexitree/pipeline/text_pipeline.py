"""Labels trees (`Predictor`) and text (`TextPipeline`), many sentences at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from itertools import chain, islice
from threading import Lock
from typing import Self, TypeVar

from lexitree.batch.tree_examples import Example, example_to_label, make_example
from lexitree.corpora.corpus import Supervision
from lexitree.errors import ConfigError, TreeError
from lexitree.evaluation.accuracy import Evaluation, evaluate
from lexitree.evaluation.answers import SystemAnswers, collect_answers
from lexitree.models.classifier import TreeClassifier
from lexitree.models.inference import AskedNodes, HeadWeigher, NodeOutputs, run_examples
from lexitree.parsers.protocol import Parser
from lexitree.pipeline import BATCH_SENTENCES
from lexitree.results.document import Document
from lexitree.results.labelled_tree import LabelledTree
from lexitree.results.sentence import Sentence
from lexitree.text import Layout, Token, TokenizedSentence, split_sentences
from lexitree.trees.binarize import Direction, to_binary, unchanged
from lexitree.trees.tree import Tree


class Predictor:
    """A model ready for use on trees of any shape."""

    def __init__(self, model: TreeClassifier) -> None:
        self.model = model
        self._weigher = HeadWeigher(model)
        self._label_set = model.config.label_set

    def __reduce__(self) -> tuple[object, ...]:
        """In another process, with a weigher of its own."""
        return type(self), (self.model,)

    def predict(self, tree: Tree, *, nodes: AskedNodes = "all") -> LabelledTree:
        """Label one tree; see `predict_all`."""
        return next(self.predict_all([tree], nodes=nodes))

    def predict_all(self, trees: Iterable[Tree], *, nodes: AskedNodes = "all") -> Iterator[LabelledTree]:
        """Label a stream of trees at constant memory.

        Args:
            trees: The trees; existing labels are ignored.
            nodes: Whether to label all phrases or whole sentences only.

        Returns:
            A labelled tree for each tree, in their order.
        """
        outputs = run_examples(self.model, map(self._prepare, trees), nodes=nodes, heads=nodes == "all")
        return map(self._labelled_tree, outputs)

    def predict_binary(self, trees: Iterable[Tree]) -> Iterator[LabelledTree]:
        """Label binary trees as they are: `predict_all` for trees that the caller has binarized and checked."""
        examples = (example_to_label(unchanged(tree), self.model.lexicon) for tree in trees)
        return map(self._labelled_tree, run_examples(self.model, examples, heads=True))

    def evaluate(self, trees: Iterable[Tree], *, supervision: Supervision | None = None) -> Evaluation:
        """Score the model on trees that carry gold labels.

        Args:
            trees: The trees.
            supervision: Whether all phrases count or whole sentences only; by default as the model was trained.
        """
        config = self.model.config
        supervision = supervision or config.supervision
        prepare = partial(self._prepare, labels=config.labels, supervision=supervision)
        return evaluate(self.model, map(prepare, trees), supervision=supervision)

    def answers(self, trees: Iterable[Tree], *, name: str = "model") -> SystemAnswers:
        """The model's answer to each sentence beside its gold label, to be compared with other systems."""
        return collect_answers(name, [self.model], trees)

    def _prepare(
        self, tree: Tree, *, labels: tuple[str, ...] | None = None, supervision: Supervision = "all"
    ) -> Example:
        config = self.model.config
        return make_example(
            tree,
            self.model.lexicon,
            labels=labels,
            # A tree without gold labels may well be a parse; if it is not, both directions split it alike.
            direction=config.binarization if labels else config.parse_binarization,
            supervision=supervision,
            kind=self.model.encoder.tree_kind,
        )

    def _labelled_tree(self, output: NodeOutputs) -> LabelledTree:
        return LabelledTree(
            source=output.example.tree,
            label_set=self._label_set,
            node_probabilities=output.probabilities,
            head_index=output.head_index,
            head_weight=output.head_weight,
            weigher=self._weigher.about(output.example.binary),
        )


Binarizer = Callable[[Tree], Tree]
Splitter = Callable[[str], Iterable[TokenizedSentence]]
Tokens = tuple[Token, ...]
Context = TypeVar("Context")


class TextPipeline:
    """A parser and a model, ready to label text of any length.

        pipe = lexitree.load("sentiment")
        document = pipe("Not a bad film. Not a good one, either.")
        for phrase in document.phrases:
            print(phrase.text, phrase.label, phrase.probability, phrase.head)

    `lexitree.load` makes one. Several threads may use a pipeline; they take turns. As a context manager, a pipeline
    closes the parser that `load` opened for it, which may be a program of its own.

    Args:
        predictor: The model.
        parser: What parses the sentences.
        binarize: How the binary tree that the model reads is made of a parse: a direction or a function. By default,
            as fits the trees that the model was trained on (`ModelConfig.parse_binarization`).
        split: How sentences are found in a text (see `split_sentences`), or a function that finds them and their
            tokens.

    Raises:
        ConfigError: The model reads dependency trees, which no parser here gives.
    """

    def __init__(
        self,
        predictor: Predictor,
        parser: Parser,
        *,
        binarize: Direction | Binarizer | None = None,
        split: Layout | Splitter = "text",
    ) -> None:
        if predictor.model.encoder.tree_kind == "dependency":
            raise ConfigError(
                "this model reads dependency trees, and a parser gives constituency trees",
                remedy="Choose another model, or give it dependency trees: lexitree predict MODEL FILE.toks",
            )
        self.predictor = predictor
        self.parser = parser
        self.binarize = _binarizer(binarize or predictor.model.config.parse_binarization)
        self.split: Layout | Splitter = split
        self._resources = ExitStack()
        # Torch's number of threads, which the model sets while it runs, is the whole process's, and not every parser
        # bears two callers: one batch at a time.
        self._turn = Lock()

    def close_parser_on_exit(self) -> None:
        """Close the parser, if it holds anything, when the pipeline is closed."""
        if isinstance(self.parser, AbstractContextManager):
            self._resources.enter_context(self.parser)

    def close(self) -> None:
        """Close the parser if `load` has opened it; others are their owner's to close."""
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __call__(self, text: str, *, one_sentence: bool = False) -> Document:
        """Label one text; with `one_sentence`, it is taken as a single sentence."""
        return next(self._stream(iter([text]), None, one_sentence))

    def stream(
        self, texts: Iterable[str], *, batch_size: int = BATCH_SENTENCES, one_sentence: bool = False
    ) -> Iterator[Document]:
        """Label a stream of texts at constant memory.

        Args:
            texts: The texts. Only those of the current batch, and those that the parser reads ahead, are held.
            batch_size: How many sentences are labelled together.
            one_sentence: Whether each text is taken as a single sentence.

        Returns:
            A document for each text, in their order.
        """
        if batch_size < 1:
            raise ConfigError(f"the batch size must be at least 1, not {batch_size}")
        return self._stream(iter(texts), batch_size, one_sentence)

    def stream_pairs(
        self,
        pairs: Iterable[tuple[str, Context]],
        *,
        batch_size: int = BATCH_SENTENCES,
        one_sentence: bool = False,
    ) -> Iterator[tuple[Document, Context]]:
        """Label a stream of texts, each of which comes with something else, such as its row of a table.

        Args:
            pairs: Each text and what belongs to it.
            batch_size: How many sentences are labelled together.
            one_sentence: Whether each text is taken as a single sentence.

        Returns:
            The document of each text and what belongs to it, in their order.
        """
        held: deque[Context] = deque()

        def texts() -> Iterator[str]:
            for text, context in pairs:
                held.append(context)
                yield text

        for document in self.stream(texts(), batch_size=batch_size, one_sentence=one_sentence):
            yield document, held.popleft()

    def _stream(self, texts: Iterator[str], batch_size: int | None, one_sentence: bool) -> Iterator[Document]:
        waiting: deque[_WaitingDocument] = deque()
        in_flight: deque[list[str]] = deque()
        sentences = self._sentences(texts, one_sentence, waiting, in_flight)
        # One call for the whole stream: a parser may be a file of trees, or a process that is slow to start.
        parses = iter(self.parser.parse_all(sentences))
        while labelled := self._label(islice(parses, batch_size), in_flight):
            for parse, prediction in labelled:
                yield from _finished(waiting)
                waiting[0].add(parse, prediction)
            del labelled
            yield from _finished(waiting)
        yield from _finished(waiting)
        if waiting:
            raise TreeError("the parser gave fewer trees than there are sentences")

    def _sentences(
        self,
        texts: Iterator[str],
        one_sentence: bool,
        waiting: deque[_WaitingDocument],
        in_flight: deque[list[str]],
    ) -> Iterator[list[str]]:
        """The words of each sentence, for the parser; they are held until its tree comes back."""
        for text in texts:
            sentences = self._split(text, one_sentence)
            waiting.append(_WaitingDocument(text, sentences))
            for sentence in sentences:
                words = [token.form for token in sentence]
                in_flight.append(words)
                yield words

    def _split(self, text: str, one_sentence: bool) -> list[Tokens]:
        if callable(self.split):
            sentences = [sentence.tokens for sentence in self.split(text) if sentence.tokens]
            return [tuple(chain.from_iterable(sentences))] if one_sentence and sentences else sentences
        layout: Layout = "one" if one_sentence else self.split
        return [sentence.tokens for sentence in split_sentences(text, layout)]

    def _label(self, parses: Iterator[Tree], in_flight: deque[list[str]]) -> list[tuple[Tree, LabelledTree]]:
        """The next parses, each with the model's prediction; none at the end of the stream."""
        with self._turn:
            taken = list(parses)
            if len(taken) > len(in_flight):
                raise TreeError("the parser gave more trees than there are sentences")
            trees = [self._binary_tree(parse, in_flight.popleft()) for parse in taken]
            return list(zip(taken, self.predictor.predict_binary(trees), strict=True))

    def _binary_tree(self, parse: Tree, words: Sequence[str]) -> Tree:
        """The binary tree that the model reads, over the sentence's own words, however the parser spells them."""
        if parse.num_words != len(words):
            raise TreeError(
                f"the parser gave a tree of {parse.num_words} words for a sentence of {len(words)}: "
                f"{' '.join(words)[:80]!r}"
            )
        binary = self.binarize(parse)
        if not binary.is_binary or binary.has_inner_words or binary.num_words != len(words):
            raise TreeError("the binarizer gave a tree that is not binary, or has other words")
        return binary if binary.words == tuple(words) else Tree(binary.arity, binary.labels, words)


class _WaitingDocument:
    """A text with sentences that may not have been parsed and labelled yet."""

    def __init__(self, text: str, sentences: list[Tokens]) -> None:
        self.text = text
        self.sentences = sentences
        self.labelled: list[Sentence] = []

    @property
    def is_complete(self) -> bool:
        return len(self.labelled) == len(self.sentences)

    def add(self, parse: Tree, labelled: LabelledTree) -> None:
        tokens = self.sentences[len(self.labelled)]
        self.labelled.append(Sentence.from_labelled(labelled, self.text, tokens, parse))

    def document(self) -> Document:
        return Document(self.text, tuple(self.labelled))


def _finished(waiting: deque[_WaitingDocument]) -> Iterator[Document]:
    """Take the documents that are complete from the front of the queue."""
    while waiting and waiting[0].is_complete:
        yield waiting.popleft().document()


def _binarizer(way: Direction | Binarizer) -> Binarizer:
    return way if callable(way) else lambda tree: to_binary(tree, way).tree
