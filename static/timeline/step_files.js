// Files that a step created, changed or deleted, each with preview and diff.

import { h, icon } from "../core/dom.js";
import { fileKind, formatNumber, plural, decodePath } from "../core/format.js";
import { isCache } from "../tree/hidden.js";

const SIGNS = { added: "+", changed: "~", removed: "−" };
const MAX_COLLAPSED = 8;

/** Sort output files first, caches last. */
const rank = ({ path }) => (isCache(path) ? 2 : Number(!path.startsWith("output/")));

export class StepFiles {
  constructor(step) {
    this.step = step;
    this.expanded = false;
    this.clear();
  }

  clear() {
    this.changes = [];
    this.total = 0;
  }

  /** Add the first of `total` changes; update known paths. */
  add(changes, total) {
    const byPath = new Map(this.changes.map((change) => [change.path, change]));
    const before = byPath.size;
    for (const change of changes) {
      const kind = byPath.get(change.path)?.kind === "added" && change.kind === "changed" ? "added" : change.kind;
      byPath.set(change.path, { ...change, kind });
    }
    this.total += total - (changes.length - (byPath.size - before));
    this.changes = [...byPath.values()].sort((a, b) => rank(a) - rank(b));
  }

  *chips() {
    const relevant = this.changes.filter(({ path }) => !isCache(path));
    const visible = this.expanded ? this.changes : relevant.slice(0, MAX_COLLAPSED);
    for (const change of visible) yield chip(change, this.step);
    const more = this.total - visible.length;
    const expandable = relevant.length < this.changes.length || (this.total > MAX_COLLAPSED && (this.changes.length > MAX_COLLAPSED || this.step.partial));
    const label = visible.length ? `and ${formatNumber(more)} more` : plural(more, "cached file");
    if (more > 0 && (this.expanded || !expandable)) yield h("span", { class: "more" }, label);
    if (expandable) yield this.toggleButton(this.expanded ? "show fewer" : label);
  }

  toggleButton(label) {
    const button = h("button", { class: "more", "aria-expanded": String(this.expanded) }, label);
    button.addEventListener("click", async () => {
      this.expanded = !this.expanded;
      if (this.expanded) await this.step.load();
      this.step.showUsage();
      this.step.element.querySelector("button.more")?.focus({ preventScroll: true });
    });
    return button;
  }
}

function chip({ kind, path }, { number: step, view }) {
  const name = decodePath(path);
  const open = (compared) => view.run.emit("open-version", { path, step, compared });
  const openDiff = () => open(true);
  if (kind === "removed") {
    return h(
      "button",
      { class: "chip deleted", "data-path": path, title: `deleted: ${name}`, "aria-label": `Deleted: ${name}`, onclick: openDiff },
      h("span", {}, `− ${name}`),
    );
  }
  const openButton = h("button", { class: "name", title: `${kind}: ${name}`, onclick: () => open(false) }, `${SIGNS[kind]} ${name}`);
  const comparesImages = kind === "changed" && fileKind(path) === "image"; // two images, with a divider
  const label = comparesImages ? `Compare ${name} before and after step ${step}` : `Changes to ${name} in step ${step}`;
  return h(
    "span",
    { class: "chip file", "data-path": path },
    openButton,
    h("button", { class: "differs", title: label, "aria-label": label, onclick: openDiff }, icon("diff"), comparesImages ? "compare" : null),
  );
}
