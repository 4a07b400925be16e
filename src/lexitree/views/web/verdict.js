// What the text is: its label with its probability, all labels as a bar, and the reason in one sentence.

import {chip, make, paint, percent} from "./dom.js";

const MOST_SHOWN = 6;

/** The label of a text or sentence, large, over a bar of all labels. */
export function verdictOf(view, {label, probability, probabilities}, isSmall = false) {
    const look = view.label(label);
    const share =
        probability === null || probability === undefined
            ? null
            : make("span", {class: "share"}, percent(probability));
    const name = make(
        "p",
        {class: "verdict-label"},
        chip(look),
        make("bdi", {class: "verdict-name"}, label ?? "no label"),
        share,
    );
    const box = paint(make("div", {class: isSmall ? "verdict small" : "verdict"}, name), look);
    if (probabilities?.length)
        box.append(shareBar(view, probabilities), ...(isSmall ? [] : [shareList(view, probabilities, label)]));
    return box;
}

function shareBar(view, probabilities) {
    const said = view.data.labels.map((label, place) => `${label.name} ${percent(probabilities[place])}`).join(", ");
    const bar = make("div", {class: "share-bar", role: "img", "aria-label": `Probabilities: ${said}`});
    view.data.labels.forEach((label, place) => {
        const part = paint(make("span"), label);
        part.style.flexGrow = probabilities[place];
        bar.append(part);
    });
    return bar;
}

function shareList(view, probabilities, chosen) {
    const shares = view.data.labels.map((label, place) => ({label, share: probabilities[place]}));
    const shown = shares.length > MOST_SHOWN ? shares.sort((a, b) => b.share - a.share).slice(0, MOST_SHOWN) : shares;
    const items = shown.map(({label, share}) =>
        make(
            "li",
            {class: label.name === chosen ? "is-it" : null},
            chip(label),
            make("bdi", {}, label.name),
            make("span", {class: "share"}, percent(share)),
        ),
    );
    return make("ul", {class: "share-list", "aria-hidden": "true"}, ...items);
}

/** A reason: words, and phrases that lead to the tree. `go(sentence, node)` and `point(sentence, node or null)`. */
export function reasonOf(view, runs, {go, point}) {
    if (!runs?.length) return null;
    return make(
        "p",
        {class: "reason"},
        ...runs.map((run) => (run.node === undefined ? run.text : phraseLink(view, run, go, point))),
    );
}

function phraseLink(view, run, go, point) {
    const label = view.label(run.label);
    const link = make(
        "a",
        {
            href: "#tree",
            class: "phrase-link",
            title: label ? label.name : null,
            onclick: (event) => {
                event.preventDefault();
                go(run.sentence, run.node);
            },
            onpointerenter: () => point(run.sentence, run.node),
            onpointerleave: () => point(null),
        },
        make("bdi", {}, run.text),
        make("span", {class: "phrase-mark", "aria-hidden": "true"}, label?.mark ?? ""),
    );
    return paint(link, label);
}

/** What a screen reader hears when the answer has come. */
export function spokenAnswer(view) {
    const {label, probability, reason} = view.data;
    const why = (reason ?? []).map((run) => run.text).join("");
    return `${label ?? "No label"}${probability ? `, ${Math.round(100 * probability)} percent` : ""}. ${why}`;
}
