// The text as it was written, with the phrases that matter highlighted, one inside the other.

import {make, paint} from "./dom.js";

export class TextView {
    /** `on` has `word(number, token, element)`, `point(number, token or null)` and `sentence(number)`. */
    constructor(view, on, isLive) {
        Object.assign(this, {view, on, isLive, words: [], sentences: [], lit: []});
        const name = isLive ? "The text: choose a word to drop or replace it" : "The text";
        // A long text scrolls, which a keyboard can do from one of its words, or from the text where words are no buttons.
        const tabindex = !isLive && sizeOf(view) === "long" ? 0 : null;
        this.element = make("p", {
            class: `text ${sizeOf(view)}`,
            dir: "auto",
            role: "group",
            "aria-label": name,
            tabindex,
        });
        this.fill();
        this.element.addEventListener("pointerover", (event) => this.pointed(event));
        this.element.addEventListener("pointerleave", () => on.point(null));
        this.element.addEventListener("click", (event) => this.clicked(event));
        this.element.addEventListener("keydown", (event) => this.key(event));
    }

    fill() {
        const {view} = this;
        let position = 0;
        view.data.sentences.forEach((sentence, number) => {
            this.element.append(view.slice(position, sentence.start), this.sentence(sentence, number));
            position = sentence.end;
        });
        this.element.append(view.slice(position, view.points.length));
    }

    sentence(sentence, number) {
        const element = make("span", {class: "sentence", "data-sentence": number});
        const around = [{element, last: Infinity}];
        const phrases = sentence.nodes.filter((node) => node.highlight);
        const words = [];
        let position = sentence.start;
        let next = 0;
        const endPhrases = (token) => {
            while (around.at(-1).last <= token) {
                const {element: phrase, mark} = around.pop();
                phrase.append(make("span", {class: "phrase-mark", "aria-hidden": "true"}, mark));
            }
        };
        sentence.tokens.forEach((token, place) => {
            endPhrases(place);
            around.at(-1).element.append(this.view.slice(position, Math.max(position, token.start)));
            for (; next < phrases.length && phrases[next].first <= place; next += 1)
                this.begin(phrases[next], place, around);
            words.push(this.word(number, place, this.view.slice(Math.max(position, token.start), token.end)));
            around.at(-1).element.append(words.at(-1));
            position = Math.max(position, token.end);
        });
        endPhrases(sentence.tokens.length);
        element.append(this.view.slice(position, Math.max(position, sentence.end)));
        this.words.push(words);
        this.sentences.push(element);
        return element;
    }

    /** Opens a highlighted phrase, unless it crosses the one around it (as phrases of dependency trees may). */
    begin(phrase, place, around) {
        if (phrase.first !== place || phrase.last > around.at(-1).last) return;
        const label = this.view.label(phrase.label);
        const element = paint(make("span", {class: "phrase", "data-deep": Math.min(3, around.length - 1)}), label);
        around.at(-1).element.append(element);
        around.push({element, last: phrase.last, mark: label?.mark ?? ""});
    }

    word(number, token, text) {
        const word = make("span", {class: "word", "data-sentence": number, "data-token": token}, text);
        if (this.isLive) {
            word.setAttribute("role", "button");
            word.setAttribute("tabindex", number === 0 && token === 0 ? "0" : "-1");
            word.setAttribute("aria-haspopup", "dialog");
        }
        return word;
    }

    /** Lights up the words of a phrase; without one, none. */
    light(number = null, first = 0, last = 0) {
        for (const word of this.lit) word.classList.remove("lit");
        this.lit = number === null ? [] : this.words[number].slice(first, last);
        for (const word of this.lit) word.classList.add("lit");
        if (!globalThis.CSS?.highlights) return;
        CSS.highlights.delete("lit");
        if (!this.lit.length) return;
        // Where the browser can, the spaces between the words are lit as well.
        CSS.highlights.set("lit", new Highlight(...textRanges(this.sentences[number], this.lit[0], this.lit.at(-1))));
    }

    /** Marks the sentence whose details are shown. */
    select(number) {
        this.sentences.forEach((sentence, place) => sentence.classList.toggle("chosen", place === number));
        const chosen = this.sentences[number];
        if (!chosen) return;
        const {element} = this;
        const [top, bottom] = [
            chosen.offsetTop - element.offsetTop,
            chosen.offsetTop + chosen.offsetHeight - element.offsetTop,
        ];
        if (top < element.scrollTop || bottom > element.scrollTop + element.clientHeight)
            element.scrollTop = top - 16;
    }

    found(event) {
        const word = event.target.closest?.(".word");
        return word ? {number: Number(word.dataset.sentence), token: Number(word.dataset.token), word} : null;
    }

    pointed(event) {
        const at = this.found(event);
        if (at) this.on.point(at.number, at.token);
        else this.on.point(null);
    }

    clicked(event) {
        const at = this.found(event);
        const sentence = event.target.closest?.(".sentence");
        if (sentence) this.on.sentence(Number(sentence.dataset.sentence));
        if (at) this.on.word(at.number, at.token, at.word);
    }

    /** One stop for the Tab key; arrows go from word to word. */
    key(event) {
        const at = this.found(event);
        if (!at || !this.isLive) return;
        if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            at.word.click();
            return;
        }
        const all = this.words.flat();
        const place = all.indexOf(at.word);
        const goal = {ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: all.length - 1}[event.key];
        if (goal === undefined || !all[goal]) return;
        event.preventDefault();
        at.word.setAttribute("tabindex", "-1");
        all[goal].setAttribute("tabindex", "0");
        all[goal].focus();
    }
}

/** Ranges over the texts from one word to another, without the marks of labels between them. */
function textRanges(sentence, first, last) {
    const ranges = [];
    const walker = document.createTreeWalker(sentence, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
        const isBefore =
            !first.contains(text) && first.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_PRECEDING;
        if (isBefore || text.parentElement.className === "phrase-mark") continue;
        const range = new Range();
        range.selectNodeContents(text);
        ranges.push(range);
        if (last.contains(text)) break;
    }
    return ranges;
}

/** Short texts are set large. */
function sizeOf({points, data}) {
    if (data.sentences.length > 1 || points.length > 600) return "long";
    return points.length > 150 ? "middle" : "short";
}
