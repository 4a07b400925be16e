// Files of what is shown: the drawing as SVG and PNG, the answer as JSON, the trees in brackets.

import {draw, make} from "./dom.js";

const COPIED = [
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "stroke-linecap",
    "opacity",
    "font-family",
    "font-size",
    "font-weight",
    "font-style",
];
const MARGIN = 16;
const FINE = 2;
const LARGEST_PICTURE = 12000;

/** The drawing as a file of its own: every colour and font is written into it, and the whole tree is in it. */
export function treeToSvg(tree) {
    const {width, height} = tree.plan;
    const size = {width: Math.ceil(width + 2 * MARGIN), height: Math.ceil(height + 2 * MARGIN)};
    const copy = draw("svg", {
        xmlns: "http://www.w3.org/2000/svg",
        ...size,
        viewBox: `${-MARGIN} ${-MARGIN} ${size.width} ${size.height}`,
        role: "img",
    });
    copy.append(draw("title", {}, tree.nodes[0].says ?? "Tree"));
    const ground = getComputedStyle(document.body).backgroundColor;
    copy.append(draw("rect", {x: -MARGIN, y: -MARGIN, width: size.width, height: size.height, fill: ground}));
    for (const edge of tree.edges.children) copy.append(withStyle(edge));
    for (const box of tree.plan.boxes.values()) {
        const at = tree.shape === "tree" ? box.x : box.left;
        const group = draw("g", {transform: `translate(${at} ${box.y})`});
        for (const part of tree.drawn.get(box.id).group.firstChild.children) {
            if (!part.matches(".halo, .body")) group.append(withStyle(part));
        }
        copy.append(group);
    }
    return new XMLSerializer().serializeToString(copy);
}

function withStyle(element) {
    const copy = element.cloneNode(true);
    const [from, to] = [
        [element, ...element.children],
        [copy, ...copy.children],
    ];
    from.forEach((part, place) => {
        const style = getComputedStyle(part);
        for (const name of COPIED) to[place].setAttribute(name, style.getPropertyValue(name));
        for (const name of ["class", "data-to"]) to[place].removeAttribute(name);
    });
    return copy;
}

/** The same picture in pixels, twice as fine as on a screen. */
export async function treeToPng(tree) {
    const address = URL.createObjectURL(new Blob([treeToSvg(tree)], {type: "image/svg+xml"}));
    try {
        const picture = new Image();
        picture.src = address;
        await picture.decode();
        const scale = Math.min(FINE, LARGEST_PICTURE / Math.max(picture.width, picture.height));
        const canvas = make("canvas", {
            width: Math.round(picture.width * scale),
            height: Math.round(picture.height * scale),
        });
        canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
        return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    } finally {
        URL.revokeObjectURL(address);
    }
}

/** Every sentence on a line, as treebanks have them: `(3 (2 The) ...)`. */
export function viewToBrackets(view) {
    const ids = new Map(view.data.labels.map((label, place) => [label.name, label.id ?? String(place)]));
    return view.data.sentences.map((sentence, number) => `${brackets(view, number, ids)}\n`).join("");
}

function brackets(view, number, ids) {
    const {nodes} = view.sentence(number);
    const pieces = [];
    let depth = 0;
    const levels = [];
    nodes.forEach((node, id) => {
        levels[id] = node.parent < 0 ? 0 : levels[node.parent] + 1;
        for (; depth > levels[id]; depth -= 1) pieces.push(")");
        const space = pieces.length ? " " : "";
        const label = escaped(ids.get(node.label) ?? "_");
        if (node.children.length) {
            pieces.push(`${space}(${label}`);
            depth += 1;
        } else {
            pieces.push(`${space}(${label} ${escaped(view.phrase(number, id))})`);
        }
    });
    return pieces.join("") + ")".repeat(depth);
}

function escaped(token) {
    return token.replaceAll("(", "-LRB-").replaceAll(")", "-RRB-").replace(/\s+/gu, "_");
}

/** Hands a file to the browser, which asks where to put it. */
export function download(name, content, type) {
    const blob = content instanceof Blob ? content : new Blob([content], {type});
    const address = URL.createObjectURL(blob);
    const link = make("a", {href: address, download: name});
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** The buttons that do it. */
export function exportButtons(view, tree) {
    const ways = [
        ["SVG", () => download("lexitree.svg", treeToSvg(tree), "image/svg+xml")],
        ["PNG", async () => download("lexitree.png", await treeToPng(tree), "image/png")],
        ["JSON", () => download("lexitree.json", `${JSON.stringify(view.data, null, 2)}\n`, "application/json")],
        ["Brackets", () => download("lexitree.mrg", viewToBrackets(view), "text/plain;charset=utf-8")],
    ];
    const buttons = ways.map(([name, onclick]) =>
        make("button", {type: "button", "aria-label": `Download ${name}`, onclick}, name),
    );
    return make(
        "div",
        {class: "exports", role: "group", "aria-label": "Export"},
        make("span", {class: "quiet", "aria-hidden": "true"}, "Export"),
        ...buttons,
    );
}
