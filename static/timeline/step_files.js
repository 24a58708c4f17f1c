// Files that a step created, changed or deleted, each with preview and diff.

import { h, icon } from "../core/dom.js";
import { kindOf, number, plural, shownPath } from "../core/format.js";
import { emit } from "../core/session.js";
import { isCache } from "../tree/hidden.js";

const SIGNS = { added: "+", changed: "~", removed: "−" };
const FEW = 8;

/** Sort output files first, caches last. */
const rank = ({ path }) => (isCache(path) ? 2 : Number(!path.startsWith("output/")));

export class Changes {
  constructor(step) {
    Object.assign(this, { step, unfolded: false });
    this.clear();
  }

  clear() {
    this.all = [];
    this.total = 0;
  }

  /** Add the first of `total` changes; update known paths. */
  know(changes, total) {
    const known = new Map(this.all.map((change) => [change.path, change]));
    const before = known.size;
    for (const change of changes) {
      const kind = known.get(change.path)?.kind === "added" && change.kind === "changed" ? "added" : change.kind;
      known.set(change.path, { ...change, kind });
    }
    this.total += total - (changes.length - (known.size - before));
    this.all = [...known.values()].sort((a, b) => rank(a) - rank(b));
  }

  *chips() {
    const worth = this.all.filter(({ path }) => !isCache(path));
    const shown = this.unfolded ? this.all : worth.slice(0, FEW);
    for (const change of shown) yield chip(change, this.step.number);
    const more = this.total - shown.length;
    const folds = worth.length < this.all.length || (this.total > FEW && (this.all.length > FEW || this.step.partial));
    const words = shown.length ? `and ${number(more)} more` : plural(more, "cached file");
    if (more > 0 && (this.unfolded || !folds)) yield h("span", { class: "more" }, words);
    if (folds) yield this.fold(this.unfolded ? "show fewer" : words);
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

function chip({ kind, path }, step) {
  const name = shownPath(path);
  const differs = () => emit("past", { path, step, compared: true });
  if (kind === "removed") {
    return h("button", { type: "button", class: "chip gone", title: `deleted: ${name}`, "aria-label": `Deleted: ${name}`, onclick: differs }, h("span", {}, `− ${name}`));
  }
  const look = h("button", { type: "button", class: "name", title: `${kind}: ${name}`, onclick: () => emit("past", { path, step }) }, `${SIGNS[kind]} ${name}`);
  const compares = kind === "changed" && kindOf(path) === "image"; // two images, with a divider
  const label = compares ? `Compare ${name} before and after step ${step}` : `Changes to ${name} in step ${step}`;
  return h("span", { class: "chip file" }, look,
    h("button", { type: "button", class: "differs", title: label, "aria-label": label, onclick: differs }, icon("differs"), compares ? "compare" : null));
}
