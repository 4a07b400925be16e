"""The name of a corpus or a path goes in; the corpus comes out, wherever it was found."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lexitree.corpora.corpus import Corpus, SplitName, Supervision
from lexitree.corpora.locations import DATA_VARIABLE, data_folders
from lexitree.corpora.mini import load_mini, load_mini_dependencies
from lexitree.corpora.sst import HOW_TO_GET, find_sst, find_sst_dependencies, load_sst, load_sst_dependencies
from lexitree.corpora.trec import find_trec, load_trec
from lexitree.corpora.treebank import Strip, load_treebank
from lexitree.errors import ConfigError, CorpusNotFoundError, FileError, OnError
from lexitree.files import STANDARD_STREAM

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class CorpusEntry:
    """A corpus that goes by a name."""

    name: str
    what: str
    licence: str
    package: str
    """What `lexitree data fetch` calls it, or `embedded`; the folder's name where it cannot be fetched."""
    load: Callable[[Path], Corpus]
    """From the folder that `find_corpus` gives; an embedded corpus needs none and ignores it."""
    how_to_get: str = ""
    """What to do where it is not there and cannot be fetched."""


_SST = "none stated; cite Socher et al. 2013"
_TREC = "none stated; cite Li and Roth 2002"
_OURS = "as lexitree"
_PARSES = "sst/dependencies"

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
    CorpusEntry(
        "sst-dependencies",
        "the same reviews as dependency trees, sentiment 0 to 4",
        _SST,
        _PARSES,
        load_sst_dependencies,
        HOW_TO_GET,
    ),
    CorpusEntry(
        "sst-dependencies-binary",
        "the same reviews as dependency trees, negative or positive",
        _SST,
        _PARSES,
        partial(load_sst_dependencies, task="binary"),
        HOW_TO_GET,
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
    CorpusEntry(
        "mini-reviews",
        "short reviews, sentiment 0 to 4 on every phrase",
        _OURS,
        EMBEDDED,
        lambda _: load_mini("reviews", "fine"),
    ),
    CorpusEntry(
        "mini-dependencies",
        "the short reviews as dependency trees, the last word of a phrase its head",
        _OURS,
        EMBEDDED,
        lambda _: load_mini_dependencies(),
    ),
    CorpusEntry(
        "mini-reviews-binary",
        "short reviews, negative or positive",
        _OURS,
        EMBEDDED,
        lambda _: load_mini("reviews", "binary"),
    ),
    CorpusEntry(
        "mini-reviews-polarity",
        "the same task, but trained on all short reviews with sentiment 0 to 4",
        _OURS,
        EMBEDDED,
        lambda _: load_mini("reviews", "polarity"),
    ),
    CorpusEntry(
        "mini-questions",
        "short questions, 6 types",
        _OURS,
        EMBEDDED,
        lambda _: load_mini("questions", "coarse"),
    ),
    CorpusEntry(
        "mini-questions-fine",
        "short questions, finer types",
        _OURS,
        EMBEDDED,
        lambda _: load_mini("questions", "fine"),
    ),
    CorpusEntry(
        "mini-questions-subtypes",
        "short questions, 6 types, but trained with finer ones",
        _OURS,
        EMBEDDED,
        lambda _: load_mini("questions", "subtypes"),
    ),
)
CORPORA: dict[str, CorpusEntry] = {entry.name: entry for entry in _ENTRIES}
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
    """Load a corpus by its name (`sst-binary`, `trec`, `mini-reviews`, ...) or by a file's or folder's path.

    Real corpora are looked for in `data`, then in $LEXITREE_DATA, then among the downloads. The other
    settings are for paths: see `load_treebank`. A named corpus has its own encoding and form, so `encoding`,
    `on_error` and `strip` are refused beside a name. A single file is the training split unless `file_is`
    says otherwise. A name wins over a file that is called the same; `./sst` is the file.
    """
    entry = find_entry(str(name_or_path))
    if entry is not None:
        _refuse_settings(entry, encoding=encoding != "utf-8", on_error=on_error != "raise", strip=bool(strip))
        return entry.load(find_corpus(entry.name, data))
    path = find_path(name_or_path)
    as_train = path.is_dir() or file_is == "train"
    return load_treebank(
        path if as_train else None,
        dev=path if not as_train and file_is == "dev" else None,
        test=path if not as_train and file_is == "test" else None,
        encoding=encoding,
        on_error=on_error,
        strip=strip,
        supervision=supervision,
        hold_out_dev=hold_out_dev,
    )


def find_entry(name: str) -> CorpusEntry | None:
    """The corpus that goes by a name, whatever its case; None where there is none."""
    wanted = name.lower()
    return CORPORA.get(ALIASES.get(wanted, wanted))


def find_path(path: str | Path) -> Path:
    """The path of a file or folder that is there, or `-`; the error for another also offers close names."""
    found = Path(path).expanduser()
    if str(path) != STANDARD_STREAM and not found.exists():
        raise _not_there(str(path))
    return found


def find_corpus(name: str, data: str | Path | None = None) -> Path:
    """The folder in which a named corpus lies; where there is none, the error says where it was sought."""
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
    remedy = entry.how_to_get or f"Get it with `lexitree data fetch {entry.package}`"
    raise CorpusNotFoundError(
        f"the corpus {name} is not on this machine. It was looked for in:\n{looked}",
        remedy=f"{remedy}, or set {DATA_VARIABLE} to the folder that holds {entry.package}/.",
    )


def _refuse_settings(entry: CorpusEntry, **is_given: bool) -> None:
    """A setting that would do nothing is a misunderstanding, and better said than passed over."""
    given = [name.replace("_", "-") for name, wanted in is_given.items() if wanted]
    if given:
        raise ConfigError(
            f"{' and '.join(given)} cannot be set for {entry.name}, which is read as its source wrote it",
            remedy="Give the path of a file or folder to read it with settings of your own.",
        )


def _presence(folder: Path) -> str:
    return "" if folder.is_dir() else "; no such folder"


def _not_there(name: str) -> FileError | CorpusNotFoundError:
    if Path(name).suffix or Path(name).name != name:
        return FileError(name, "there is no such file or folder")
    close = difflib.get_close_matches(name.lower(), [*CORPORA, *ALIASES], n=3)
    meant = f"Did you mean {' or '.join(close)}? " if close else ""
    return CorpusNotFoundError(
        f"there is no corpus, file or folder {name!r}",
        remedy=f"{meant}Corpora: {', '.join(CORPORA)}; or give the path of a treebank.",
    )
