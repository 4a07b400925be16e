"""Find and load corpora by name or by path."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from lexitree.corpora.corpus import SPLITS, Corpus, SplitName, Supervision
from lexitree.corpora.locations import DATA_VARIABLE, data_folders
from lexitree.corpora.mini import load_mini, load_mini_dependencies
from lexitree.corpora.sst import HOW_TO_GET, find_sst, find_sst_dependencies, load_sst, load_sst_dependencies
from lexitree.corpora.trec import find_trec, load_trec
from lexitree.corpora.treebank import Strip, find_split_file, load_treebank, read_any, strip_trees
from lexitree.errors import ConfigError, CorpusNotFoundError, FileError, OnError, PluginError
from lexitree.files import STANDARD_STREAM
from lexitree.plugins import Registry, Source
from lexitree.suggestions import close_names, close_paths, did_you_mean, suggest_path
from lexitree.trees.brackets import ReadReport
from lexitree.trees.tree import Tree

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class CorpusEntry:
    """What is known of a named corpus: its license, its files and how to load it."""

    name: str
    what: str
    licence: str
    package: str
    """Its name for `lexitree data fetch`, or `embedded`; the name of its folder if it cannot be downloaded."""
    load: Callable[[Path], Corpus]
    """Loads it from the folder that `find_corpus` returns; embedded corpora ignore the folder."""
    how_to_get: str = ""
    """What to do if it is missing and cannot be downloaded."""


_SST = "none stated; cite Socher et al. 2013"
_TREC = "none stated; cite Li and Roth 2002"
_PARSES = "sst/dependencies"


def _dependencies(name: str, what: str, load: Callable[[Path], Corpus]) -> CorpusEntry:
    return CorpusEntry(name, f"the same reviews as dependency trees, {what}", _SST, _PARSES, load, HOW_TO_GET)


def _embedded(name: str, what: str, load: Callable[[], Corpus]) -> CorpusEntry:
    return CorpusEntry(name, what, "as lexitree", EMBEDDED, lambda _: load())


_ENTRIES = (
    CorpusEntry("sst-fine", "film reviews, sentiment 0 to 4 on every phrase", _SST, "sst", load_sst),
    CorpusEntry(
        "sst-binary", "film reviews, negative or positive", _SST, "sst", partial(load_sst, task="binary")
    ),
    CorpusEntry(
        "sst-polarity",
        "the same task, but trained on all sentences and phrases with sentiment 0 to 4",
        _SST,
        "sst",
        partial(load_sst, task="polarity"),
    ),
    _dependencies("sst-dependencies", "sentiment 0 to 4", load_sst_dependencies),
    _dependencies(
        "sst-dependencies-binary", "negative or positive", partial(load_sst_dependencies, task="binary")
    ),
    CorpusEntry("trec", "questions, 6 types", _TREC, "trec", load_trec),
    CorpusEntry("trec-fine", "questions, 50 types", _TREC, "trec", partial(load_trec, task="fine")),
    CorpusEntry(
        "trec-subtypes",
        "questions, 6 types, but trained with 50",
        _TREC,
        "trec",
        partial(load_trec, task="subtypes"),
    ),
    _embedded(
        "mini-reviews", "short reviews, sentiment 0 to 4 on every phrase", partial(load_mini, "reviews")
    ),
    _embedded(
        "mini-dependencies",
        "the short reviews as dependency trees, the last word of a phrase its head",
        load_mini_dependencies,
    ),
    _embedded(
        "mini-reviews-binary",
        "short reviews, negative or positive",
        partial(load_mini, "reviews", "binary"),
    ),
    _embedded(
        "mini-reviews-polarity",
        "the same task, but trained on all short reviews with sentiment 0 to 4",
        partial(load_mini, "reviews", "polarity"),
    ),
    _embedded("mini-questions", "short questions, 6 types", partial(load_mini, "questions")),
    _embedded("mini-questions-fine", "short questions, finer types", partial(load_mini, "questions", "fine")),
    _embedded(
        "mini-questions-subtypes",
        "short questions, 6 types, but trained with finer ones",
        partial(load_mini, "questions", "subtypes"),
    ),
)


def _admit(name: str, value: Any, source: Source) -> CorpusEntry:
    """A corpus of another package: a function that loads it, whose docstring says what it is."""
    if not callable(value):
        raise TypeError("must be a function that returns a lexitree.Corpus")

    def load(_: Path) -> Corpus:
        loaded: object = value()
        if not isinstance(loaded, Corpus):
            raise PluginError(
                f"the corpus {name!r} of {source} is a {type(loaded).__name__}, not a lexitree.Corpus"
            )
        return loaded

    what = (value.__doc__ or "").strip().partition("\n")[0].rstrip(".")
    return CorpusEntry(name, what, f"see {source}", EMBEDDED, load)


CORPORA: Registry[CorpusEntry] = Registry("corpus", {entry.name: entry for entry in _ENTRIES}, _admit)
"""All corpora by name."""
ALIASES = {"sst": "sst-fine", "trec-coarse": "trec", "mini": "mini-reviews"}
_FINDERS: dict[str, Callable[[Path], Path | None]] = {
    "sst": find_sst,
    _PARSES: find_sst_dependencies,
    "trec": find_trec,
}


def load_corpus(
    name_or_path: str | Path,
    *,
    data: str | Path | None = None,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    strip: Collection[Strip] = (),
    supervision: Supervision | None = None,
    hold_out_dev: bool = True,
    file_is: SplitName = "train",
) -> Corpus:
    """Load a corpus by its name (`sst-binary`, `trec`, `mini-reviews`, ...) or by the path of a file or folder.

    A name takes precedence over a file of the same name; `./sst` is the file.

    Args:
        name_or_path: The name or path.
        data: Where to look for named corpora first; then in $LEXITREE_DATA and among the downloads.
        encoding: For paths only; see `load_treebank`. A named corpus has its own encoding and format.
        on_error: For paths only; see `load_treebank`.
        strip: For paths only; see `load_treebank`.
        supervision: See `load_treebank`; ignored for named corpora.
        hold_out_dev: See `load_treebank`; ignored for named corpora.
        file_is: The split that a single file is.

    Raises:
        CorpusNotFoundError: The corpus is unknown or not on this machine.
        FileError: There is no such file or folder.
        ConfigError: A setting for paths was given for a named corpus.
    """
    entry = find_entry(str(name_or_path))
    if entry is not None:
        _refuse_settings(entry, encoding=encoding != "utf-8", on_error=on_error != "raise", strip=bool(strip))
        return entry.load(find_corpus(entry.name, data))
    path = find_path(name_or_path)
    given = "train" if path.is_dir() else file_is
    train, dev, test = (path if split == given else None for split in SPLITS)
    return load_treebank(
        train,
        dev,
        test,
        encoding=encoding,
        on_error=on_error,
        strip=strip,
        supervision=supervision,
        hold_out_dev=hold_out_dev,
    )


def find_entry(name: str) -> CorpusEntry | None:
    """Return the corpus of this name, ignoring case; None if there is none."""
    wanted = name.lower()
    return CORPORA.get(ALIASES.get(wanted, wanted)) or CORPORA.get(name)


def find_path(path: str | Path) -> Path:
    """Return the path of an existing file or folder, or `-`; otherwise the error suggests similar names."""
    found = Path(path).expanduser()
    if str(path) != STANDARD_STREAM and not found.exists():
        raise _not_there(str(path))
    return found


def find_corpus(name: str, data: str | Path | None = None) -> Path:
    """Return the folder of a named corpus.

    Raises:
        CorpusNotFoundError: It is not on this machine; the error lists the folders that were searched.
    """
    entry = find_entry(name)
    if entry is None:
        raise _not_there(name)
    if entry.package == EMBEDDED:
        return Path()
    folders = data_folders(data)
    for folder in folders:
        found = _FINDERS[entry.package](folder.path)
        if found is not None:
            return found
    looked = "\n".join(f"  {folder.path} ({folder.named_by}{_presence(folder.path)})" for folder in folders)
    remedy = entry.how_to_get or f"Download it with `lexitree data fetch {entry.package}`"
    raise CorpusNotFoundError(
        f"the corpus {name} is not on this machine. Folders searched:\n{looked}",
        remedy=f"{remedy}, or set {DATA_VARIABLE} to the folder that contains {entry.package}/.",
    )


def _refuse_settings(entry: CorpusEntry, **is_given: bool) -> None:
    """Reject settings that would have no effect."""
    given = [name.replace("_", "-") for name, wanted in is_given.items() if wanted]
    if given:
        raise ConfigError(
            f"{' and '.join(given)} cannot be set for {entry.name}, whose format is known",
            remedy="Give the path of a file or folder to use your own settings.",
        )


def _presence(folder: Path) -> str:
    return "" if folder.is_dir() else "; no such folder"


def _not_there(name: str) -> FileError | CorpusNotFoundError:
    if Path(name).suffix or Path(name).name != name:
        return FileError(name, "no such file or folder", remedy=suggest_path(name))
    meant = did_you_mean([*close_names(name, [*CORPORA, *ALIASES]), *close_paths(name)])
    return CorpusNotFoundError(
        f"no corpus, file or folder {name!r}",
        remedy=f"{meant} Corpora: {', '.join(CORPORA)}; or give the path of a treebank.".lstrip(),
    )


class SplitTrees(NamedTuple):
    """The trees of a split, and whether all phrases or whole sentences are scored."""

    trees: Sequence[Tree]
    supervision: Supervision


def read_split(
    corpus: str,
    split: SplitName,
    supervision: Supervision | None,
    *,
    default: Supervision,
    data: Path | None,
    options: dict[str, Any],
    report: ReadReport,
) -> SplitTrees:
    """Read the trees to score a model on.

    Args:
        corpus: The name of a corpus, or the path of a folder or file of labelled trees.
        split: The split of a corpus or folder.
        supervision: Whether to score all phrases or whole sentences; None leaves it to the corpus.
        default: What is scored if neither the user nor the corpus says.
        data: The folder with real corpora.
        options: How files are read: `encoding`, `on_error` and `strip`.
        report: Where skipped trees are noted.

    Raises:
        CorpusNotFoundError: There are no such trees.
    """
    if find_entry(corpus):
        loaded = load_corpus(corpus, data=data, **options)
        trees = loaded.scored_trees(split)
        supervision = supervision or loaded.supervision
    else:
        supervision = supervision or default
        trees = _read_path(find_path(corpus), split, supervision, options, report)
    if not trees:
        others = ", ".join(_splits_of(corpus, data))
        raise CorpusNotFoundError(
            f"{corpus} has no {split} trees to score the model on",
            remedy=f"Choose another split with --split: it has {others}." if others else "",
        )
    return SplitTrees(trees, supervision)


def _splits_of(corpus: str, data: Path | None) -> list[str]:
    """The splits of a corpus or folder; none for a file."""
    if find_entry(corpus):
        return list(load_corpus(corpus, data=data).splits)
    path = find_path(corpus)
    return [name for name in SPLITS if path.is_dir() and find_split_file(path, name)]


def _read_path(
    path: Path, split: SplitName, supervision: Supervision, options: dict[str, Any], report: ReadReport
) -> Sequence[Tree]:
    """Read a file, or one split of a folder; skipped trees are noted in the report."""
    if path.is_dir():
        files = {name: find_split_file(path, name) for name in SPLITS}
        if split != "test" and files["train"] and not files["dev"]:
            # Training holds out a part of a single file: score on the same part.
            loaded = load_treebank(files["train"], supervision=supervision, **options)
            report.num_errors, report.errors = loaded.num_skipped, list(loaded.skipped)
            return loaded.splits.get(split, ())
        found = files[split]
        if found is None:
            return ()
        path = found
    trees = read_any(path, encoding=options["encoding"], on_error=options["on_error"], report=report)
    return list(strip_trees(trees, options["strip"]))
