// Pointer input of the tree: clicks, context menu, drag and drop of rows and external files.

import { emit } from "../core/session.js";
import { parentOf } from "./model.js";

const KIND = "application/x-studio-paths";
const HOVER = 700; // ms over a closed folder until it opens

export class Pointer {
  constructor(tree, deeds, changes, crumbs) {
    Object.assign(this, { tree, deeds, changes, target: null });
    const { element } = tree;
    element.addEventListener("click", (event) => this.click(event));
    element.addEventListener("contextmenu", (event) => this.menu(event));
    element.addEventListener("dragstart", (event) => this.begin(event));
    for (const place of [element, crumbs]) {
      place.addEventListener("dragover", (event) => this.over(event));
      place.addEventListener("dragleave", (event) => place.contains(event.relatedTarget) || this.mark(null));
      place.addEventListener("drop", (event) => this.drop(event));
    }
    element.addEventListener("dragend", () => this.mark(null));
  }

  entry(event) {
    const row = event.target.closest(".row:not(.blank)");
    return row ? this.tree.forest.entryOf(row.dataset.path) : null;
  }

  async click(event) {
    const { tree } = this;
    const entry = this.entry(event);
    if (!entry) return;
    tree.focus(entry.path);
    if (event.target.closest(".dots")) {
      if (!tree.selection.has(entry.path)) tree.selection.only(entry);
      tree.draw();
      return void this.deeds.menu(event.target.closest(".dots"), tree.view.rowOf(entry.path)?.element);
    }
    if (event.shiftKey) await tree.selectTo(entry.path);
    else if (event.ctrlKey || event.metaKey) tree.selection.toggle(entry);
    else {
      tree.selection.only(entry);
      return void this.deeds.open(entry);
    }
    tree.draw();
  }

  menu(event) {
    const { tree } = this;
    if (event.target.matches("input")) return;
    event.preventDefault();
    const entry = this.entry(event);
    if (!entry) {
      tree.selection.clear();
      tree.focused = null;
    } else {
      tree.focus(entry.path);
      if (!tree.selection.has(entry.path)) tree.selection.only(entry);
    }
    tree.draw();
    const element = entry ? tree.view.rowOf(entry.path)?.element : tree.element;
    this.deeds.menu({ x: event.clientX, y: event.clientY }, element);
  }

  begin(event) {
    const { tree } = this;
    const entry = this.entry(event);
    if (!entry) return;
    if (!tree.selection.has(entry.path)) tree.selection.only(entry);
    tree.focused = entry.path;
    tree.draw();
    this.dragged = this.deeds.changeable();
    event.dataTransfer.setData(KIND, JSON.stringify(this.dragged.map(({ path }) => path)));
    event.dataTransfer.effectAllowed = "move";
  }

  /** The drop target folder. */
  folder(event) {
    const crumb = event.target.closest("[data-folder]");
    if (crumb) return crumb.dataset.folder;
    const entry = this.entry(event);
    if (!entry) return this.tree.forest.root;
    return entry.kind === "folder" ? entry.path : parentOf(entry.path);
  }

  over(event) {
    const { types } = event.dataTransfer;
    const rows = types.includes(KIND);
    if (!rows && !types.includes("Files")) return;
    event.preventDefault();
    event.stopPropagation();
    event.dataTransfer.dropEffect = rows ? "move" : "copy";
    emit("drop-folder", this.folder(event));
    this.mark(this.folder(event));
  }

  mark(folder) {
    if (folder === this.target) return;
    clearTimeout(this.opening);
    this.lit?.classList.remove("target");
    this.target = folder;
    if (folder === null) return;
    const { tree } = this;
    this.lit = tree.view.rowOf(folder)?.element ?? tree.element;
    this.lit.classList.add("target");
    const closed = tree.view.rowOf(folder) && !tree.forest.isOpen(folder) && !tree.forest.found;
    if (closed) this.opening = setTimeout(() => tree.setOpen(folder, true), HOVER);
  }

  drop(event) {
    const { types } = event.dataTransfer;
    const folder = this.folder(event);
    this.mark(null);
    if (types.includes(KIND)) this.changes.move(this.dragged ?? [], folder);
    else if (types.includes("Files")) emit("give", { items: event.dataTransfer, folder });
    else return;
    event.preventDefault();
    event.stopPropagation();
    emit("drop-folder", null);
  }
}
