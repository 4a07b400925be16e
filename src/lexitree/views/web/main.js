// Puts the page together: on a server one types and the answer follows; without one the page shows what it carries.

import {Answer} from "./answer.js";
import {comparisonOf} from "./compare.js";
import {embeddedView, listModels, readLink, writeLink} from "./data.js";
import {Desk} from "./desk.js";
import {draw, make} from "./dom.js";

const EXAMPLES = [
    ["A comedy", "The cast is lovely, but the plot is dull and the jokes fall flat."],
    ["Not bad", "Not a bad film."],
    [
        "A phone",
        "I wanted to love this phone, and the screen really is gorgeous, but the battery barely lasts until lunch and support never answered.",
    ],
    ["A course", "The course isn't easy, but I have never learned so much in so little time."],
    [
        "A long one",
        "This restaurant, despite a promising menu, a friendly cook and a few dishes of real wit, wastes nearly all of it on slow service, cold plates and a bill so full of mistakes that even the most patient guests at our table, who had looked forward to the evening for weeks, left feeling cheated and hungry.",
    ],
    [
        "A letter",
        "We stayed four nights in May. The pool was lovely, but our room smelled of damp and nobody apologised. The staff were kind and the breakfast was delicious. I don't think this is a good hotel for children. Great coffee! The lift was broken for two days. It's not a cheap place, but it is never boring. We would happily return.",
    ],
];

class Page {
    constructor(host, isLive) {
        this.link = readLink();
        this.theme = this.link.theme;
        this.desks = [];
        this.spoken = make("p", {class: "unseen", role: "status"});
        this.tools = make("div", {class: "page-tools"}, this.themeButton());
        const header = make("header", {class: "page-head"}, make("h1", {}, logo(), "lexitree"), this.tools);
        this.main = make("main", {});
        host.replaceChildren(header, this.main, this.spoken, foot(isLive));
        this.setTheme(this.theme);
    }

    themeButton() {
        const flip = () => {
            const isDark =
                getComputedStyle(document.documentElement).colorScheme === "dark" ||
                (!this.theme && matchMedia("(prefers-color-scheme: dark)").matches);
            this.setTheme(isDark ? "light" : "dark");
            this.remember();
        };
        return make(
            "button",
            {type: "button", class: "theme", "aria-label": "Dark or light", title: "Dark or light", onclick: flip},
            make("span", {"aria-hidden": "true"}, "◐"),
        );
    }

    setTheme(theme) {
        this.theme = theme === "dark" || theme === "light" ? theme : null;
        if (this.theme) document.documentElement.dataset.theme = this.theme;
        else delete document.documentElement.dataset.theme;
    }

    /** A page that carries its answer. */
    showStatic(view) {
        const answer = new Answer(
            this.main,
            {edit() {}, undo() {}, sentence: () => this.remember()},
            {isLive: false, name: "Answer"},
        );
        this.shown = answer;
        answer.show(view, this.link.sentence);
    }

    showLive() {
        this.comparison = make("div", {"aria-live": "polite"});
        this.pair = make("div", {class: "desks"});
        this.main.append(this.comparison, this.pair);
        this.addDesk("Your text", "Type a sentence or a few …");
        this.addTools();
        this.open(this.link);
        addEventListener("hashchange", () => this.open(readLink()));
    }

    /** Shows what a link says. */
    open(link) {
        this.link = link;
        this.setTheme(link.theme);
        if (this.models && link.model) this.models.value = link.model;
        this.desks[0].put(link.text ?? EXAMPLES[0][1], link.sentence);
        this.setCompare(link.other !== null);
        this.desks[1]?.put(link.other ?? "");
    }

    addDesk(name, placeholder) {
        const desk = new Desk(this.pair, {
            name,
            placeholder,
            examples: EXAMPLES,
            model: () => this.models?.value ?? this.link.model,
            change: () => this.remember(),
            spoken: (text) => (this.spoken.textContent = text),
        });
        this.desks.push(desk);
        return desk;
    }

    addTools() {
        this.compareButton = make(
            "button",
            {type: "button", "aria-pressed": "false", onclick: () => this.toggleCompare()},
            "Compare",
        );
        const copy = make("button", {type: "button", onclick: () => this.copyLink(copy)}, "Copy link");
        this.tools.prepend(this.compareButton, copy);
    }

    /** The choice of a model; a server that wants a token tells its models only then. */
    async addModels() {
        const found = await listModels().catch(() => []);
        if (!found.length || this.models) return;
        const options = found.map(({name}) => make("option", {value: name}, name));
        this.models = make(
            "select",
            {"aria-label": "Model", onchange: () => this.desks.forEach((desk) => desk.ask())},
            ...options,
        );
        if (found.some(({name}) => name === this.link.model)) this.models.value = this.link.model;
        this.tools.prepend(make("label", {class: "model"}, make("span", {class: "quiet"}, "Model"), this.models));
    }

    toggleCompare() {
        this.setCompare(this.desks.length === 1);
        this.desks[1]?.field.focus();
        this.remember();
    }

    setCompare(isOn) {
        if (isOn && this.desks.length === 1) this.addDesk("Second text", "Type the other one …");
        if (!isOn && this.desks.length === 2) this.desks.pop().close();
        this.pair.classList.toggle("two", isOn);
        this.compareButton.setAttribute("aria-pressed", String(isOn));
    }

    async copyLink(button) {
        const isThere = this.remember();
        try {
            if (!isThere) throw new Error("too long");
            await navigator.clipboard.writeText(location.href);
            button.textContent = "Copied";
        } catch {
            button.textContent = isThere ? "The link is in the address bar" : "This text is too long for a link";
        }
        setTimeout(() => (button.textContent = "Copy link"), 1800);
    }

    /** Keeps the link up to date, and the line that compares. */
    remember() {
        const [one, two] = this.desks;
        const sentence = one ? one.number : this.shown?.isChosen ? this.shown.number : null;
        const isDefault = !this.models || this.models.selectedIndex === 0;
        const model = this.models ? (isDefault ? null : this.models.value) : this.link.model;
        if (!this.models && one?.view) this.addModels();
        const isThere = writeLink({text: one?.text, other: two?.text, model, theme: this.theme, sentence});
        if (this.comparison) this.comparison.replaceChildren(...(two ? [comparisonOf(one.view, two.view)] : []));
        return isThere;
    }
}

function logo() {
    return draw(
        "svg",
        {class: "logo", viewBox: "0 0 32 32", "aria-hidden": "true"},
        draw("path", {d: "M16 7C16 16 25 13 25 25"}),
        draw("path", {class: "lead-line", d: "M16 7C16 16 7 13 7 25"}),
        draw("circle", {class: "lead-dot", cx: 16, cy: 6, r: 5}),
        draw("circle", {class: "lead-dot", cx: 7, cy: 26, r: 4.5}),
        draw("circle", {cx: 25, cy: 26, r: 4}),
    );
}

function foot(isLive) {
    const meaning =
        "Colours and marks are labels; the word in a node is its head, the word that stands for the phrase.";
    const privacy = isLive ? " Nothing you type is stored." : " Made with lexitree.";
    return make("footer", {class: "page-foot"}, meaning + privacy);
}

const carried = embeddedView();
const isServed = !carried || carried.data.live === true;
const page = new Page(document.getElementById("lexitree"), isServed);
// In the frame of a notebook, room is scarce.
document.body.classList.toggle("framed", window.self !== window.top);
if (isServed) page.showLive();
else page.showStatic(carried);
