"""Tables that are counted from the package itself: embedded corpora and limits."""

from __future__ import annotations

from markdown_text import make_table, show_cell


def render_embedded_corpora() -> str:
    """The sizes of the embedded corpora, counted."""
    from lexitree.corpora.named import load_corpus

    rows: list[list[str]] = []
    for name in ("mini-reviews", "mini-questions"):
        corpus = load_corpus(name)
        for split in corpus.splits:
            counts = corpus.counts(split)
            labels = ", ".join(
                f"{corpus.label_set.name_of(label)} {num}" for label, num in counts.root_labels.items()
            )
            rows.append(
                [
                    name,
                    split,
                    f"{counts.num_trees:,}",
                    f"{counts.num_words:,}",
                    f"{counts.num_labelled:,}",
                    labels,
                ]
            )
    return make_table(
        ["corpus", "split", "sentences", "words", "labelled nodes", "labels of the sentences"], rows
    )


def render_limits() -> str:
    """The limits of the library and of a service, with what they are about."""
    from lexitree.limits import Limits

    columns = [Limits().as_dict(), Limits.for_service().as_dict()]
    rows = [
        [f"`{each.name}`", each.setting.help, *(show_cell(column, each.name) for column in columns)]
        for each in Limits.describe()
    ]
    return make_table(["limit", "what it is about", "`Limits()`", "`Limits.for_service()`"], rows)
