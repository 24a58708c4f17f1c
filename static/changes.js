// The files that a step made, changed or removed: each to be looked at, and how it differs.

import { h, icon } from "./dom.js";
import { number, shownPath } from "./format.js";
import { emit } from "./session.js";

const SIGNS = { added: "+", changed: "~", removed: "−" };
const FEW = 8;

/** What is handed over comes first, what only came about last. */
const rank = ({ path }) => (/__pycache__|\.pyc$/.test(path) ? 2 : Number(!path.startsWith("output/")));

export class Changes {
  constructor(step) {
    Object.assign(this, { step, unfolded: false });
    this.clear();
  }

  clear() {
    this.all = [];
    this.total = 0;
  }

  /** The first of `total` changes more; what was known of a path already is brought up to date. */
  know(changes, total) {
    const known = new Map(this.all.map((change) => [change.path, change]));
    const before = known.size;
    for (const change of changes) {
      const what = known.get(change.path)?.what === "added" && change.what === "changed" ? "added" : change.what;
      known.set(change.path, { ...change, what });
    }
    this.total += total - (changes.length - (known.size - before));
    this.all = [...known.values()].sort((a, b) => rank(a) - rank(b));
  }

  *chips() {
    const shown = this.unfolded ? this.all : this.all.slice(0, FEW);
    for (const change of shown) yield chip(change, this.step.number);
    const more = this.total - shown.length;
    const folds = this.total > FEW && (this.all.length > FEW || this.step.partial);
    const words = `and ${number(more)} more`;
    if (more > 0 && (this.unfolded || !folds)) yield h("span", { class: "more" }, words);
    if (folds) yield this.fold(this.unfolded ? "fewer" : words);
  }

  fold(words) {
    const button = h("button", { type: "button", class: "more", "aria-expanded": String(this.unfolded) }, words);
    button.addEventListener("click", async () => {
      this.unfolded = !this.unfolded;
      if (this.unfolded) await this.step.load();
      this.step.settle();
      this.step.element.querySelector("button.more")?.focus({ preventScroll: true });
    });
    return button;
  }
}

function chip({ what, path }, step) {
  const name = shownPath(path);
  const differs = () => emit("past", { path, step, compared: true });
  if (what === "removed") {
    return h("button", { type: "button", class: "chip gone", title: `removed: ${name}`, "aria-label": `Removed: ${name}`, onclick: differs }, h("span", {}, `− ${name}`));
  }
  const look = h("button", { type: "button", class: "name", title: `${what}: ${name}`, onclick: () => emit("look", path) }, `${SIGNS[what]} ${name}`);
  const label = `How step ${step} changed ${name}`;
  return h("span", { class: "chip file" }, look,
    h("button", { type: "button", class: "differs", title: label, onclick: differs }, icon("differs")));
}
