"""Where corpora and word vectors are stored, and where they can be downloaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lexitree.errors import CorpusNotFoundError
from lexitree.suggestions import close_names, did_you_mean

DATA_VARIABLE = "LEXITREE_DATA"
_CACHE_VARIABLE = "LEXITREE_CACHE"


class DataFolder(NamedTuple):
    """A folder that may contain data, and where its name comes from."""

    path: Path
    named_by: str


def cache_folder() -> Path:
    """Return the folder for downloads: $LEXITREE_CACHE, else the platform's cache folder of the user."""
    named = os.environ.get(_CACHE_VARIABLE)
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "lexitree"
    # The specification says to ignore an XDG variable that is not absolute.
    shared = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(shared) if Path(shared).is_absolute() else Path.home() / ".cache") / "lexitree"


def data_folders(data: str | Path | None = None) -> list[DataFolder]:
    """Return the folders to search for data, in this order: the one given, $LEXITREE_DATA, the downloads."""
    folders = [DataFolder(Path(data).expanduser(), "--data")] if data is not None else []
    named = os.environ.get(DATA_VARIABLE)
    if named:
        folders.append(DataFolder(Path(named).expanduser(), f"${DATA_VARIABLE}"))
    return [*folders, DataFolder(cache_folder(), "downloads")]


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file in the data folder."""

    path: str
    """Relative to the data folder."""
    num_bytes: int
    sha256: str
    member: str = ""
    """Its name in the archive that it comes from."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file on a public server."""

    url: str
    path: str
    """Where it is stored, relative to the data folder; an archive with `members` is only unpacked there."""
    num_bytes: int
    sha256: str
    members: tuple[LocalFile, ...] = ()

    @property
    def local_files(self) -> tuple[LocalFile, ...]:
        """The files in the data folder that it provides."""
        return self.members or (LocalFile(self.path, self.num_bytes, self.sha256),)


@dataclass(frozen=True, slots=True)
class Package:
    """What one `lexitree data fetch NAME` downloads."""

    name: str
    what: str
    licence: str
    files: tuple[RemoteFile, ...]

    @property
    def num_bytes(self) -> int:
        return sum(file.num_bytes for file in self.files)

    @property
    def local_files(self) -> Iterator[LocalFile]:
        for file in self.files:
            yield from file.local_files


# The checksums of downloads are those that several public projects publish for them; those of archive members
# serve to recognize files that are already present.
_SST = Package(
    name="sst",
    what="Stanford Sentiment Treebank",
    licence="none stated; cite Socher et al. 2013",
    files=(
        RemoteFile(
            url="https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
            path="sst/trainDevTestTrees_PTB.zip",
            num_bytes=789_539,
            sha256="5c613a4f673fc74097d523a2c83f38e0cc462984d847b82c7aaf36b01cbbbfcc",
            members=(
                LocalFile(
                    "sst/train.txt",
                    2_160_058,
                    "e2f3f41b0b1e6d4dddc0effe3bfc2d27ed8928079aa9a03d652311614fc5feb7",
                    "trees/train.txt",
                ),
                LocalFile(
                    "sst/dev.txt",
                    280_825,
                    "0e9336aed6e4730e19f58d00a77b3f0297efdb755f7b5e598c98a05e3f97ea40",
                    "trees/dev.txt",
                ),
                LocalFile(
                    "sst/test.txt",
                    559_614,
                    "6e54806dee95cf80cd918e7dfb3f6770f6df24bf826f289a4d1f709e1c8f6761",
                    "trees/test.txt",
                ),
            ),
        ),
    ),
)
_TREC = Package(
    name="trec",
    what="TREC questions, without parses",
    licence="none stated; cite Li and Roth 2002",
    files=(
        RemoteFile(
            url="https://cogcomp.seas.upenn.edu/Data/QA/QC/train_5500.label",
            path="trec/train_5500.label",
            num_bytes=335_858,
            sha256="9e4c8bdcaffb96ed61041bd64b564183d52793a8e91d84fc3a8646885f466ec3",
        ),
        RemoteFile(
            url="https://cogcomp.seas.upenn.edu/Data/QA/QC/TREC_10.label",
            path="trec/TREC_10.label",
            num_bytes=23_354,
            sha256="033f22c028c2bbba9ca682f68ffe204dc1aa6e1cf35dd6207f2d4ca67f0d0e8e",
        ),
    ),
)
# Vectors are read directly from a .zip, so their archives are not unpacked.
_GLOVE_840B = RemoteFile(
    url="https://nlp.stanford.edu/data/glove.840B.300d.zip",
    path="vectors/glove.840B.300d.zip",
    num_bytes=2_176_768_927,
    sha256="c06db255e65095393609f19a4cfca20bf3a71e20cc53e892aafa490347e3849f",
)
_GLOVE_6B = RemoteFile(
    url="https://nlp.stanford.edu/data/glove.6B.zip",
    path="vectors/glove.6B.zip",
    num_bytes=862_182_613,
    sha256="617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
)
_PDDL = "PDDL 1.0; cite Pennington et al. 2014"

_PACKAGES = (
    _SST,
    _TREC,
    Package(
        "glove-840b", "GloVe vectors, 840B tokens, 300 dimensions, cased: the paper's", _PDDL, (_GLOVE_840B,)
    ),
    Package("glove-6b", "GloVe vectors, 6B tokens, 50 to 300 dimensions, lower case", _PDDL, (_GLOVE_6B,)),
)
PACKAGES = {package.name: package for package in _PACKAGES}
_ALIASES = {
    "sst-fine": "sst",
    "sst-binary": "sst",
    "sst-polarity": "sst",
    "trec-fine": "trec",
    "trec-subtypes": "trec",
    "glove": "glove-840b",
    "glove.840b": "glove-840b",
    "glove.840b.300d": "glove-840b",
    "glove.6b": "glove-6b",
}


def find_package(name: str) -> Package:
    """Return what can be downloaded under a name; `sst-binary` is part of `sst`.

    Raises:
        CorpusNotFoundError: The name is unknown.
    """
    wanted = name.lower()
    package = PACKAGES.get(_ALIASES.get(wanted, wanted))
    if package is not None:
        return package
    meant = did_you_mean(close_names(wanted, [*PACKAGES, *_ALIASES], most=1))
    if wanted.startswith("mini-"):
        meant = "The mini corpora are part of lexitree and need no download."
    remedy = f"{meant} Available: {', '.join(PACKAGES)}.".lstrip()
    raise CorpusNotFoundError(f"unknown download {name!r}", remedy=remedy)
