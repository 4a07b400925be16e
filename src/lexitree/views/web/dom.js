// Making elements. Texts only ever become text nodes, and colours are set through the object model, so that
// nothing that somebody typed, and no name of a label, can become markup, style or script.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** An HTML element; attributes that begin with "on" are listeners, null and false leave an attribute out. */
export function make(tag, attributes = {}, ...children) {
    return complete(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function draw(tag, attributes = {}, ...children) {
    return complete(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

function complete(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (value !== null && value !== undefined && value !== false)
            element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
}

/** Gives an element the colours of a label, for light and dark; the style sheet chooses between them. */
export function paint(element, label) {
    if (!label) return element;
    for (const theme of ["light", "dark"]) {
        for (const part of ["fill", "ink"]) element.style.setProperty(`--${theme}-${part}`, label[theme][part]);
    }
    element.classList.add("painted");
    element.dataset.side =
        label.polarity === null ? "none" : label.polarity > 0.1 ? "up" : label.polarity < -0.1 ? "down" : "even";
    return element;
}

/** `61 %`, with a thin space. */
export function percent(share) {
    return `${Math.round(100 * share)}\u202f%`;
}

/** A text on one line, cut between words in the middle if it is long, so that both its ends are seen. */
export function shorten(text, most) {
    const points = Array.from(text.replace(/\s+/gu, " ").trim());
    if (points.length <= most) return points.join("");
    const tail = Math.floor(most / 3);
    const begin = points.slice(0, most - tail - 1).join("");
    const end = points.slice(-tail).join("");
    return `${begin.replace(/(?<=\S)\s\S*$/u, "")} … ${end.replace(/^\S*\s(?=\S)/u, "")}`;
}

/** The mark of a label in its colours, as a small chip. */
export function chip(label) {
    return paint(make("span", {class: "chip", "aria-hidden": "true"}, label ? label.mark : "·"), label);
}

export function wantsCalm() {
    return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
