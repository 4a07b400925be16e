// Walking through a tree with keys. In a tree over its words, down goes into a phrase; in an outline, right does, as in
// every list of folders.

import {isPhrase, visibleNodes} from "./tree_fold.js";

/** What a key asks for: `{focus}`, `{toggle}`, `{zoom}`, `{pan}`, `{fit}`, `{level}` or null. */
export function keyMeaning(event, {nodes, open, current, shape}) {
    if (event.ctrlKey || event.metaKey || event.altKey) return null;
    const command = COMMANDS.get(event.key);
    if (command) return command;
    const arrow = ARROWS.get(event.key);
    if (!arrow) return null;
    if (event.shiftKey) return {pan: arrow};
    return step(arrowMeaning(event.key, shape), nodes, open, current);
}

const COMMANDS = new Map([
    ["Enter", {toggle: true}],
    [" ", {toggle: true}],
    ["+", {zoom: 1.25}],
    ["=", {zoom: 1.25}],
    ["-", {zoom: 0.8}],
    ["0", {fit: true}],
    ["]", {level: 1}],
    ["[", {level: -1}],
    ["Escape", {dismiss: true}],
]);
const ARROWS = new Map([
    ["ArrowUp", [0, 60]],
    ["ArrowDown", [0, -60]],
    ["ArrowLeft", [60, 0]],
    ["ArrowRight", [-60, 0]],
    ["Home", [0, 0]],
    ["End", [0, 0]],
]);

function arrowMeaning(key, shape) {
    const turned = {ArrowDown: "ArrowRight", ArrowRight: "ArrowDown", ArrowUp: "ArrowLeft", ArrowLeft: "ArrowUp"};
    return shape === "tree" ? (turned[key] ?? key) : key;
}

function step(key, nodes, open, current) {
    const seen = visibleNodes(nodes, open);
    const place = seen.indexOf(current);
    if (key === "Home") return {focus: seen[0]};
    if (key === "End") return {focus: seen.at(-1)};
    if (key === "ArrowDown") return {focus: seen[Math.min(place + 1, seen.length - 1)]};
    if (key === "ArrowUp") return {focus: seen[Math.max(place - 1, 0)]};
    if (key === "ArrowLeft") return {focus: Math.max(0, nodes[current].parent)};
    if (!isPhrase(nodes[current])) return {focus: current};
    return open.has(current) ? {focus: nodes[current].children[0]} : {toggle: true};
}
