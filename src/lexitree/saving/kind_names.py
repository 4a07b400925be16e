"""The kinds of models by name: where the code of each is, and which command uses it."""

from __future__ import annotations

from lexitree.errors import ModelFileError
from lexitree.saving.model_folder import CONFIG_FILE, ModelFolder

KIND_MODULES = {
    "classifier": "lexitree.saving.pretrained",
    "parser": "lexitree.parsers.parser_kind",
    "reranker": "lexitree.tasks.rerank.reranker",
}
"""The module whose `KIND` describes each kind. It is imported when a model of that kind is met, because parsers and
tasks build on this room."""

_COMMANDS = {"classifier": "lexitree predict", "parser": "lexitree parser", "reranker": "lexitree rerank"}
"""The command that uses each kind."""


def refuse_unknown_kind(folder: ModelFolder) -> None:
    """Refuse a model of a kind that this version does not have.

    Raises:
        ModelFileError: It is of an unknown kind.
    """
    if folder.kind not in KIND_MODULES:
        raise ModelFileError(
            folder.path / CONFIG_FILE,
            f"is of an unknown kind, {folder.kind!r:.40}",
            remedy="Upgrade lexitree.",
        )


def refuse_other_kind(folder: ModelFolder, kind: str) -> None:
    """Refuse a model of another kind than the one that was asked for.

    Raises:
        ModelFileError: It is of another kind.
    """
    if folder.kind != kind:
        refuse_unknown_kind(folder)
        raise ModelFileError(
            folder.path,
            f"is a {folder.kind}, not a {kind}",
            remedy=f"Use `{_COMMANDS[folder.kind]}` for a {folder.kind}.",
        )
