// Pointer input of the tree: clicks, context menu, drag and drop of rows and external files.

import { emit } from "../core/event_stream.js";
import { parentOf } from "../core/paths.js";

const PATHS_TYPE = "application/x-studio-paths";
const OPEN_DELAY_MS = 700; // ms over a closed folder until it opens

export class TreePointer {
  constructor(tree, actions, operations, crumbs) {
    this.tree = tree;
    this.actions = actions;
    this.operations = operations;
    this.target = null;
    const { element } = tree;
    element.addEventListener("click", (event) => this.onClick(event));
    element.addEventListener("contextmenu", (event) => this.onContextMenu(event));
    element.addEventListener("dragstart", (event) => this.onDragStart(event));
    for (const place of [element, crumbs]) {
      place.addEventListener("dragover", (event) => this.onDragOver(event));
      place.addEventListener("dragleave", (event) => place.contains(event.relatedTarget) || this.setTarget(null));
      place.addEventListener("drop", (event) => this.onDrop(event));
    }
    element.addEventListener("dragend", () => this.setTarget(null));
  }

  entryAt(event) {
    const row = event.target.closest(".row:not(.blank)");
    return row ? this.tree.model.entryOf(row.dataset.path) : null;
  }

  async onClick(event) {
    const { tree } = this;
    const entry = this.entryAt(event);
    if (!entry) return;
    tree.focus(entry.path);
    if (event.target.closest(".row-menu")) {
      if (!tree.selection.has(entry.path)) tree.selection.only(entry);
      tree.draw();
      return void this.actions.openMenu(event.target.closest(".row-menu"), tree.view.rowOf(entry.path)?.element);
    }
    if (event.shiftKey) await tree.selectTo(entry.path);
    else if (event.ctrlKey || event.metaKey) tree.selection.toggle(entry);
    else {
      tree.selection.only(entry);
      return void this.actions.open(entry);
    }
    tree.draw();
  }

  onContextMenu(event) {
    const { tree } = this;
    if (event.target.matches("input")) return;
    event.preventDefault();
    const entry = this.entryAt(event);
    if (!entry) {
      tree.selection.clear();
      tree.focused = null;
    } else {
      tree.focus(entry.path);
      if (!tree.selection.has(entry.path)) tree.selection.only(entry);
    }
    tree.draw();
    const element = entry ? tree.view.rowOf(entry.path)?.element : tree.element;
    this.actions.openMenu({ x: event.clientX, y: event.clientY }, element);
  }

  onDragStart(event) {
    const { tree } = this;
    const entry = this.entryAt(event);
    if (!entry) return;
    if (!tree.selection.has(entry.path)) tree.selection.only(entry);
    tree.focused = entry.path;
    tree.draw();
    this.dragged = this.actions.changeableTargets();
    event.dataTransfer.setData(PATHS_TYPE, JSON.stringify(this.dragged.map(({ path }) => path)));
    event.dataTransfer.effectAllowed = "move";
  }

  /** The drop target folder. */
  targetFolder(event) {
    const crumb = event.target.closest("[data-folder]");
    if (crumb) return crumb.dataset.folder;
    const entry = this.entryAt(event);
    if (!entry) return this.tree.model.root;
    return entry.kind === "folder" ? entry.path : parentOf(entry.path);
  }

  onDragOver(event) {
    const { types } = event.dataTransfer;
    const rows = types.includes(PATHS_TYPE);
    if (!rows && !types.includes("Files")) return;
    event.preventDefault();
    event.stopPropagation();
    event.dataTransfer.dropEffect = rows ? "move" : "copy";
    emit("drop-target", this.targetFolder(event));
    this.setTarget(this.targetFolder(event));
  }

  setTarget(folder) {
    if (folder === this.target) return;
    clearTimeout(this.opening);
    this.targetElement?.classList.remove("target");
    this.target = folder;
    if (folder === null) return;
    const { tree } = this;
    this.targetElement = tree.view.rowOf(folder)?.element ?? tree.element;
    this.targetElement.classList.add("target");
    const closed = tree.view.rowOf(folder) && !tree.model.isOpen(folder) && !tree.model.found;
    if (closed) this.opening = setTimeout(() => tree.setOpen(folder, true), OPEN_DELAY_MS);
  }

  onDrop(event) {
    const { types } = event.dataTransfer;
    const folder = this.targetFolder(event);
    this.setTarget(null);
    if (types.includes(PATHS_TYPE)) this.operations.move(this.dragged ?? [], folder);
    else if (types.includes("Files")) emit("upload", { items: event.dataTransfer, folder });
    else return;
    event.preventDefault();
    event.stopPropagation();
    emit("drop-target", null);
  }
}
