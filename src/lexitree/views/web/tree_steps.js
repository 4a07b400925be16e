// How the label of a sentence comes about, phrase by phrase: step by step, or played.

import {chip, make, percent, shorten} from "./dom.js";
import {compositionOrder} from "./tree_fold.js";

const PACE = 1500;
const MANY = 14;

export class Steps {
    constructor(tree, onStep) {
        Object.assign(this, {tree, onStep, place: -1, timer: null});
        const turns = tree.nodes.filter((node) => node.turn).length;
        this.caption = make("p", {class: "step-caption", "aria-live": "polite"});
        this.only = make("input", {type: "checkbox", onchange: () => this.stop()});
        this.only.checked = turns > 0 && this.steps().length > MANY;
        this.playButton = stepButton("Play", "▶", () => this.play());
        this.playButton.classList.add("wide");
        const many = turns === 1 ? "1 turn" : `${turns} turns`;
        const choice = turns ? make("label", {class: "only-turns"}, this.only, ` only the ${many}`) : null;
        const controls = make(
            "div",
            {class: "step-controls", role: "group", "aria-label": "Step by step"},
            stepButton("Step back", "‹", () => this.move(-1)),
            this.playButton,
            stepButton("Step forward", "›", () => this.move(1)),
            choice,
        );
        this.element = make("div", {class: "steps"}, controls, this.caption);
        this.label();
    }

    /** The phrases to go through: those that are unfolded, or all where the label turns. */
    steps() {
        const {nodes, open} = this.tree;
        const seen = new Set(this.tree.seen());
        return compositionOrder(nodes).filter((id) =>
            this.only.checked ? nodes[id].turn : open.has(id) && seen.has(id),
        );
    }

    get isPlaying() {
        return this.timer !== null;
    }

    play() {
        if (this.isPlaying) return this.pause();
        if (this.place >= this.steps().length - 1) this.place = -1;
        this.timer = setInterval(() => this.tick(), PACE);
        this.label();
        this.go(this.place + 1);
    }

    tick() {
        if (!this.tree.svg.isConnected || this.place >= this.steps().length - 1) return this.pause();
        this.go(this.place + 1);
    }

    pause() {
        clearInterval(this.timer);
        this.timer = null;
        this.label();
    }

    /** Back to the whole tree. */
    stop() {
        this.pause();
        this.place = -1;
        this.caption.replaceChildren();
        this.tree.mark("later", () => false);
        this.tree.mark("now", () => false);
        this.onStep(null);
    }

    move(by) {
        this.pause();
        const goal = this.place + by;
        if (goal < 0 || goal >= this.steps().length) this.stop();
        else this.go(goal);
    }

    go(place) {
        const steps = this.steps();
        const id = steps[place];
        if (id === undefined) return this.stop();
        this.place = place;
        this.tree.bringIntoSight(id);
        const order = new Map(compositionOrder(this.tree.nodes).map((node, at) => [node, at]));
        const {nodes} = this.tree;
        this.tree.mark(
            "later",
            (node) =>
                (order.get(node) ?? -1) > order.get(id) || (!order.has(node) && nodes[node].last > nodes[id].last),
        );
        this.tree.mark("now", (node) => node === id || nodes[node].parent === id);
        this.caption.replaceChildren(...this.told(id, place, steps.length));
        this.onStep(id);
    }

    /** `2 of 7: not ○ + a bad film − → not a bad film ○ 61 %`. */
    told(id, place, count) {
        const {nodes} = this.tree;
        const parts = nodes[id].children.flatMap((part, at) => [
            at ? make("span", {class: "plus"}, "+") : null,
            this.part(part, 34),
        ]);
        const turn = nodes[id].turn ? make("strong", {class: "turns"}, "the label turns") : null;
        return [
            make("span", {class: "count"}, `${place + 1} of ${count}`),
            ...parts,
            make("span", {class: "plus"}, "→"),
            this.part(id, 56, true),
            turn,
        ].filter(Boolean);
    }

    part(id, most, withShare = false) {
        const {view, number, nodes} = this.tree;
        const {label, probability} = nodes[id];
        const share = withShare && probability ? ` ${percent(probability)}` : "";
        return make(
            "span",
            {class: "step-part"},
            make("q", {dir: "auto"}, shorten(view.phrase(number, id), most)),
            " ",
            chip(view.label(label)),
            make("span", {class: "step-label"}, label ?? "", share),
        );
    }

    label() {
        this.playButton.firstChild.textContent = this.isPlaying ? "❚❚" : "▶";
        this.playButton.lastChild.textContent = this.isPlaying ? "Pause" : "Play";
        this.playButton.setAttribute("aria-pressed", String(this.isPlaying));
    }
}

function stepButton(name, sign, onclick) {
    const said = name === "Play" ? {} : {"aria-label": name, title: name};
    const word = name === "Play" ? make("span", {}, name) : null;
    return make(
        "button",
        {type: "button", ...said, onclick},
        make("span", {"aria-hidden": "true", class: "sign"}, sign),
        word,
    );
}
