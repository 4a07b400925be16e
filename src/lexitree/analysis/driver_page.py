"""Shows drivers on one HTML page that needs nothing else and runs no script, or in a compact view for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from lexitree.analysis.driver_report import Driver, DriverReport, ExampleText, Mention
from lexitree.evaluation.intervals import Share
from lexitree.labels import LabelSet
from lexitree.views.colors import LabelLooks, label_looks
from lexitree.views.share_plots import Estimate, axis_end, groups_plot, share_bar_plot
from lexitree.views.shell import cut_text, page_styles, whole_page
from lexitree.views.visible import html_text, shorten_text

STYLES = "drivers.css"
CHARACTERS_AROUND = 60
"""How much of a text is shown before and after an example."""
LONGEST_PHRASE = 40
MOST_IN_NOTEBOOKS = 10


def driver_page(report: DriverReport, *, most: int) -> str:
    """A page with the shares of all labels, a table with plots for each label, and the rows of the examples.

    Args:
        report: What was counted.
        most: How many drivers of each label are shown.

    Returns:
        A whole HTML document.
    """
    looks = label_looks(LabelSet(report.labels))
    title = f"Drivers of {report.source}" if report.source else "Drivers"
    shown = [driver for label in report.labels for driver in report.of(label, most)]
    body = (
        f"<header><h1>{_heading(report)}</h1><p>{_about(report)}</p></header>"
        f"{_label_section(report, looks)}{_sections(report, looks, most, links=True)}"
        f"{_row_section(shown, looks)}{_how_to_read(report, len(shown))}"
    )
    return whole_page(title, page_styles(looks, STYLES), body)


def notebook_drivers(report: DriverReport) -> str:
    """A block for a notebook's output: the tables of the page, with fewer drivers."""
    looks = label_looks(LabelSet(report.labels))
    return (
        f'<div class="lt-root lt-compact"><style>{page_styles(looks, STYLES)}</style><p>{_about(report)}</p>'
        f"{_label_section(report, looks)}{_sections(report, looks, MOST_IN_NOTEBOOKS, links=False)}</div>"
    )


def _heading(report: DriverReport) -> str:
    names = [html_text(label) for label in report.labels if report.of(label)]
    if not names:
        return "No drivers"
    return f"What makes texts {' or '.join(names)}" if len(names) < 4 else "What gives texts their labels"


def _about(report: DriverReport) -> str:
    parts = [
        f"{_count(report.num_texts, 'text')}{f' of {html_text(report.source)}' if report.source else ''}"
    ]
    if report.num_empty:
        parts.append(f"{_count(report.num_empty, 'empty text')} left out")
    if report.num_without_group:
        parts.append(f"{_count(report.num_without_group, 'text')} without a value of {html_text(report.by)}")
    return "; ".join(parts) + "."


def _label_section(report: DriverReport, looks: LabelLooks) -> str:
    """How many texts have each label, of all texts and of each group."""
    if not report.num_texts:
        return ""
    end = axis_end(max(share.interval.high for share in report.text_labels.values()))
    groups = report.groups or {}
    rows = "".join(
        f'<tr class="{looks.css_class(label)}"><th scope="row"><span class="lt-pill">{html_text(label)}</span></th>'
        f"{_plot_cell(share, end)}{_count_cell('texts', share.count)}{_share_cell('share', share)}"
        f"{_group_cells([shares[label] for shares in groups.values()])}</tr>"
        for label, share in report.text_labels.items()
    )
    head = _head("label", end, ["texts", "share"], _group_names(report))
    table = f'<table class="lt-drivers">{head}<tbody>{rows}</tbody></table>'
    return f"<section><h2>Labels of the texts</h2>{table}</section>"


def _sections(report: DriverReport, looks: LabelLooks, most: int, *, links: bool) -> str:
    return "".join(
        _driver_section(report, looks, label, report.of(label), most, links=links)
        for label in report.labels
        if report.of(label)
    )


def _driver_section(
    report: DriverReport, looks: LabelLooks, label: str, drivers: Sequence[Driver], most: int, *, links: bool
) -> str:
    shown = drivers[:most]
    end = axis_end(max(driver.texts.interval.high for driver in shown))
    rows = "".join(_driver_row(driver, looks, end, links=links) for driver in shown)
    name = html_text(label)
    head = _head("head word", end, ["texts", "phrases", "share", f"of these {name}"], _group_names(report))
    more = f"The first {len(shown)} of {len(drivers):,}" if len(shown) < len(drivers) else "All"
    return (
        f'<section><h2>What makes texts <span class="lt-pill {looks.css_class(label)}">{name}</span></h2>'
        f'<table class="lt-drivers"><caption>{more}; head words with their commonest phrases</caption>'
        f"{head}<tbody>{rows}</tbody></table></section>"
    )


def _driver_row(driver: Driver, looks: LabelLooks, end: float, *, links: bool) -> str:
    phrases = ", ".join(
        f"<bdi>{html_text(cut_text(phrase, LONGEST_PHRASE))}</bdi>&nbsp;{count:,}"
        for phrase, count in driver.phrases
        if phrase != driver.head
    )
    return (
        f'<tr class="{looks.css_class(driver.label)}"><th scope="row"><bdi>{html_text(driver.head)}</bdi>'
        + (f'<span class="lt-phrases">{phrases}</span>' if phrases else "")
        + f"{_examples(driver, links=links)}</th>{_plot_cell(driver.texts, end)}"
        f"{_count_cell('texts', driver.texts.count)}{_count_cell('phrases', driver.num_occurrences)}"
        f"{_share_cell('share', driver.texts)}{_share_cell(f'of these {driver.label}', driver.labelled)}"
        f"{_group_cells(list(driver.groups.values()))}</tr>"
    )


def _examples(driver: Driver, *, links: bool) -> str:
    """Folded away: the surest examples, and the numbers of all groups."""
    items = "".join(f"<li>{_example(text, mention, links=links)}</li>" for text, mention in driver.examples)
    groups = "".join(
        f'<tr><th scope="row">{html_text(group)}</th><td>{share.count:,} of {share.total:,}</td>'
        f"<td>{_percent(share)}</td><td>{_between(share)}</td></tr>"
        for group, share in driver.groups.items()
    )
    table = f"<table><tbody>{groups}</tbody></table>" if groups else ""
    return f'<details class="lt-more"><summary>Examples</summary><ul>{items}</ul>{table}</details>'


def _example(text: ExampleText, mention: Mention, *, links: bool) -> str:
    """`… the story goes nowhere … (row 17)`, with the phrase marked."""
    before = text.text[max(0, mention.start - CHARACTERS_AROUND) : mention.start]
    after = text.text[mention.end : mention.end + CHARACTERS_AROUND]
    lead = "…" if mention.start > CHARACTERS_AROUND else ""
    tail = "…" if mention.end + CHARACTERS_AROUND < len(text.text) else ""
    phrase = html_text(shorten_text(text.text, mention.start, mention.end))
    row = f'<a href="#row-{text.row}">row {text.row}</a>' if links else f"row {text.row}"
    return f"<bdi>{lead}{html_text(before)}<mark>{phrase}</mark>{html_text(after)}{tail}</bdi> ({row})"


def _row_section(drivers: Iterable[Driver], looks: LabelLooks) -> str:
    """The texts of all examples in full, to which these are linked."""
    texts = {text.row: text for driver in drivers for text, _ in driver.examples}
    items = "".join(
        f'<li id="row-{row}"><p><b>Row {row}</b> <span class="lt-pill {looks.css_class(text.label)}">'
        f"{html_text(text.label)}</span> {html_text(text.group)} "
        f'<span class="lt-number">{html_text(text.place)}</span></p>'
        f'<p dir="auto">{html_text(shorten_text(text.text))}</p></li>'
        for row, text in sorted(texts.items())
    )
    return (
        f'<section><h2>Rows of the examples</h2><ul class="lt-rows">{items}</ul></section>' if items else ""
    )


def _head(first: str, end: float, numbers: Sequence[str], groups: Sequence[str]) -> str:
    """The headings: that of the plots, whose axis goes from 0 to `end`, follows the first."""
    axis = f'share of texts<span class="lt-axis"><span>0</span><span>{100 * end:g} %</span></span>'
    cells = [f'<th scope="col">{name}</th>' for name in (first, axis)]
    cells += [f'<th scope="col" class="lt-count">{name}</th>' for name in numbers]
    cells += [f'<th scope="col">{name}</th>' for name in groups]
    return f"<thead><tr>{''.join(cells)}</tr></thead>"


def _group_names(report: DriverReport) -> list[str]:
    """The headings of the columns that compare groups: all of them, and the last with the first."""
    groups = list(report.groups or {})
    if len(groups) < 2:
        return []
    first, last = html_text(groups[0]), html_text(groups[-1])
    return [f"by {html_text(report.by)}: {first} … {last}", "change, in points"]


def _group_cells(shares: Sequence[Share]) -> str:
    """A plot of all groups, and the difference of the last to the first."""
    if len(shares) < 2:
        return ""
    difference, (low, high) = shares[-1].change_from(shares[0])
    is_sure = low > 0 or high < 0
    mark = ("▲ " if low > 0 else "▼ ") if is_sure else ""
    estimates = [Estimate(share.value, *share.interval) for share in shares]
    plot = groups_plot(estimates, axis_end(max(estimate.high for estimate in estimates)))
    return (
        f'<td class="lt-plotted">{_percent(shares[0])} → {_percent(shares[-1])}{plot}</td>'
        f'<td class="lt-change{" lt-sure" if is_sure else ""}" data-name="change">{mark}{100 * difference:+.1f}'
        f"<small>{100 * low:+.1f} to {100 * high:+.1f}</small></td>"
    )


def _plot_cell(share: Share, end: float) -> str:
    return f'<td class="lt-plotted">{share_bar_plot(Estimate(share.value, *share.interval), end)}</td>'


def _count_cell(name: str, count: int) -> str:
    return f'<td class="lt-count" data-name="{escape(name)}">{count:,}</td>'


def _share_cell(name: str, share: Share) -> str:
    shown = f"{_percent(share)}<small>{_between(share)}</small>"
    return f'<td class="lt-count" data-name="{html_text(name)}">{shown}</td>'


def _percent(share: Share) -> str:
    return f"{100 * share.value:.1f} %"


def _between(share: Share) -> str:
    low, high = share.interval
    return f"{100 * low:.1f}–{100 * high:.1f}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _how_to_read(report: DriverReport, num_shown: int) -> str:
    compared = (
        " A change is the share in the last group less that in the first; it is marked if its interval leaves "
        f"out 0, as about {max(1, round(num_shown / 20))} of {num_shown} changes would by chance."
        if len(report.groups or {}) > 1
        else ""
    )
    return (
        '<footer class="lt-note"><p>A driver is the head word, in lower case, of the smallest phrases that have '
        "the label; words that explain nothing, such as articles, pronouns, auxiliaries and punctuation, are passed "
        "over. Its share is that of the texts with such a phrase among all texts; the next column says how many of "
        "these texts have the label as a whole. First come the words whose texts have the label more often than as "
        "many texts of all. Below each share stands its 95 % confidence interval (Wilson), which the plots show as a "
        f"line.{compared} Labels are the model’s, and no model is always right. Made with lexitree.</p></footer>"
    )
