// What is drawn of one node: the pill with its label and head word, the roof of a folded phrase, its words.

import {draw} from "./dom.js";
import {MEASURES} from "./tree_layout.js";

const {PILL, LINE, ROOF} = MEASURES;

/** What a node is called: what is said of it, with a folded phrase quoted as it is shown. */
export function spokenName(node, box) {
    const says = node.says ?? node.label ?? "";
    if (box.kind !== "folded") return says;
    const shown = box.lines
        .map((line) => line.map((piece) => (piece.spaced ? " " : "") + piece.text).join(""))
        .join(" ");
    return says.replace(/^“[^]*?”(?=:)/u, () => `“${shown}”`);
}

/** What is drawn of a node; a screen reader hears its name instead, which says more. */
export function figure(tree, box, shape) {
    return draw("g", {"aria-hidden": "true"}, ...(shape === "tree" ? centred(tree, box) : inRow(tree, box)));
}

/** A node of the tree over its words, around its middle. */
function centred(tree, box) {
    const isPill = box.kind === "phrase";
    const wide = isPill ? box.width : box.markWidth;
    const left = -wide / 2;
    const textTop = PILL / 2 + (box.kind === "folded" ? ROOF : 4);
    const tall = isPill ? PILL : PILL / 2 + textTop + box.lines.length * LINE;
    const half = box.width / 2;
    return [
        draw("rect", {class: "body", x: -half - 4, y: -PILL / 2, width: box.width + 8, height: tall, rx: 8}),
        ...frameOf(tree.nodes[box.id], left, wide, box),
        box.kind === "folded"
            ? draw("path", {class: "roof", d: `M0 ${PILL / 2}L${-half} ${PILL / 2 + ROOF - 3}H${half}Z`})
            : null,
        ...box.lines.map((line, row) => textLine(box, line, 0, textTop + 14 + row * LINE, "middle")),
    ].filter(Boolean);
}

/** A node of the outline, from its left. */
function inRow(tree, box) {
    const textLeft = box.markWidth + (box.kind === "folded" ? 22 : 9);
    const wide = box.kind === "phrase" ? box.width : box.markWidth;
    const tall = PILL + Math.max(0, box.lines.length - 1) * LINE;
    return [
        draw("rect", {
            class: "body",
            x: 0,
            y: -PILL / 2,
            width: (box.kind === "phrase" ? 4 : textLeft) + box.width,
            height: tall,
            rx: 8,
        }),
        ...frameOf(tree.nodes[box.id], 0, wide, box),
        box.kind === "folded"
            ? draw("path", {
                  class: "roof",
                  d: `M${box.markWidth + 2} 0L${textLeft - 5} -9V${(box.lines.length - 1) * LINE + 9}Z`,
              })
            : null,
        ...box.lines.map((line, row) => textLine(box, line, textLeft, 5 + row * LINE, "start")),
    ].filter(Boolean);
}

/** The pill with the mark of the label and the head word, and the rings that say "turns" and "you are here". */
function frameOf(node, left, wide, box) {
    const ring = {x: left - 4, y: -PILL / 2 - 4, width: wide + 8, height: PILL + 8, rx: PILL / 2 + 4};
    const top = -PILL / 2 - 4;
    const middle = left + wide / 2;
    return [
        draw("rect", {class: "halo", ...ring}),
        node.turn ? draw("rect", {class: "turn-ring", ...ring}) : null,
        draw("rect", {class: "pill", x: left, y: -PILL / 2, width: wide, height: PILL, rx: PILL / 2}),
        draw("rect", {class: "cap", x: left, y: -PILL / 2, width: box.markWidth, height: PILL, rx: PILL / 2}),
        draw("text", {class: "mark-text", x: left + box.markWidth / 2, y: 4.6, "text-anchor": "middle"}, box.mark),
        box.head ? draw("text", {class: "head-text", x: left + box.markWidth + 6, y: 4.6}, box.head) : null,
        node.turn ? draw("path", {class: "turn-mark", d: `M${middle} ${top - 6}l6 6l-6 6l-6 -6Z`}) : null,
    ].filter(Boolean);
}

function textLine(box, line, x, y, anchor) {
    const text = draw("text", {class: `${box.kind}-text`, x, y, "text-anchor": anchor, direction: "ltr"});
    // The space keeps the last word of a line apart from the first of the next where the text is read out or copied.
    for (const {text: word, head, spaced} of [...line, {text: " "}])
        text.append(spaced ? " " : "", head ? draw("tspan", {class: "is-head"}, word) : word);
    return text;
}
