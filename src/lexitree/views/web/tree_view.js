// The drawing of one tree: nodes, edges and what happens when one points at them.

import {draw, make, paint, wantsCalm} from "./dom.js";
import {isPhrase, nearestVisible, reveal, unfoldWhatMatters, visibleNodes} from "./tree_fold.js";
import {layOutOutline, layOutTree, levelsOf, NodeSizes, widthInRow} from "./tree_layout.js";
import {keyMeaning} from "./keyboard.js";
import {figure, spokenName} from "./tree_figure.js";
import {Zoom} from "./tree_zoom.js";

const NARROW = 680;
const OUTLINE_ROWS = 16;

export class TreeView {
    /** `on` has `point(id or null, rectangle)`, `change()` and `zoom(scale)`. */
    constructor(host, view, number, on, shape = null) {
        Object.assign(this, {host, view, number, on, drawn: new Map(), marks: new Map(), current: 0});
        this.nodes = view.sentence(number).nodes;
        this.levels = levelsOf(this.nodes);
        this.sizes = new NodeSizes(view, number);
        this.build();
        this.shape = shape ?? (host.clientWidth < NARROW ? "outline" : "tree");
        this.open = this.atFirst();
        this.zoom = new Zoom(this.frame, this.canvas, (scale) => on.zoom(scale));
        this.draw();
        this.watchWidth();
    }

    build() {
        this.edges = draw("g", {class: "edges", "aria-hidden": "true"});
        this.items = draw("g", {class: "nodes"});
        this.canvas = draw("g", {class: "canvas"}, this.edges, this.items);
        const name = `Tree of the sentence: ${this.nodes[0].says ?? ""}`;
        this.svg = draw(
            "svg",
            {role: "tree", "aria-label": name, class: "tree", width: "100%", height: "100%"},
            this.canvas,
        );
        this.frame = make("div", {class: "tree-frame"}, this.svg);
        this.host.replaceChildren(this.frame);
        this.svg.addEventListener("keydown", (event) => this.key(event));
        this.svg.addEventListener("pointerover", (event) => this.hover(event));
        this.svg.addEventListener("pointerleave", () => this.on.point(null));
        this.svg.addEventListener("pointerdown", () => (this.before = document.activeElement));
        this.svg.addEventListener("click", (event) => this.click(event));
        this.svg.addEventListener("focusin", (event) => this.focused(event));
        this.svg.addEventListener("focusout", () => this.on.point(null));
    }

    /** The shape follows the width until somebody chooses one. */
    watchWidth() {
        let last = this.host.clientWidth;
        this.paper = matchMedia("print");
        this.observer = new ResizeObserver(() => {
            const width = this.host.clientWidth;
            if (!width || Math.abs(width - last) < 2 || this.paper.matches) return;
            last = width;
            const shape = width < NARROW ? "outline" : "tree";
            if (!this.isChosen && shape !== this.shape) return this.reshape(shape, false);
            this.draw();
        });
        this.observer.observe(this.host);
        this.onPaper = () => this.fitPaper(this.paper.matches);
        this.paper.addEventListener("change", this.onPaper);
    }

    /** On paper the whole drawing is as wide as the page. */
    fitPaper(isPaper) {
        if (!isPaper) {
            this.svg.removeAttribute("viewBox");
            return this.draw();
        }
        const {width, height} = this.plan;
        this.svg.setAttribute("viewBox", `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`);
        this.canvas.style.transform = "none";
    }

    atFirst() {
        const isNeutral = (name) => this.view.label(name)?.polarity === 0;
        if (this.shape === "outline") return unfoldWhatMatters(this.nodes, isNeutral, () => 1, OUTLINE_ROWS);
        const room = Math.max(600, this.host.clientWidth) / 0.8;
        return unfoldWhatMatters(this.nodes, isNeutral, (id) => widthInRow(this.sizes, id), room);
    }

    reshape(shape, isChosen = true) {
        this.isChosen = isChosen;
        this.shape = shape;
        this.drawn.clear();
        this.items.replaceChildren();
        this.zoom.isTouched = false;
        this.draw();
        this.on.change();
    }

    setOpen(open, focus = this.current) {
        this.open = open;
        this.current = nearestVisible(this.nodes, open, focus);
        this.draw();
        this.on.change();
    }

    draw() {
        const room = this.host.clientWidth;
        const plan =
            this.shape === "tree" ? layOutTree(this.sizes, this.open) : layOutOutline(this.sizes, this.open, room);
        this.drawEdges(plan);
        this.drawNodes(plan);
        this.svg.setAttribute("aria-orientation", this.shape === "tree" ? "horizontal" : "vertical");
        const focus = plan.boxes.get(this.current);
        if (!this.zoom.isTouched) this.zoom.fit(plan, focus);
        this.zoom.size = plan;
        this.plan = plan;
        for (const [name, chosen] of this.marks) this.mark(name, chosen);
    }

    drawEdges(plan) {
        // Thick lines come last, so that they lie on top.
        const ordered = [...plan.edges].sort((a, b) => a.leads - b.leads || a.main - b.main);
        this.edges.replaceChildren(
            ...ordered.map(({id, path, leads, main}) =>
                paint(
                    draw("path", {
                        d: path,
                        class: `edge${leads ? " leads" : ""}${main ? " main" : ""}`,
                        "data-to": id,
                    }),
                    this.view.label(this.nodes[id].label),
                ),
            ),
        );
    }

    drawNodes(plan) {
        const before = this.drawn;
        const old = this.plan;
        this.drawn = new Map();
        let last = null;
        for (const box of plan.boxes.values()) {
            const key = `${plan.shape} ${box.kind}`;
            const known = before.get(box.id);
            const group = known?.group ?? this.group(box.id, old?.boxes.get(this.nodes[box.id].parent), plan.shape);
            if (known?.key !== key) group.replaceChildren(figure(this, box, plan.shape));
            this.describe(group, box);
            const next = last ? last.nextSibling : this.items.firstChild;
            if (next !== group) this.items.insertBefore(group, next);
            last = group;
            this.drawn.set(box.id, {group, key});
        }
        for (const [id, {group}] of before) if (!plan.boxes.has(id)) group.remove();
        const settle = () => {
            for (const box of plan.boxes.values()) moveTo(this.drawn.get(box.id).group, box, plan.shape);
        };
        if (wantsCalm() || !old) settle();
        else requestAnimationFrame(settle);
    }

    group(id, from, shape) {
        const node = this.nodes[id];
        const group = draw("g", {
            class: "node",
            role: "treeitem",
            "data-node": id,
            "aria-level": this.levels[id] + 1,
        });
        const around = node.parent < 0 ? [id] : this.nodes[node.parent].children;
        group.setAttribute("aria-setsize", around.length);
        group.setAttribute("aria-posinset", around.indexOf(id) + 1);
        if (from) moveTo(group, from, shape);
        return paint(group, this.view.label(node.label));
    }

    describe(group, box) {
        group.setAttribute("tabindex", box.id === this.current ? "0" : "-1");
        if (isPhrase(this.nodes[box.id])) group.setAttribute("aria-expanded", String(this.open.has(box.id)));
        group.setAttribute("aria-label", spokenName(this.nodes[box.id], box));
        group.setAttribute("class", `node painted node-${box.kind}${this.nodes[box.id].turn ? " turn" : ""}`);
    }

    /** Marks nodes, until marked otherwise: `name` is a class, `chosen` says for each node whether it has it. */
    mark(name, chosen) {
        this.marks.set(name, chosen);
        for (const [id, {group}] of this.drawn) group.classList.toggle(name, chosen(id));
        for (const path of this.edges.children) path.classList.toggle(name, chosen(Number(path.dataset.to)));
    }

    /** Unfolds and moves as much as is needed to see a node. */
    bringIntoSight(id) {
        const open = reveal(this.nodes, this.open, id);
        if (open.size !== this.open.size) this.setOpen(open, id);
        const box = this.plan.boxes.get(id);
        if (this.shape === "tree") this.zoom.show(box.x, box.y);
    }

    focus(id, options = {}) {
        this.bringIntoSight(id);
        const last = this.drawn.get(this.current);
        last?.group.setAttribute("tabindex", "-1");
        this.current = id;
        const {group} = this.drawn.get(id);
        group.setAttribute("tabindex", "0");
        group.focus(options);
    }

    nearest(id) {
        return nearestVisible(this.nodes, this.open, id);
    }

    toggle(id) {
        if (!isPhrase(this.nodes[id])) return;
        const open = new Set(this.open);
        if (!open.delete(id)) open.add(id);
        this.setOpen(open, id);
    }

    key(event) {
        const meaning = keyMeaning(event, this);
        if (!meaning) return;
        event.preventDefault();
        if (meaning.focus !== undefined) this.focus(meaning.focus);
        if (meaning.toggle) this.toggle(this.current);
        if (meaning.zoom) this.zoom.by(meaning.zoom);
        if (meaning.pan) this.zoom.pan(...meaning.pan);
        if (meaning.fit) this.zoom.fit(this.plan);
        if (meaning.level) this.on.level(meaning.level);
        if (meaning.dismiss) this.on.point(null);
    }

    hover(event) {
        const group = event.target.closest?.(".node");
        if (group && event.pointerType !== "touch") this.point(Number(group.dataset.node));
        else if (!group) this.on.point(null);
    }

    point(id) {
        this.on.point(id, this.rectangle(id));
    }

    rectangle(id) {
        return this.drawn.get(id).group.querySelector(".body").getBoundingClientRect();
    }

    /** A click folds and unfolds; a first tap only shows, since fingers cannot hover. */
    click(event) {
        const group = event.target.closest?.(".node");
        if (!group || this.zoom.dragged) return;
        const id = Number(group.dataset.node);
        const isFirstTap = event.pointerType === "touch" && this.before !== group;
        this.focus(id, {preventScroll: true});
        if (!isFirstTap) this.toggle(id);
    }

    focused(event) {
        const group = event.target.closest?.(".node");
        if (group) this.point(Number(group.dataset.node));
    }

    seen() {
        return visibleNodes(this.nodes, this.open);
    }

    close() {
        this.observer.disconnect();
        this.paper.removeEventListener("change", this.onPaper);
    }
}

function moveTo(group, box, shape) {
    group.style.transform = `translate(${shape === "tree" ? box.x : box.left}px, ${box.y}px)`;
}
