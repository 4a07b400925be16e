// What if this word were not there, or another one? The menu at a word, and what has changed.

import {chip, make, percent, shorten} from "./dom.js";

const MOST_CHANGES = 4;

/** The small dialog at a word. `on` has `edit(change)` and `show(number, token)`. */
export class WordMenu {
    constructor(host, on) {
        Object.assign(this, {host, on, element: null});
        document.addEventListener("pointerdown", (event) => {
            if (this.element && !this.element.contains(event.target)) this.close();
        });
    }

    open(view, number, token, word) {
        this.close();
        const {start, end} = view.sentence(number).tokens[token];
        const written = view.slice(start, end);
        const field = make("input", {
            type: "text",
            maxlength: 60,
            placeholder: "another word",
            "aria-label": `Replace “${written}” with`,
            autocomplete: "off",
            spellcheck: "false",
        });
        const apply = (change) => {
            this.close();
            this.on.edit({number, token, start, end, written, ...change});
        };
        const form = make(
            "form",
            {onsubmit: (event) => this.replace(event, field, apply)},
            field,
            make("button", {type: "submit"}, "Replace"),
        );
        this.element = make(
            "div",
            {
                class: "word-menu",
                role: "dialog",
                "aria-label": `What if “${written}” were different?`,
                onkeydown: (event) => this.key(event),
            },
            make("p", {}, "What if not ", make("q", {dir: "auto"}, shorten(written, 30)), "?"),
            form,
            make(
                "div",
                {class: "row"},
                make("button", {type: "button", class: "drop", onclick: () => apply({put: ""})}, "Drop it"),
                make(
                    "button",
                    {type: "button", class: "quiet", onclick: () => this.leave(number, token)},
                    "Show in tree",
                ),
            ),
        );
        this.host.append(this.element);
        this.word = word;
        word.classList.add("asked");
        this.place(word);
        field.focus({preventScroll: true});
    }

    place(word) {
        const [box, around] = [
            word.getClientRects()[0] ?? word.getBoundingClientRect(),
            this.host.getBoundingClientRect(),
        ];
        const room = around.width - this.element.offsetWidth;
        this.element.style.left = `${Math.max(0, Math.min(box.left - around.left - 12, room))}px`;
        this.element.style.top = `${box.bottom - around.top + 8}px`;
    }

    replace(event, field, apply) {
        event.preventDefault();
        const put = field.value.trim();
        if (put) apply({put});
    }

    leave(number, token) {
        this.close();
        this.on.show(number, token);
    }

    key(event) {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        const {word} = this;
        this.close();
        word.focus();
    }

    close() {
        this.element?.remove();
        this.word?.classList.remove("asked");
        this.element = null;
    }
}

/** The text after a change; a dropped word takes one space with it. */
export function applyChange(view, {start, end, put}) {
    const {points} = view;
    const isSpace = (place) => /\s/u.test(points[place] ?? "");
    if (put) return {text: [...points.slice(0, start), put, ...points.slice(end)].join(""), start, end};
    const from =
        isSpace(start - 1) && (isSpace(end) || end >= points.length || /\p{P}/u.test(points[end]))
            ? start - 1
            : start;
    const to = from === start && isSpace(end) ? end + 1 : end;
    return {text: [...points.slice(0, from), ...points.slice(to)].join(""), start: from, end: to};
}

/** Phrases that are in both answers, at places that the change moved, with another label than before. */
export function changedPhrases(before, after, {start, end, put}) {
    const moved = Array.from(put).length - (end - start);
    const place = (offset) => (offset >= end ? offset + moved : offset);
    const labels = new Map();
    for (const sentence of before.data.sentences) {
        for (const node of sentence.nodes) labels.set(`${place(node.start)} ${place(node.end)}`, node.label);
    }
    const changes = [];
    after.data.sentences.forEach((sentence, number) => {
        sentence.nodes.forEach((node, id) => {
            const was = labels.get(`${node.start} ${node.end}`);
            if (was !== undefined && was !== node.label)
                changes.push({number, node: id, was, is: node.label, size: node.end - node.start});
        });
    });
    return changes.sort((a, b) => b.size - a.size);
}

/** The panel that tells: what was changed, the labels before and after, the phrases that changed, and a way back. */
export function changePanel(before, after, change, {go, point, undo}) {
    const what = change.put
        ? [make("q", {class: "gone", dir: "auto"}, change.written), " → ", make("q", {dir: "auto"}, change.put)]
        : ["without ", make("q", {class: "gone", dir: "auto"}, change.written)];
    const told = make(
        "p",
        {class: "what-if-line"},
        make("b", {}, "What if "),
        ...what,
        make("span", {class: "plus"}, ":"),
        state(before, before.data),
        make("span", {class: "plus"}, "→"),
        state(after, after.data),
    );
    const changes = changedPhrases(before, after, change);
    const rows = changes.map((item) => changeRow(after, item, go, point));
    const list = rows.length
        ? make("ul", {"aria-label": "Phrases whose label changed"}, ...rows.slice(0, MOST_CHANGES))
        : make("p", {class: "quiet"}, "No phrase that is in both texts has another label.");
    const more = rows.slice(MOST_CHANGES);
    const rest = more.length
        ? make("details", {}, make("summary", {class: "quiet"}, `${more.length} more`), make("ul", {}, ...more))
        : null;
    const back = make("button", {type: "button", class: "undo", onclick: undo}, "Undo");
    return make(
        "section",
        {class: "what-if", "aria-label": "What if"},
        make("div", {class: "what-if-head"}, told, back),
        list,
        rest,
    );
}

function state(view, {label, probability}) {
    return make(
        "span",
        {class: "state"},
        chip(view.label(label)),
        make("bdi", {}, label ?? "no label"),
        probability ? make("span", {class: "share"}, percent(probability)) : null,
    );
}

function changeRow(view, {number, node, was, is}, go, point) {
    const text = shorten(view.phrase(number, node), 64);
    const follow = (event) => {
        event.preventDefault();
        go(number, node);
    };
    const link = make(
        "a",
        {
            href: "#tree",
            class: "phrase-link",
            onclick: follow,
            onpointerenter: () => point(number, node),
            onpointerleave: () => point(null),
        },
        make("bdi", {}, text),
    );
    return make(
        "li",
        {},
        link,
        make("span", {class: "state"}, chip(view.label(was)), was),
        make("span", {class: "plus"}, "→"),
        make("span", {class: "state"}, chip(view.label(is)), is),
    );
}
