// Where everything in the drawing of a tree stands: a tree over its words for wide screens, an outline for narrow ones.

import {isPhrase, isWordLike, leadsToHead, onHeadPath, visibleNodes} from "./tree_fold.js";

const FONTS = {
    word: '500 16px Charter, "Iowan Old Style", "Palatino Linotype", "Liberation Serif", Georgia, serif',
    folded: '15px Charter, "Iowan Old Style", "Palatino Linotype", "Liberation Serif", Georgia, serif',
    head: '13px "Segoe UI", "Helvetica Neue", Arial, sans-serif',
    mark: '700 13px "Segoe UI", "Helvetica Neue", Arial, sans-serif',
};
const GAP = 14;
const PILL = 26;
const LINE = 19;
const FOLDED_WIDTH = 148;
const FOLDED_LINES = 3;
const ROOF = 20;
const OUTLINE_ROW = 34;
const TOP = 26;
const EDGE = 6;

const ruler = {context: null, widths: new Map()};

function textWidth(text, font) {
    const key = `${font}\n${text}`;
    if (!ruler.widths.has(key)) {
        ruler.context ??= document.createElement("canvas").getContext("2d");
        ruler.context.font = font;
        if (ruler.widths.size > 20000) ruler.widths.clear();
        ruler.widths.set(key, ruler.context.measureText(text).width);
    }
    return ruler.widths.get(key);
}

/** Measures the nodes of one sentence: what they say, in which lines, and how much room that takes. */
export class NodeSizes {
    constructor(view, number) {
        this.view = view;
        this.number = number;
        this.nodes = view.sentence(number).nodes;
        this.known = new Map();
        // A full stop may be the head of a sentence, but the way there is not worth the thickest line.
        const {head, head_index: index} = this.nodes[0];
        this.mainHead = head !== null && isWordLike(head) ? index : null;
    }

    /** `{width, kind, mark, markWidth, head, lines}` of a node, unfolded or not, with `room` for a line of text. */
    of(id, isOpen, room = FOLDED_WIDTH) {
        const key = `${id} ${isOpen} ${room}`;
        if (!this.known.has(key)) this.known.set(key, this.measure(id, isOpen, room));
        return this.known.get(key);
    }

    measure(id, isOpen, room) {
        const node = this.nodes[id];
        const mark = this.view.label(node.label)?.mark ?? "";
        const markWidth = Math.max(PILL, textWidth(mark, FONTS.mark) + 14);
        if (isPhrase(node) && isOpen) {
            const own = node.word ?? node.head ?? "";
            const head = isWordLike(own) ? fit(own, FONTS.head, 110) : "";
            return {
                kind: "phrase",
                mark,
                markWidth,
                head,
                width: markWidth + (head ? textWidth(head, FONTS.head) + 16 : 0),
                lines: [],
            };
        }
        const isFolded = isPhrase(node);
        const lines = isFolded
            ? this.wrap(node, room)
            : [
                  [
                      {
                          text: fit(this.view.phrase(this.number, id), FONTS.word, Math.max(180, room)),
                          head: onHeadPath(node, this.mainHead),
                          spaced: false,
                      },
                  ],
              ];
        const font = isFolded ? FONTS.folded : FONTS.word;
        const widest = Math.max(...lines.map((line) => lineWidth(line, font)));
        return {
            kind: isFolded ? "folded" : "word",
            mark,
            markWidth,
            head: "",
            width: Math.max(markWidth, widest),
            lines,
        };
    }

    /** The words of a folded phrase in a few lines; what does not fit is left out in the middle. */
    wrap(node, room) {
        const {tokens} = this.view.sentence(this.number);
        const all = [];
        for (let token = node.first; token < node.last; token += 1) {
            const spaced = token > node.first && tokens[token].start > tokens[token - 1].end;
            all.push({
                text: fit(this.view.word(this.number, token), FONTS.folded, room),
                head: token === node.head_index,
                spaced,
            });
        }
        let lines = breakLines(all, room);
        for (let kept = all.length - 1; lines.length > FOLDED_LINES && kept > 2; kept -= 1) {
            const tail = Math.max(1, Math.floor(kept / 3));
            lines = breakLines(
                [
                    ...all.slice(0, kept - tail),
                    {text: "…", head: false, spaced: true},
                    {...all.at(-tail), spaced: true},
                    ...all.slice(all.length - tail + 1),
                ],
                room,
            );
        }
        return lines;
    }
}

function fit(text, font, room) {
    if (textWidth(text, font) <= room) return text;
    const points = Array.from(text);
    while (points.length > 1 && textWidth(`${points.join("")}…`, font) > room) points.pop();
    return `${points.join("")}…`;
}

function breakLines(pieces, room) {
    const lines = [[]];
    let taken = 0;
    for (const piece of pieces) {
        const width = textWidth(piece.text, FONTS.folded) + (piece.spaced ? 4.5 : 0);
        if (taken && taken + width > room && piece.spaced) {
            lines.push([]);
            taken = 0;
        }
        lines.at(-1).push(taken ? piece : {...piece, spaced: false});
        taken += width;
    }
    return lines;
}

function lineWidth(line, font) {
    return textWidth(line.map((piece) => (piece.spaced ? " " : "") + piece.text).join(""), font) + 2;
}

/** The room that a sentence takes side by side, for choosing what to unfold. */
export function widthInRow(sizes, id) {
    return sizes.of(id, false).width + GAP;
}

/** A drawing: `{boxes, edges, width, height}`; boxes by node, each with its middle `x`, `y`. */
export function layOutTree(sizes, open) {
    const {nodes} = sizes;
    const seen = visibleNodes(nodes, open);
    const boxes = new Map(
        seen.map((id) => [id, {id, ...sizes.of(id, open.has(id)), rows: 0, block: 0, left: 0, x: 0, y: 0}]),
    );
    measureBlocks(nodes, seen, boxes);
    placeBlocks(nodes, seen, boxes);
    const rows = boxes.get(0).rows;
    const row = Math.max(44, Math.min(64, 560 / Math.max(1, rows)));
    for (const box of boxes.values()) box.y = TOP + (rows - box.rows) * row;
    const below = Math.max(
        ...[...boxes.values()].map((box) => (box.kind === "folded" ? ROOF + box.lines.length * LINE : 26)),
    );
    const edges = seen.filter((id) => id !== 0).map((id) => swoop(sizes, boxes, id, row));
    return {shape: "tree", boxes, edges, width: boxes.get(0).block, height: TOP + rows * row + PILL / 2 + below + 10};
}

function measureBlocks(nodes, seen, boxes) {
    for (const id of [...seen].reverse()) {
        const box = boxes.get(id);
        const parts = box.kind === "phrase" ? nodes[id].children.map((part) => boxes.get(part)) : [];
        box.rows = parts.length ? 1 + Math.max(...parts.map((part) => part.rows)) : 0;
        box.inside = parts.reduce((sum, part) => sum + part.block, 0);
        box.block = Math.max(box.width + GAP, box.inside);
    }
}

function placeBlocks(nodes, seen, boxes) {
    for (const id of seen) {
        const box = boxes.get(id);
        if (box.kind !== "phrase") continue;
        let left = box.left + (box.block - box.inside) / 2;
        for (const part of nodes[id].children) {
            boxes.get(part).left = left;
            left += boxes.get(part).block;
        }
    }
    for (const id of [...seen].reverse()) {
        const box = boxes.get(id);
        const parts = nodes[id].children;
        const middle =
            box.kind === "phrase"
                ? (boxes.get(parts[0]).x + boxes.get(parts.at(-1)).x) / 2
                : box.left + box.block / 2;
        const room = box.width / 2;
        box.x = Math.min(Math.max(middle, box.left + room), box.left + box.block - room);
    }
}

/** A line that leaves the parent in a curve, one row high, and then falls straight: no two of them ever cross. */
function swoop(sizes, boxes, id, row) {
    const [from, to] = [boxes.get(sizes.nodes[id].parent), boxes.get(id)];
    const [top, turn, end] = [from.y + PILL / 2, from.y + row * 0.78, to.y - PILL / 2];
    const bend = (turn - top) * 0.62;
    const path = `M${from.x} ${top}C${from.x} ${top + bend} ${to.x} ${turn - bend} ${to.x} ${turn}V${Math.max(turn, end)}`;
    return edge(sizes, id, path);
}

function edge({nodes, mainHead}, id, path) {
    return {id, parent: nodes[id].parent, path, leads: leadsToHead(nodes, id), main: onHeadPath(nodes[id], mainHead)};
}

/** The same as an outline: a row for each node, parts indented under their phrase. */
export function layOutOutline(sizes, open, room) {
    const {nodes} = sizes;
    const seen = visibleNodes(nodes, open);
    const levels = levelsOf(nodes);
    const deepest = Math.max(...seen.map((id) => levels[id]));
    const indent = Math.min(26, Math.max(11, (room * 0.45) / Math.max(1, deepest)));
    const boxes = new Map();
    let y = TOP;
    for (const id of seen) {
        const left = EDGE + levels[id] * indent;
        const size = sizes.of(id, open.has(id), Math.max(90, Math.round(room - left - 64)));
        const more = size.kind === "folded" ? (size.lines.length - 1) * LINE : 0;
        boxes.set(id, {id, ...size, left, x: left + size.markWidth / 2, y});
        y += OUTLINE_ROW + more;
    }
    const widest = Math.max(...[...boxes.values()].map((box) => box.left + box.markWidth + 10 + box.width));
    const edges = seen.filter((id) => id !== 0).map((id) => elbow(sizes, boxes, id));
    return {shape: "outline", boxes, edges, width: widest, height: y};
}

function elbow(sizes, boxes, id) {
    const [from, to] = [boxes.get(sizes.nodes[id].parent), boxes.get(id)];
    const x = from.left + PILL / 2;
    const bend = Math.min(10, Math.max(0, to.left - x));
    return edge(
        sizes,
        id,
        `M${x} ${from.y + PILL / 2}V${to.y - bend}Q${x} ${to.y} ${x + bend} ${to.y}H${Math.max(to.left, x + bend)}`,
    );
}

/** How deep each node is below the whole. */
export function levelsOf(nodes) {
    const levels = [];
    nodes.forEach((node, id) => {
        levels[id] = node.parent < 0 ? 0 : levels[node.parent] + 1;
    });
    return levels;
}

export const MEASURES = {PILL, LINE, ROOF};
