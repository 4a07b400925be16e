"""The options of `lexitree train`, each described once; what is not given is up to the recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from lexitree.cli import options
from lexitree.cli.options import flag
from lexitree.errors import OnError as OnErrorChoice

# The panels of the help page.
CORPUS, WORDS, MODEL, TRAINING, MACHINE = "Corpus", "Word vectors", "Model", "Training", "Machine"

Folder = Annotated[
    Path, typer.Option("--output", "-o", help="Where the run goes: checkpoint, metrics, model.")
]
Corpus = Annotated[
    str | None,
    typer.Argument(
        help="A corpus by name (see `lexitree data list`), or a folder or file: brackets, .jsonl, or"
        " .tsv with label<TAB>sentence. Default: mini-reviews."
    ),
]
Recipe = Annotated[Path | None, typer.Option(help="A TOML recipe; options given here change it.")]
Resume = Annotated[bool, flag("--resume", text="Go on with a run that was cut.")]
Quiet = Annotated[bool, flag("--quiet", "-q", text="No progress, only the result.")]
Data = Annotated[
    Path | None,
    typer.Option(help="The folder with real corpora.", envvar="LEXITREE_DATA", rich_help_panel=CORPUS),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="How the files are encoded; never guessed. Default: utf-8.", rich_help_panel=CORPUS),
]
OnError = Annotated[
    OnErrorChoice | None,
    typer.Option(
        help="What is malformed: stop there (raise), or leave it out and list it (skip). Default: raise.",
        rich_help_panel=CORPUS,
    ),
]
StripTraces = Annotated[
    bool, flag("--strip-traces", text="Drop the -NONE- leaves of Penn trees.", panel=CORPUS)
]
StripFunctionTags = Annotated[
    bool, flag("--strip-function-tags", text="Cut labels such as NP-SBJ-1 down to NP.", panel=CORPUS)
]
Parser = Annotated[
    str | None,
    typer.Option(
        help="Learn from a parser's trees of the same sentences, such as builtin. Default: the corpus's own.",
        rich_help_panel=CORPUS,
    ),
]
Parses = Annotated[
    options.Parses | None,
    typer.Option(
        help="Its trees instead of the corpus's own (replace), or beside them in training (add)."
        " Default: replace.",
        rich_help_panel=CORPUS,
    ),
]
Vectors = Annotated[
    Path | None,
    typer.Option(
        help="Word vectors: GloVe text (.txt .gz .zip), word2vec .bin, .npz. Default: random.",
        rich_help_panel=WORDS,
    ),
]
AllVectors = Annotated[
    bool, flag("--all-vectors", text="Keep the vectors of words not in the corpus.", panel=WORDS)
]
VectorLength = Annotated[
    float | None,
    typer.Option(help="Scale the vectors to this length. Default: 0, as they are.", rich_help_panel=WORDS),
]
MinCount = Annotated[
    int | None,
    typer.Option(
        help="Without vectors: rarer training words are unknown. Default: 1.", rich_help_panel=WORDS
    ),
]
WordSize = Annotated[
    int | None,
    typer.Option(help="Without vectors: the size of a word's vector. Default: 300.", rich_help_panel=WORDS),
]
Encoder = Annotated[
    str | None,
    typer.Option(
        help="A transformer that reads the words: minilm, a folder, or a name of the Hugging Face hub;"
        " --vectors then stand beside. Default: none.",
        rich_help_panel=WORDS,
    ),
]
EncoderRevision = Annotated[
    str | None,
    typer.Option(help="A branch, tag or commit of the hub. Default: its main one.", rich_help_panel=WORDS),
]
EncoderLayers = Annotated[
    options.LayerChoice | None,
    typer.Option(
        help="Take the last states of its pieces, or a learned mix of all layers. Default: last.",
        rich_help_panel=WORDS,
    ),
]
EncoderRate = Annotated[
    float | None,
    typer.Option(help="Its step size; 0: it is not trained. Default: 3e-5.", rich_help_panel=WORDS),
]
LayerDecay = Annotated[
    float | None,
    typer.Option(
        help="The step size of a layer, as a share of that of the layer above. Default: 1.",
        rich_help_panel=WORDS,
    ),
]
FreezeWords = Annotated[bool, flag("--freeze-words", text="Do not train the word vectors.", panel=WORDS)]
Model = Annotated[
    str | None,
    typer.Option("--model", "-m", help="See `lexitree models`. Default: bicontree.", rich_help_panel=MODEL),
]
Heads = Annotated[
    str | None,
    typer.Option(
        metavar="<G|L|R|A>",
        help="Heads: learned gate, left, right, average. Default: G.",
        rich_help_panel=MODEL,
    ),
]
Hidden = Annotated[int | None, typer.Option(help="The state's size. Default: 150.", rich_help_panel=MODEL)]
OutputSize = Annotated[
    int | None,
    typer.Option(
        help="The size of the layer before the labels; 0: none. Default: 128.", rich_help_panel=MODEL
    ),
]
Dropout = Annotated[
    float | None, typer.Option(help="Dropout on the word vectors. Default: 0.5.", rich_help_panel=MODEL)
]
StateDropout = Annotated[
    float | None,
    typer.Option(help="Dropout on the states before the labels. Default: 0.", rich_help_panel=MODEL),
]
WeightDropout = Annotated[
    float | None,
    typer.Option(help="Dropout on the weights between states. Default: 0.", rich_help_panel=MODEL),
]
Supervision = Annotated[
    options.Supervision | None,
    typer.Option(
        help="Learn from all phrases or from whole sentences. Default: as the labels of the corpus stand.",
        rich_help_panel=MODEL,
    ),
]
Binarization = Annotated[
    options.Direction | None,
    typer.Option(
        help="What wide phrases are built around: their first part, last or head. Default: right.",
        rich_help_panel=MODEL,
    ),
]
SeparateTopdownInputs = Annotated[
    bool,
    flag(
        "--separate-topdown-inputs",
        text="Top-down, left and right children get input weights of their own, as the paper's equations"
        " have it and its parameter counts have not.",
        panel=MODEL,
    ),
]
BiasInit = Annotated[
    options.BiasInit | None, typer.Option(help="How biases start. Default: uniform.", rich_help_panel=MODEL)
]
Epochs = Annotated[
    int | None, typer.Option(help="How often every tree is seen. Default: 30.", rich_help_panel=TRAINING)
]
BatchSize = Annotated[
    int | None,
    typer.Option(help="Trees an update; the authors take 1. Default: 25.", rich_help_panel=TRAINING),
]
LearningRate = Annotated[
    float | None, typer.Option(help="Adam's step size. Default: 0.001.", rich_help_panel=TRAINING)
]
Schedule = Annotated[
    options.Schedule | None,
    typer.Option(
        help="Keep the step sizes, or let them fall along a line to zero. Default: constant.",
        rich_help_panel=TRAINING,
    ),
]
WarmUp = Annotated[
    float | None,
    typer.Option(
        help="The share of the updates in which step sizes rise from zero. Default: 0.",
        rich_help_panel=TRAINING,
    ),
]
Clip = Annotated[
    float | None,
    typer.Option(help="Cut the norm of gradients down to this. Default: 0, never.", rich_help_panel=TRAINING),
]
Decay = Annotated[
    float | None,
    typer.Option(help="Weight decay for each sentence. Default: 1e-6.", rich_help_panel=TRAINING),
]
DecayKind = Annotated[
    options.DecayKind | None,
    typer.Option(
        help="Shrink the weights as the authors' code does (decoupled), or by a term of the loss (l2)."
        " Default: decoupled.",
        rich_help_panel=TRAINING,
    ),
]
WordRate = Annotated[
    float | None,
    typer.Option(
        help="The word vectors' step size, as a share of the learning rate. Default: 1.",
        rich_help_panel=TRAINING,
    ),
]
RootWeight = Annotated[
    float | None,
    typer.Option(
        help="How much a whole sentence counts beside its phrases. Default: 1.", rich_help_panel=TRAINING
    ),
]
Averaging = Annotated[
    float | None,
    typer.Option(
        help="Keep a moving average of the weights instead of the last ones: 0.999 remembers about 1,000"
        " updates. Default: 0.",
        rich_help_panel=TRAINING,
    ),
]
Teacher = Annotated[
    str | None,
    typer.Option(
        help="A saved model, a run or the runs of several seeds: learn its probabilities beside the labels."
        " Default: none.",
        rich_help_panel=TRAINING,
    ),
]
TeacherTrees = Annotated[
    list[str] | None,
    typer.Option(
        help="A file of trees that only the teacher labels; give the option once for each.",
        rich_help_panel=TRAINING,
    ),
]
TeacherWeight = Annotated[
    float | None,
    typer.Option(
        help="How much the teacher counts where there is a label, from 0 to 1. Default: 0.5.",
        rich_help_panel=TRAINING,
    ),
]
Seeds = Annotated[
    str | None,
    typer.Option(
        "--seeds",
        "--seed",
        "-s",
        help="One seed or several: 3, 1,2,5 or 1-5. Default: 1.",
        rich_help_panel=TRAINING,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(help="Seeds trained at the same time. Default: one a core.", min=1, rich_help_panel=MACHINE),
]
Threads = Annotated[int, typer.Option(help="CPU threads of each run.", min=1, rich_help_panel=MACHINE)]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.", rich_help_panel=MACHINE)]
Backend = Annotated[
    str,
    typer.Option(help=options.BACKEND_HELP, rich_help_panel=MACHINE),
]
Precision = Annotated[
    Literal["float32", "tf32"],
    typer.Option(help="Exact, or faster on a GPU with fewer digits (tf32).", rich_help_panel=MACHINE),
]
