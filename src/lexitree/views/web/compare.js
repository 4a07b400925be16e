// Two texts side by side: which label each has, in one line.

import {chip, make, percent} from "./dom.js";

/** `First: negative 61 %. Second: positive 70 %.`, with what differs most. */
export function comparisonOf(one, two) {
    if (!one || !two)
        return make("p", {class: "comparison quiet"}, "Type a second text to compare it with the first.");
    const same = one.data.label === two.data.label;
    const [a, b] = [one, two].map((view) => made(view));
    const told = same
        ? [a, " and ", b, make("span", {class: "plus"}, "the same label")]
        : [a, make("span", {class: "plus"}, "against"), b];
    return make("p", {class: "comparison"}, ...told, shift(one, two));
}

function made(view) {
    const {label, probability} = view.data;
    return make(
        "span",
        {class: "state"},
        chip(view.label(label)),
        make("bdi", {}, label ?? "no label"),
        probability ? make("span", {class: "share"}, percent(probability)) : null,
    );
}

function shift(one, two) {
    if (!one.data.label || !two.data.label) return null;
    const [a, b] = [one.balance(one.data.probabilities), two.balance(two.data.probabilities)];
    if (a === null || b === null) return null;
    const by = b - a;
    const word =
        Math.abs(by) < 0.05
            ? "about as positive as the first"
            : `${Math.abs(by) > 0.6 ? "far " : ""}more ${by > 0 ? "positive" : "negative"}`;
    return make("span", {class: "quiet"}, `The second is ${word}.`);
}
