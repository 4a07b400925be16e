// A document at a glance: the score of each sentence along the text; a sentence that is chosen shows its details.

import {make, paint, percent, shorten} from "./dom.js";

export class Overview {
    constructor(view, onChoose) {
        const scores = view.data.sentences.map((sentence) => scoreOf(view, sentence));
        const isScale = scores.every((score) => score !== null);
        this.buttons = view.data.sentences.map((sentence, number) =>
            bar(view, sentence, number, scores[number], onChoose),
        );
        const bars = make(
            "ol",
            {class: `overview-bars${isScale ? " scale" : ""}`},
            ...this.buttons.map((button) => make("li", {}, button)),
        );
        bars.addEventListener("keydown", (event) => this.key(event));
        const axis = isScale
            ? make(
                  "p",
                  {class: "overview-axis", "aria-hidden": "true"},
                  make("span", {}, "positive"),
                  make("span", {}, "negative"),
              )
            : null;
        this.element = make("nav", {class: "overview", "aria-label": "Sentences of the text"}, axis, bars);
    }

    select(number) {
        this.buttons.forEach((button, place) => {
            button.setAttribute("aria-current", String(place === number));
            button.setAttribute("tabindex", place === number ? "0" : "-1");
        });
        const chosen = this.buttons[number];
        const row = chosen?.closest("ol");
        if (row) row.scrollLeft = chosen.parentElement.offsetLeft - row.clientWidth / 2;
    }

    key(event) {
        const place = this.buttons.indexOf(event.target);
        const goal = {ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: this.buttons.length - 1}[event.key];
        if (goal === undefined || !this.buttons[goal]) return;
        event.preventDefault();
        this.buttons[goal].click();
        this.buttons[goal].focus();
    }
}

function scoreOf(view, sentence) {
    return sentence.score ?? view.balance(sentence.nodes[0]?.probabilities ?? []);
}

function bar(view, sentence, number, score, onChoose) {
    const words = shorten(view.slice(sentence.start, sentence.end), 80);
    const share = sentence.probability ? `, ${percent(sentence.probability)}` : "";
    const name = sentence.name ?? `Sentence ${number + 1}`;
    const label = view.label(sentence.label);
    const stem = make("span", {class: "stem"});
    const sign = make("span", {class: "sign"}, label?.mark ?? "");
    const button = make(
        "button",
        {
            type: "button",
            "aria-label": `${name}: ${sentence.label ?? "no label"}${share}. ${words}`,
            title: `${name}: ${words}`,
            onclick: () => onChoose(number),
        },
        stem,
        sign,
    );
    const height = score === null ? 0.6 : Math.max(0.04, Math.abs(score));
    button.style.setProperty("--height", height.toFixed(3));
    if (score !== null) button.classList.add(score < 0 ? "below" : "above");
    return paint(button, label);
}
