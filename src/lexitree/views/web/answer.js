// The answer to one text: the text with its highlights, the label, the reason, and the tree of the chosen sentence.

import {make} from "./dom.js";
import {Overview} from "./overview.js";
import {TextView} from "./text_view.js";
import {nodeOfToken} from "./tree_fold.js";
import {TreePanel} from "./tree_panel.js";
import {reasonOf, verdictOf} from "./verdict.js";
import {changePanel, WordMenu} from "./what_if.js";

export class Answer {
    /** `on` has `edit(change)`, `undo()` and `sentence(number)`. */
    constructor(host, on, {isLive, name}) {
        Object.assign(this, {on, isLive, panel: null, number: 0});
        this.element = make("section", {class: "answer", "aria-label": name});
        host.append(this.element);
    }

    /** Shows an answer; `change` is what a word was changed to get it, with the answer before. */
    show(view, number = null, change = null) {
        this.panel?.close();
        this.panel = null;
        this.view = view;
        const {data} = view;
        const links = {
            go: (sentence, node) => this.go(sentence, node),
            point: (sentence, node) => this.pointAt(sentence, node),
        };
        this.text = new TextView(
            view,
            {
                word: (...at) => this.chooseWord(...at),
                point: (...at) => this.pointAtWord(...at),
                sentence: (place) => this.choose(place),
            },
            this.isLive,
        );
        this.overview = data.sentences.length > 1 ? new Overview(view, (place) => this.choose(place)) : null;
        const said = make("div", {class: "said"}, this.text.element);
        this.menu = new WordMenu(said, {edit: (edit) => this.on.edit(edit), show: (...at) => this.showWord(...at)});
        const lead = make(
            "div",
            {class: "lead"},
            said,
            verdictOf(view, data),
            make("div", {class: "why"}, ...[reasonOf(view, data.reason, links), notesOf(data.notes)].filter(Boolean)),
        );
        this.details = make("section", {class: "details"});
        const changes = change
            ? changePanel(change.before, view, change, {...links, undo: () => this.on.undo()})
            : null;
        this.element.replaceChildren(...[changes, this.overview?.element, lead, this.details].filter(Boolean));
        this.setOld(false);
        if (data.sentences.length) this.choose(Math.min(number ?? strongest(data), data.sentences.length - 1), true);
    }

    clear() {
        this.panel?.close();
        this.panel = null;
        this.view = null;
        this.element.replaceChildren();
    }

    /** While a new answer is on its way, the old one is dimmed. */
    setOld(isOld) {
        this.element.classList.toggle("old", isOld);
        this.element.setAttribute("aria-busy", String(isOld));
    }

    /** Shows the tree of a sentence. */
    choose(number, isFirst = false) {
        if (!isFirst && number === this.number) return;
        this.number = number;
        const {view} = this;
        const sentence = view.sentence(number);
        const isOne = view.data.sentences.length === 1;
        this.panel?.close();
        const links = {go: (place, node) => this.go(place, node), point: (place, node) => this.pointAt(place, node)};
        const title = isOne
            ? "The tree"
            : (sentence.name ?? `Sentence ${number + 1} of ${view.data.sentences.length}`);
        const probabilities = sentence.nodes[0]?.probabilities ?? [];
        const head = make(
            "div",
            {class: "details-head"},
            make("h2", {}, title),
            ...(isOne ? [] : [verdictOf(view, {...sentence, probabilities}, true)]),
        );
        this.details.replaceChildren(
            ...[head, isOne ? null : reasonOf(view, sentence.reason, links)].filter(Boolean),
        );
        if (sentence.nodes.length)
            this.panel = new TreePanel(this.details, view, number, {point: (id) => this.lightText(number, id)});
        this.text.select(isOne ? null : number);
        this.overview?.select(number);
        if (isFirst) return;
        this.isChosen = true;
        this.on.sentence(number);
    }

    lightText(number, id) {
        if (id === null) return this.text.light();
        const {first, last} = this.view.sentence(number).nodes[id];
        this.text.light(number, first, last);
    }

    pointAt(number, id) {
        if (number === null) {
            this.panel?.light(null);
            return this.text.light();
        }
        if (number === this.number) this.panel?.light(id);
        this.lightText(number, id);
    }

    pointAtWord(number, token) {
        const isHere = number === this.number && number !== null;
        this.panel?.light(isHere ? nodeOfToken(this.view.sentence(number).nodes, token) : null);
    }

    go(number, id) {
        this.choose(number);
        this.panel?.go(id);
    }

    chooseWord(number, token, word) {
        if (this.isLive) this.menu.open(this.view, number, token, word);
        else this.showWord(number, token);
    }

    /** Back to the word that was changed, so that the keyboard goes on from there. */
    focusWord({number, token}) {
        const words = this.text.words[number] ?? [];
        words[Math.min(token, words.length - 1)]?.focus({preventScroll: true});
    }

    showWord(number, token) {
        this.go(number, nodeOfToken(this.view.sentence(number).nodes, token));
    }
}

/** The sentence that the reason speaks of first. */
function strongest(data) {
    return data.reason?.find((run) => run.sentence !== undefined)?.sentence ?? 0;
}

function notesOf(notes) {
    return notes?.length ? make("ul", {class: "notes"}, ...notes.map((note) => make("li", {}, note))) : null;
}
