// Zooming and panning of a drawing: wheel, pinch, drag, buttons and keys end here.

const SMALLEST = 0.25;
const LARGEST = 3;
const LEGIBLE = 0.72;
const ROOMY = 1.15;

export class Zoom {
    constructor(frame, canvas, onChange) {
        Object.assign(this, {
            frame,
            canvas,
            onChange,
            x: 0,
            y: 0,
            scale: 1,
            isTouched: false,
            pointers: new Map(),
            dragged: false,
        });
        frame.addEventListener("wheel", (event) => this.wheel(event), {passive: false});
        frame.addEventListener("pointerdown", (event) => this.press(event));
        frame.addEventListener("pointermove", (event) => this.drag(event));
        for (const name of ["pointerup", "pointercancel", "pointerleave"]) {
            frame.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
        }
    }

    /** Shows a whole drawing if it stays legible that way, else its upper middle. */
    fit({shape, width, height}, focus = null) {
        const room = this.frame.clientWidth;
        const most = Math.max(340, innerHeight * 0.8);
        const wide = shape === "tree" ? Math.min(room / width, most / height, ROOMY) : 1;
        this.scale = Math.max(wide, LEGIBLE);
        this.isTouched = false;
        const tall = height * this.scale;
        this.frame.style.height = `${Math.ceil(shape === "tree" ? Math.min(tall, most) : tall)}px`;
        const spare = room - width * this.scale;
        this.x = shape === "tree" && spare > 0 ? spare / 2 : 0;
        this.y = 0;
        if (spare < 0 && focus && shape === "tree")
            this.x = Math.min(0, Math.max(spare, room / 2 - focus.x * this.scale));
        this.size = {width, height};
        this.apply();
    }

    /** Keeps a point in sight, moving no more than needed. */
    show(x, y, margin = 60) {
        const [left, top] = [this.x + x * this.scale, this.y + y * this.scale];
        const [wide, tall] = [this.frame.clientWidth, this.frame.clientHeight];
        this.x += Math.max(0, margin - left) - Math.max(0, left - (wide - margin));
        this.y += Math.max(0, 24 - top) - Math.max(0, top - (tall - 40));
        this.apply();
    }

    /** Zooms around a point of the frame, by default its middle. */
    by(factor, left = this.frame.clientWidth / 2, top = this.frame.clientHeight / 2) {
        const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor));
        this.x = left - ((left - this.x) * scale) / this.scale;
        this.y = top - ((top - this.y) * scale) / this.scale;
        this.scale = scale;
        this.isTouched = true;
        this.apply();
    }

    pan(right, down) {
        this.x += right;
        this.y += down;
        this.isTouched = true;
        this.apply();
    }

    apply() {
        const [wide, tall] = [this.frame.clientWidth, this.frame.clientHeight];
        if (this.size) {
            // A part of the drawing always stays in sight.
            this.x = Math.min(wide - 60, Math.max(60 - this.size.width * this.scale, this.x));
            this.y = Math.min(tall - 40, Math.max(40 - this.size.height * this.scale, this.y));
        }
        this.canvas.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
        this.onChange(this.scale);
    }

    /** The wheel scrolls the page, unless the tree has been clicked into or Ctrl is held (which is also what a pinch sends). */
    wheel(event) {
        const box = this.frame.getBoundingClientRect();
        const isActive = this.frame.contains(document.activeElement);
        if (
            event.ctrlKey ||
            event.metaKey ||
            (isActive && !event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX))
        ) {
            event.preventDefault();
            this.by(
                Math.exp(-event.deltaY * (event.ctrlKey ? 0.006 : 0.0018)),
                event.clientX - box.left,
                event.clientY - box.top,
            );
        } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
            event.preventDefault();
            this.pan(-(event.deltaX || event.deltaY), 0);
        }
    }

    press(event) {
        this.pointers.set(event.pointerId, {x: event.clientX, y: event.clientY});
        this.dragged = false;
    }

    drag(event) {
        const last = this.pointers.get(event.pointerId);
        if (!last) return;
        const moved = {x: event.clientX - last.x, y: event.clientY - last.y};
        const far = Math.hypot(moved.x, moved.y);
        if (!this.dragged && far < 4) return;
        this.dragged = true;
        const before = this.spread();
        this.pointers.set(event.pointerId, {x: event.clientX, y: event.clientY});
        if (this.pointers.size === 2) {
            const after = this.spread();
            const box = this.frame.getBoundingClientRect();
            this.by(after.far / before.far, after.x - box.left, after.y - box.top);
        } else {
            this.pan(moved.x, event.pointerType === "mouse" ? moved.y : 0);
        }
    }

    /** How far two fingers are apart, and where their middle is. */
    spread() {
        const [one, two = one] = [...this.pointers.values()];
        return {
            far: Math.max(1, Math.hypot(one.x - two.x, one.y - two.y)),
            x: (one.x + two.x) / 2,
            y: (one.y + two.y) / 2,
        };
    }
}
