// What the page knows: the answer to a text, the models of the server, and the link that brings it all back.

/** What went wrong, in words for the person who typed. */
export class Problem extends Error {
    constructor(title, detail, {status = 0, retryAfter = null} = {}) {
        super(detail);
        this.title = title;
        this.status = status;
        this.retryAfter = retryAfter;
    }
}

/** An answer with what is looked up again and again. Offsets count code points, so the text is kept as such. */
export class View {
    constructor(data) {
        this.data = data;
        this.points = Array.from(data.text);
        this.labels = new Map(data.labels.map((label) => [label.name, label]));
    }

    slice(start, end) {
        return this.points.slice(start, end).join("");
    }

    label(name) {
        return this.labels.get(name) ?? null;
    }

    sentence(number) {
        return this.data.sentences[number];
    }

    phrase(number, node) {
        const {start, end} = this.sentence(number).nodes[node];
        return this.slice(start, end);
    }

    /** A token as it is written. */
    word(number, token) {
        const {start, end} = this.sentence(number).tokens[token];
        return this.slice(start, end);
    }

    /** The polarity of the answer over all labels, from -1 to 1; null where labels have none. */
    balance(probabilities) {
        if (this.data.labels.some((label) => label.polarity === null)) return null;
        return probabilities.reduce((sum, share, place) => sum + share * this.data.labels[place].polarity, 0);
    }
}

/** The answer that a page without a server carries with it; null on a served page. */
export function embeddedView() {
    const holder = document.getElementById("lexitree-data");
    return holder ? new View(JSON.parse(holder.textContent)) : null;
}

const access = {token: null};

/** Remembers the token of a server that wants one, for as long as the page is open. */
export function useToken(token) {
    access.token = token;
}

export async function explainText(text, model, signal) {
    const asked = {text, format: "json", ...(model ? {model} : {})};
    const answer = await ask("v1/explain", {method: "POST", body: JSON.stringify(asked), signal});
    return new View(answer);
}

/** The names of the server's models, the default first. */
export async function listModels() {
    const {models} = await ask("v1/models", {});
    return models.map((model) => ({name: model.name ?? model, about: model.description ?? ""}));
}

async function ask(address, options) {
    const headers = {Accept: "application/json", ...(options.body ? {"Content-Type": "application/json"} : {})};
    if (access.token) headers.Authorization = `Bearer ${access.token}`;
    let response;
    try {
        response = await fetch(address, {...options, headers});
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new Problem("The server cannot be reached", "Your text is kept. The page tries again when you type.");
    }
    if (response.ok) return response.json();
    throw await problemOf(response);
}

const TITLES = new Map([
    [401, "This server wants a token"],
    [413, "This text is too long for this server"],
    [422, "This text cannot be read"],
    [429, "Busy right now"],
    [503, "Not ready yet"],
    [504, "This took too long"],
]);

async function problemOf(response) {
    const said = await response.json().catch(() => ({}));
    const title = TITLES.get(response.status) ?? said.title ?? "Something went wrong";
    const detail =
        [said.detail, said.remedy].filter(Boolean).join(" ") || `The server answered with status ${response.status}.`;
    const retryAfter = Number(response.headers.get("Retry-After")) || null;
    return new Problem(title, detail, {status: response.status, retryAfter});
}

const LONGEST_LINK = 16000;

/** What the fragment of the address says: text, second text, model, theme, sentence. */
export function readLink() {
    const found = new URLSearchParams(location.hash.slice(1));
    return {
        text: found.get("text"),
        other: found.get("compare"),
        model: found.get("model"),
        theme: found.get("theme"),
        sentence: Number(found.get("sentence")) > 0 ? Math.floor(Number(found.get("sentence"))) - 1 : null,
    };
}

/** Puts it there, and says whether that was possible; nothing is stored, and a fragment is never sent to a server. */
export function writeLink({text, other, model, theme, sentence}) {
    const parts = new URLSearchParams();
    if (text) parts.set("text", text);
    if (other !== null && other !== undefined) parts.set("compare", other);
    if (model) parts.set("model", model);
    if (theme) parts.set("theme", theme);
    if (sentence !== null && sentence !== undefined) parts.set("sentence", sentence + 1);
    const fragment = parts.toString();
    if (fragment.length > LONGEST_LINK) return false;
    try {
        history.replaceState(null, "", `#${fragment}`);
    } catch {
        return false; // The frame of a notebook has no address of its own.
    }
    return true;
}
