// Which phrases of a tree are unfolded. Nodes come in preorder, parents first, so one pass forth or back is enough.

const SHORT_SENTENCE = 12;

/** The nodes that are seen when the phrases of `open` are unfolded, in order. */
export function visibleNodes(nodes, open) {
    const seen = [];
    const isSeen = new Array(nodes.length).fill(false);
    nodes.forEach((node, id) => {
        isSeen[id] = node.parent < 0 || (isSeen[node.parent] && open.has(node.parent));
        if (isSeen[id]) seen.push(id);
    });
    return seen;
}

export function isPhrase(node) {
    return node.children.length > 0;
}

/** All phrases. */
export function everyPhrase(nodes) {
    return new Set(nodes.flatMap((node, id) => (isPhrase(node) ? [id] : [])));
}

/**
 * The phrases to unfold at first: what matters most, as far as there is room.
 * A phrase with no other label inside than its own and those that are neutral (`isNeutral(name)`) holds no news and
 * stays folded, except in a short sentence.
 */
export function unfoldWhatMatters(nodes, isNeutral, widthOf, room) {
    if (nodes[0].last - nodes[0].first <= SHORT_SENTENCE) return everyPhrase(nodes);
    const news = newsInside(nodes, isNeutral);
    const open = new Set();
    const waiting = [0];
    let taken = widthOf(0);
    while (waiting.length) {
        const id = waiting.splice(mostOf(waiting, news), 1)[0];
        const parts = nodes[id].children;
        const more = parts.reduce((sum, part) => sum + widthOf(part), 0) - widthOf(id);
        if (id !== 0 && taken + more > room) continue;
        taken += more;
        open.add(id);
        waiting.push(...parts.filter((part) => news[part] > 0));
    }
    return open;
}

/** How much there is to see inside each phrase: highlights first, then turns, then the weights of its parts. */
function newsInside(nodes, isNeutral) {
    const news = new Array(nodes.length).fill(0);
    const weight = nodes.map((node) => node.weight ?? 0);
    for (let id = nodes.length - 1; id >= 0; id -= 1) {
        const node = nodes[id];
        if (!isPhrase(node)) continue;
        const inside = Math.max(...node.children.map((part) => weight[part]));
        weight[id] = Math.max(weight[id], inside);
        const isTold = node.children.some((part) => nodes[part].highlight || news[part] >= 1);
        const isMixed = node.children.some(
            (part) => news[part] > 0 || (nodes[part].label !== node.label && !isNeutral(nodes[part].label)),
        );
        news[id] = isTold || isMixed || node.turn ? 0.1 + 0.5 * inside + (node.turn ? 0.3 : 0) + (isTold ? 1 : 0) : 0;
    }
    return news;
}

function mostOf(waiting, news) {
    return waiting.reduce((best, id, place) => (news[id] > news[waiting[best]] ? place : best), 0);
}

/** One level more: every folded phrase that is seen is unfolded. */
export function unfoldLevel(nodes, open) {
    const more = visibleNodes(nodes, open).filter((id) => isPhrase(nodes[id]));
    return new Set([...open, ...more]);
}

/** One level less: phrases that hold only words and folded phrases are folded; the whole stays open. */
export function foldLevel(nodes, open) {
    const seen = visibleNodes(nodes, open).filter((id) => open.has(id));
    const inner = seen.filter((id) => id === 0 || nodes[id].children.some((part) => open.has(part)));
    return new Set(inner);
}

/** Unfolds what is around a node, so that it is seen. */
export function reveal(nodes, open, id) {
    const shown = new Set(open);
    for (let above = nodes[id].parent; above >= 0; above = nodes[above].parent) shown.add(above);
    return shown;
}

/** The nearest node around `id`, or itself, that is seen. */
export function nearestVisible(nodes, open, id) {
    let nearest = id;
    for (let above = nodes[id].parent; above >= 0; above = nodes[above].parent) {
        if (!open.has(above)) nearest = above;
    }
    return nearest;
}

/** The leaf of each token; in a dependency tree, the node whose own word it is. */
export function nodeOfToken(nodes, token) {
    let found = 0;
    nodes.forEach((node, id) => {
        if (node.first <= token && token < node.last) found = id;
    });
    return found;
}

/** Phrases in the order in which they are put together: parts first, from left to right. */
export function compositionOrder(nodes) {
    const phrases = [...everyPhrase(nodes)];
    return phrases.sort((a, b) => nodes[a].last - nodes[b].last || nodes[b].first - nodes[a].first || b - a);
}

/** Whether the head word of a node's parent comes from this node. */
export function leadsToHead(nodes, id) {
    const node = nodes[id];
    const above = nodes[node.parent];
    return Boolean(above) && onHeadPath(node, above.head_index);
}

/** Whether a node is on the way from the whole sentence to its head, the token number `index`. */
export function onHeadPath(node, index) {
    return index !== null && node.first <= index && index < node.last;
}

/** Whether something is a word, and not only punctuation. */
export function isWordLike(text) {
    return /[\p{L}\p{N}]/u.test(text);
}
