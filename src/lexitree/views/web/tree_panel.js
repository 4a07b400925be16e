// The tree of one sentence with everything around it: levels, zoom, step by step, legend, export.

import {make} from "./dom.js";
import {exportButtons} from "./export.js";
import {everyPhrase, foldLevel, unfoldLevel} from "./tree_fold.js";
import {Card} from "./tree_card.js";
import {Steps} from "./tree_steps.js";
import {TreeView} from "./tree_view.js";

export class TreePanel {
    /** `on.point(id or null)` hears what is pointed at. */
    constructor(host, view, number, on) {
        Object.assign(this, {view, number, on});
        this.holder = make("div", {class: "tree-holder"});
        this.percent = make("output", {class: "zoom-share", "aria-label": "Zoom"}, "100\u202f%");
        this.bar = make("div", {class: "tree-bar"});
        this.element = make("div", {class: "tree-panel"}, this.bar, this.holder);
        host.append(this.element);
        this.card = new Card(this.element);
        this.tree = new TreeView(this.holder, view, number, {
            point: (id, box) => this.point(id, box),
            change: () => this.changed(),
            zoom: (scale) => (this.percent.textContent = `${Math.round(100 * scale)}\u202f%`),
            level: (by) => this.level(by),
        });
        this.steps = new Steps(this.tree, (id) => on.point(id));
        this.bar.append(...this.tools());
        this.element.append(
            this.steps.element,
            make("div", {class: "tree-foot"}, legend(this.tree), exportButtons(view, this.tree)),
        );
        this.changed();
        this.follow = () => this.card.follow(() => this.tree.rectangle(this.pointed));
        addEventListener("scroll", this.follow, {passive: true});
    }

    tools() {
        const button = (text, title, onclick) =>
            make("button", {type: "button", "aria-label": /\w/.test(text) ? null : title, title, onclick}, text);
        this.fewer = button("Less", "Fold one level", () => this.level(-1));
        this.more = button("More", "Unfold one level", () => this.level(1));
        this.all = button("All", "Unfold everything", () => this.tree.setOpen(everyPhrase(this.tree.nodes)));
        const first = button("What matters", "Unfold what matters", () => this.tree.setOpen(this.tree.atFirst()));
        const zoom = (factor) => this.tree.zoom.by(factor);
        this.shape = button("Outline", "", () => this.reshape());
        return [
            make(
                "div",
                {class: "tools", role: "group", "aria-label": "Levels"},
                this.fewer,
                this.more,
                this.all,
                first,
            ),
            make(
                "div",
                {class: "tools", role: "group", "aria-label": "Zoom and shape"},
                button("−", "Zoom out", () => zoom(0.8)),
                this.percent,
                button("+", "Zoom in", () => zoom(1.25)),
                button("Fit", "Fit the tree into its frame", () => this.tree.zoom.fit(this.tree.plan)),
                this.shape,
            ),
        ];
    }

    level(by) {
        const {nodes, open} = this.tree;
        this.tree.setOpen(by > 0 ? unfoldLevel(nodes, open) : foldLevel(nodes, open));
    }

    reshape() {
        this.tree.reshape(this.tree.shape === "tree" ? "outline" : "tree");
    }

    changed() {
        const {nodes, open} = this.tree;
        const phrases = everyPhrase(nodes).size;
        const shown = this.tree.seen().filter((id) => open.has(id)).length;
        this.fewer.disabled = shown <= 1;
        this.more.disabled = this.all.disabled = shown >= phrases;
        const other = this.tree.shape === "tree" ? "Outline" : "Tree";
        this.shape.textContent = other;
        this.shape.title = `Draw as ${other.toLowerCase()}`;
    }

    point(id, box) {
        this.pointed = id;
        if (id === null) this.card.hide();
        else this.card.show(this.view, this.number, id, box);
        this.tree.mark("lit", (node) => node === id);
        this.on.point(id);
    }

    /** Lights up a node, or the folded phrase around it, without a card. */
    light(id) {
        const seen = id === null ? null : this.tree.nearest(id);
        this.tree.mark("lit", (node) => node === seen);
    }

    go(id) {
        this.element.scrollIntoView({block: "nearest"});
        this.tree.focus(id, {preventScroll: false});
    }

    close() {
        removeEventListener("scroll", this.follow);
        this.steps.pause();
        this.tree.close();
        this.element.remove();
    }
}

function legend(tree) {
    const hasHeads = tree.nodes[0].head !== null;
    const items = [
        hasHeads ? ["leads", "Thick lines lead to the head word."] : null,
        tree.nodes.some((node) => node.turn) ? ["turn", "Here the label turns: the whole is not what its parts are."] : null,
        ["folded", "A roof is a folded phrase."],
    ].filter(Boolean);
    const list = items.map(([kind, text]) =>
        make("li", {}, make("span", {class: `key key-${kind}`, "aria-hidden": "true"}), text),
    );
    return make("ul", {class: "legend"}, ...list);
}
