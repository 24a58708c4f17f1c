// A tree of files that stays itself while its folders are listed again and again.

import { h, icon } from "./dom.js";
import { bytes, kindOf, plural } from "./format.js";
import { ask, runApi } from "./session.js";

const OPEN_AT_FIRST = new Set(["input", "output"]);

/** What the person gave and what is handed back come first. */
const shared = (entries) => [
  ...entries.filter((entry) => OPEN_AT_FIRST.has(entry.path)),
  ...entries.filter((entry) => !OPEN_AT_FIRST.has(entry.path)),
];

export class Tree {
  constructor(element, { onPick, onListed }) {
    Object.assign(this, { element, onPick, onListed });
    element.addEventListener("click", (event) => this.click(event));
    element.addEventListener("keydown", (event) => this.key(event));
    this.reset();
  }

  reset() {
    this.folders = new Map([["", { rows: new Map(), place: this.element, open: true }]]);
    this.chosen = null;
    this.marks = new Map();
    this.listing = new Map();
    this.element.replaceChildren();
  }

  /** List these folders again, as far as they are open; all open ones where none are named. */
  refresh(folders = [...this.folders.keys()]) {
    for (const folder of folders) {
      this.countAgain(folder);
      if (this.folders.get(folder)?.open) this.list(folder);
    }
  }

  /** One request at a time for a folder, and one more if it changed meanwhile. */
  async list(folder) {
    if (this.listing.has(folder)) return this.listing.set(folder, true);
    this.listing.set(folder, false);
    const folders = this.folders;
    try {
      const listed = await ask(runApi(`files?folder=${encodeURIComponent(folder)}`));
      if (folders === this.folders) this.show(folder, listed);
    } catch {
      if (folder) this.folders.get(folder)?.place.replaceChildren();
    }
    const again = this.listing.get(folder);
    this.listing.delete(folder);
    return again ? this.list(folder) : undefined;
  }

  show(folder, { entries, more }) {
    const known = this.folders.get(folder);
    if (!known) return;
    const gone = new Map(known.rows);
    let before = null;
    for (const entry of folder ? entries : shared(entries)) {
      let row = gone.get(entry.path);
      gone.delete(entry.path);
      if (row && row.entry.kind !== entry.kind) row = this.drop(known, row);
      row ??= this.add(known, folder, entry);
      this.update(row, entry);
      const next = before ? before.nextSibling : known.place.firstChild;
      if (row.element !== next) known.place.insertBefore(row.element, next);
      before = row.element;
    }
    for (const row of gone.values()) this.drop(known, row);
    this.tellMore(known, more);
    this.countAgain(folder, entries.length + more);
    this.keepTabStop();
    this.onListed(folder, entries);
  }

  add(known, folder, entry) {
    const level = folder ? folder.split("/").length + 1 : 1;
    const isFolder = entry.kind === "folder";
    const kind = isFolder ? "folder" : entry.kind === "link" ? "link" : kindOf(entry.name);
    const size = h("small", { class: "num" });
    const mark = h("span", { class: "new" });
    const line = h("div", { class: "line", style: `--level:${level}` },
      isFolder ? icon("caret") : h("span", { class: "ic" }), icon(kind),
      h("span", { class: "name", title: entry.name }, entry.name), mark, size);
    const element = h("div", { role: "treeitem", "aria-level": level, "aria-selected": "false", "aria-label": entry.name, tabindex: "-1" }, line);
    element.dataset.path = entry.path;
    const row = { element, size, mark, entry, path: entry.path };
    known.rows.set(entry.path, row);
    if (isFolder) this.addFolder(row, level === 1 && OPEN_AT_FIRST.has(entry.path));
    return row;
  }

  addFolder(row, open) {
    const place = h("div", { role: "group" });
    row.element.append(place);
    this.folders.set(row.path, { rows: new Map(), place, open: false, row });
    this.setOpen(row.path, open);
    if (!open) this.list(row.path);
  }

  update(row, entry) {
    row.entry = entry;
    if (entry.kind !== "folder") {
      const size = entry.kind === "file" ? bytes(entry.size) : entry.kind;
      if (row.size.textContent !== size) row.size.textContent = size;
    }
    const step = this.marks.get(entry.path);
    row.mark.textContent = step ? `step ${step}` : "";
  }

  /** Say at a file by which step it was written. */
  markStep(path, step) {
    this.marks.set(path, step);
    const parent = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
    const row = this.folders.get(parent)?.rows.get(path);
    if (row && row.entry.kind !== "folder") row.mark.textContent = `step ${step}`;
  }

  drop(known, row) {
    row.element.remove();
    known.rows.delete(row.path);
    for (const path of [...this.folders.keys()]) {
      if (path === row.path || path.startsWith(`${row.path}/`)) this.folders.delete(path);
    }
    return null;
  }

  tellMore(known, more) {
    known.more?.remove();
    known.more = more ? h("div", { class: "line more" }, `and ${plural(more, "more entry", "more entries")}`) : null;
    if (more) known.place.append(known.more);
  }

  countAgain(folder, count) {
    const known = this.folders.get(folder);
    if (!known?.row) return;
    if (count === undefined) return void (known.open || this.list(folder));
    known.row.size.textContent = count ? plural(count, "entry", "entries") : "empty";
  }

  setOpen(path, open) {
    const known = this.folders.get(path);
    known.open = open;
    known.place.hidden = !open;
    known.row.element.setAttribute("aria-expanded", String(open));
    if (open) this.list(path);
  }

  click(event) {
    const item = event.target.closest("[role=treeitem]");
    if (item && event.target.closest(".line")) this.act(item);
  }

  act(item) {
    const path = item.dataset.path;
    this.focus(item);
    if (this.folders.has(path)) this.setOpen(path, !this.folders.get(path).open);
    else this.choose(path);
  }

  /** Choose a file, by hand or by its path. */
  choose(path, byHand = true) {
    const parent = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
    this.chosen?.setAttribute("aria-selected", "false");
    const row = this.folders.get(parent)?.rows.get(path);
    this.chosen = row?.element ?? null;
    this.chosen?.setAttribute("aria-selected", "true");
    this.onPick(path, row?.entry ?? null, byHand);
  }

  key(event) {
    const items = [...this.element.querySelectorAll("[role=treeitem]")].filter((item) => item.offsetParent);
    const item = event.target.closest("[role=treeitem]");
    const at = items.indexOf(item);
    if (at < 0) return;
    const folder = this.folders.get(item.dataset.path);
    const moves = {
      ArrowDown: () => this.focus(items[at + 1]),
      ArrowUp: () => this.focus(items[at - 1]),
      Home: () => this.focus(items[0]),
      End: () => this.focus(items.at(-1)),
      Enter: () => this.act(item),
      " ": () => this.act(item),
      ArrowRight: () => folder && (folder.open ? this.focus(items[at + 1]) : this.setOpen(item.dataset.path, true)),
      ArrowLeft: () => (folder?.open ? this.setOpen(item.dataset.path, false) : this.focus(item.parentElement.closest("[role=treeitem]"))),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }

  focus(item) {
    if (!item) return;
    this.element.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
    item.setAttribute("tabindex", "0");
    item.focus({ preventScroll: false });
  }

  /** One row can always be reached with Tab. */
  keepTabStop() {
    if (this.element.querySelector('[tabindex="0"]')) return;
    this.element.querySelector("[role=treeitem]")?.setAttribute("tabindex", "0");
  }
}
