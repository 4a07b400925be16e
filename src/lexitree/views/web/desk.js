// One text and its answer, which follows as one types; what-if changes and their undo.

import {Answer} from "./answer.js";
import {explainText, Problem, useToken} from "./data.js";
import {make, shorten} from "./dom.js";
import {spokenAnswer} from "./verdict.js";
import {applyChange} from "./what_if.js";

const PAUSE = 150;
const SLOW_ANSWER = 400;

export class Desk {
    /** `on` has `change()`: the text, the answer or the sentence is another one. `model()` is the model to ask. */
    constructor(host, {name, placeholder, examples, model, change, spoken}) {
        Object.assign(this, {model, change, spoken, timer: null, asked: null, history: [], view: null, number: null});
        const id = `text-${name.replaceAll(" ", "-").toLowerCase()}`;
        this.field = make("textarea", {
            id,
            rows: 1,
            placeholder,
            spellcheck: "false",
            autocapitalize: "sentences",
            dir: "auto",
            oninput: () => this.typed(),
        });
        this.problem = make("div", {class: "problem", role: "alert", hidden: true});
        this.box = make(
            "div",
            {class: "field"},
            make("div", {class: "field-head"}, make("label", {for: id}, name), this.examples(examples)),
            this.field,
        );
        this.element = make("div", {class: "desk"}, this.box, this.problem);
        host.append(this.element);
        this.watchWidth();
        const on = {
            edit: (edit) => this.edit(edit),
            undo: () => this.undo(),
            sentence: (number) => this.chose(number),
        };
        this.answer = new Answer(this.element, on, {isLive: true, name: `Answer: ${name}`});
    }

    examples(texts) {
        const buttons = texts.map(([name, text]) =>
            make("button", {type: "button", class: "example", title: text, onclick: () => this.put(text)}, name),
        );
        return make("div", {class: "examples", role: "group", "aria-label": "Examples"}, ...buttons);
    }

    get text() {
        return this.field.value;
    }

    /** Puts a text into the field and asks at once. */
    put(text, number = null) {
        this.history = [];
        this.number = number;
        this.write(text);
        return this.ask();
    }

    write(text) {
        this.field.value = text;
        this.grow();
    }

    watchWidth() {
        let last = 0;
        const observer = new ResizeObserver(([{contentRect}]) => {
            if (contentRect.width === last) return;
            last = contentRect.width;
            requestAnimationFrame(() => this.grow());
        });
        observer.observe(this.box);
    }

    /** The field is as high as its text, up to a limit that the style sheet sets. */
    grow() {
        this.field.style.height = "auto";
        this.field.style.height = `${this.field.scrollHeight + 2}px`;
    }

    typed() {
        this.grow();
        this.history = [];
        this.number = null;
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.ask(), PAUSE);
    }

    /** Asks for the answer to what is in the field; an answer to an older text is never shown. */
    async ask() {
        clearTimeout(this.timer);
        this.asked?.abort();
        const {text} = this;
        if (!text.trim()) return this.empty();
        const asked = (this.asked = new AbortController());
        const dim = setTimeout(() => this.answer.setOld(true), this.view ? 60 : SLOW_ANSWER);
        try {
            const view = await explainText(text, this.model(), asked.signal);
            if (asked === this.asked) this.show(view);
        } catch (error) {
            if (asked === this.asked && error.name !== "AbortError") this.fail(error);
        } finally {
            clearTimeout(dim);
        }
    }

    empty() {
        this.asked = null;
        this.view = null;
        this.problem.hidden = true;
        this.answer.clear();
        this.change();
    }

    show(view) {
        this.view = view;
        this.problem.hidden = true;
        const change = this.history.at(-1) ?? null;
        this.answer.show(view, this.number, change);
        if (change) this.answer.focusWord(change);
        this.spoken(spokenAnswer(view));
        document.title = `${shorten(view.data.text, 60)} · lexitree`;
        this.change();
    }

    chose(number) {
        this.number = number;
        this.change();
    }

    fail(error) {
        if (!(error instanceof Problem)) throw error;
        const retry = error.retryAfter ? Math.min(error.retryAfter, 30) : null;
        const parts = [make("b", {}, error.title), " ", make("span", {}, error.message)];
        if (retry) parts.push(" ", make("span", {}, `Trying again in ${retry} s.`));
        if (error.status === 401) parts.push(this.tokenForm());
        this.problem.replaceChildren(...parts);
        this.problem.hidden = false;
        this.answer.setOld(true);
        if (retry) this.timer = setTimeout(() => this.ask(), 1000 * retry);
        this.change();
    }

    tokenForm() {
        const field = make("input", {type: "password", "aria-label": "Token", autocomplete: "off"});
        const use = (event) => {
            event.preventDefault();
            useToken(field.value);
            this.ask();
        };
        return make("form", {class: "token", onsubmit: use}, field, make("button", {type: "submit"}, "Use it"));
    }

    /** Tries the text with one word dropped or replaced. */
    edit(edit) {
        const before = this.view;
        const {text, start, end} = applyChange(before, edit);
        this.history.push({...edit, start, end, before, shown: this.number});
        this.write(text);
        return this.ask();
    }

    undo() {
        const change = this.history.pop();
        const {before, shown} = change;
        this.asked?.abort();
        this.asked = null;
        this.number = shown;
        this.write(before.data.text);
        this.show(before);
        this.answer.focusWord(change);
    }

    close() {
        clearTimeout(this.timer);
        this.asked?.abort();
        this.answer.clear();
        this.element.remove();
    }
}
