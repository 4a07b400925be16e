// The card beside a phrase: how likely its labels are, and which word stands for it.

import {chip, make, paint, percent, shorten} from "./dom.js";

const MOST_LABELS = 6;

export class Card {
    constructor(host) {
        // What it says is in the name of the tree item as well, so a screen reader need not hear it twice.
        this.element = make("aside", {class: "card", "aria-hidden": "true", hidden: true});
        host.append(this.element);
    }

    show(view, number, id, anchor) {
        const node = view.sentence(number).nodes[id];
        const parts = [
            make("p", {class: "card-phrase", dir: "auto"}, shorten(view.phrase(number, id), 90)),
            node.turn ? make("p", {class: "card-turn"}, "The label turns here: it is not what its parts are.") : null,
            shareRows(view, node),
            headLine(view, number, node),
        ];
        this.element.replaceChildren(...parts.filter(Boolean));
        this.element.hidden = false;
        this.place(anchor);
    }

    /** To the right of the phrase, else to its left, else below or above it; always inside the window. */
    place(anchor) {
        const {offsetWidth: wide, offsetHeight: tall} = this.element;
        const [roomX, roomY] = [document.documentElement.clientWidth - wide - 8, innerHeight - tall - 8];
        let [left, top] = [anchor.right + 14, anchor.top + anchor.height / 2 - tall / 2];
        if (left > roomX) left = anchor.left - wide - 14;
        if (left < 8) {
            left = anchor.left + anchor.width / 2 - wide / 2;
            top = anchor.bottom + 14 > roomY ? anchor.top - tall - 14 : anchor.bottom + 14;
        }
        this.element.style.left = `${Math.max(8, Math.min(left, roomX))}px`;
        this.element.style.top = `${Math.max(8, Math.min(top, roomY))}px`;
    }

    /** Stays beside its phrase while the page scrolls. */
    follow(anchor) {
        if (!this.element.hidden) this.place(anchor());
    }

    hide() {
        this.element.hidden = true;
    }
}

/** The labels of a phrase with bars, the likeliest first where there are many. */
function shareRows(view, node) {
    const shares = (node.probabilities ?? []).map((share, place) => ({share, label: view.data.labels[place]}));
    const shown =
        shares.length > MOST_LABELS
            ? shares.sort((a, b) => b.share - a.share).slice(0, MOST_LABELS)
            : shares.reverse();
    const rows = shown.map(({share, label}) => {
        const bar = paint(make("span", {class: "card-bar"}, make("span")), label);
        bar.firstChild.style.width = `${100 * share}%`;
        const isIt = label.name === node.label;
        return make(
            "li",
            {class: isIt ? "is-it" : null},
            chip(label),
            make("bdi", {}, label.name),
            bar,
            make("b", {}, percent(share)),
        );
    });
    return make("ul", {class: "card-shares"}, ...rows);
}

function headLine(view, number, node) {
    if (node.head === null || !node.children.length) return null;
    const share =
        node.head_weight === null || node.head_weight === undefined
            ? ""
            : `, ${percent(node.head_weight)} of the head`;
    const kind = node.penn ? ` · ${node.penn}` : "";
    return make(
        "p",
        {class: "card-head"},
        "head word ",
        make("b", {dir: "auto"}, node.head),
        share,
        kind,
    );
}
