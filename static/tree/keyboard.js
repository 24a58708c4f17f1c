// Keyboard navigation of the tree, as in file managers and the ARIA tree pattern.

import { emit, currentRun } from "../core/event_stream.js";
import { pastedFiles } from "../core/drop_reader.js";
import { parentOf } from "../core/paths.js";

const TYPING_MS = 700; // ms after which typing starts a new search

export class TreeKeyboard {
  constructor(tree, actions, operations) {
    this.tree = tree;
    this.actions = actions;
    this.operations = operations;
    this.typed = "";
    this.at = 0;
    tree.element.addEventListener("keydown", (event) => this.onKey(event));
    tree.element.addEventListener("paste", (event) => this.paste(event));
  }

  /** Paste external files into the focused folder. */
  paste(event) {
    if (event.target.matches("input") || !currentRun.canEditFiles) return;
    const files = pastedFiles(event);
    if (files.length) emit("upload", { files, folder: this.actions.targetFolder() });
  }

  onKey(event) {
    if (event.target.matches("input") || event.isComposing || event.altKey) return;
    const command = event.ctrlKey || event.metaKey;
    const action = command ? this.commandKeys(event)[event.key.toLowerCase()] : this.plainKeys(event)[event.key];
    if (action) {
      if (action() === false) return;
      event.preventDefault();
      event.stopPropagation();
    } else if (!command && event.key.length === 1 && (event.key !== " " || this.typed)) {
      event.preventDefault();
      event.stopPropagation();
      this.findTyped(event.key);
    }
  }

  commandKeys(event) {
    const { tree, actions, operations } = this;
    const focusOnly = { select: false };
    return {
      arrowdown: () => tree.walk(1, focusOnly),
      arrowup: () => tree.walk(-1, focusOnly),
      home: () => tree.goTo(0, focusOnly),
      end: () => tree.goTo(tree.model.size - 1, focusOnly),
      " ": () => this.toggle(),
      a: () => tree.selectAll(),
      c: () => !getSelection().toString() && operations.copyPaths(actions.targets()),
      x: () => actions.changeableTargets().length && operations.cut(actions.changeableTargets()),
      v: () => (tree.cut.size ? operations.paste(actions.targetFolder()) : false),
      z: () => !event.shiftKey && currentRun.canEditFiles && operations.undos.length && operations.undo(),
    };
  }

  plainKeys(event) {
    const { tree, actions, operations } = this;
    const options = { extend: event.shiftKey };
    const page = Math.max(1, Math.floor(tree.element.clientHeight / tree.view.height) - 1);
    const entry = tree.focused && tree.model.entryOf(tree.focused);
    return {
      ArrowDown: () => tree.walk(1, options),
      ArrowUp: () => tree.walk(-1, options),
      PageDown: () => tree.walk(page, options),
      PageUp: () => tree.walk(-page, options),
      Home: () => tree.goTo(0, options),
      End: () => tree.goTo(tree.model.size - 1, options),
      ArrowRight: () => entry && this.moveRight(entry),
      ArrowLeft: () => entry && this.moveLeft(entry),
      Enter: () => entry && actions.open(entry),
      " ": this.typed && Date.now() - this.at < TYPING_MS ? undefined : () => entry && (event.shiftKey ? this.toggle() : actions.open(entry)),
      Delete: () => void operations.remove(actions.changeableTargets()),
      F2: () => void (actions.changeableTargets().length === 1 && operations.rename(actions.changeableTargets()[0])),
      F10: () => event.shiftKey && this.openMenu(),
      ContextMenu: () => this.openMenu(),
      "*": () => this.expandSiblings(entry),
      Escape: () => this.cancel(),
    };
  }

  moveRight(entry) {
    const { tree } = this;
    if (entry.kind !== "folder" || tree.model.found) return;
    if (!tree.model.isOpen(entry.path)) tree.setOpen(entry.path, true);
    else if (tree.model.folders.get(entry.path).total) tree.walk(1);
  }

  moveLeft(entry) {
    const { tree } = this;
    if (entry.kind === "folder" && tree.model.isOpen(entry.path)) return void tree.setOpen(entry.path, false);
    const place = tree.model.placeOf(parentOf(entry.path));
    if (place >= 0) tree.goTo(place);
  }

  toggle() {
    const entry = this.tree.model.entryOf(this.tree.focused);
    if (entry) this.tree.selection.toggle(entry);
    this.tree.draw();
  }

  openMenu() {
    const { element } = this.tree.view.rowOf(this.tree.focused) ?? {};
    if (!element) return false;
    const { left, bottom } = element.getBoundingClientRect();
    return void this.actions.openMenu({ x: left + 24, y: bottom }, element);
  }

  /** Expand all known siblings of the focused folder. */
  expandSiblings(entry) {
    const folder = entry && this.tree.model.folders.get(parentOf(entry.path));
    for (const each of [...(folder?.rows.values() ?? [])].slice(0, 50)) if (each.kind === "folder") this.tree.setOpen(each.path, true);
  }

  /** Cancel a cut or a multiple selection; return whether there was one. */
  cancel() {
    const { tree } = this;
    if (!tree.cut.size && tree.selection.size < 2) return false;
    tree.cut.clear();
    const entry = tree.focused && tree.model.entryOf(tree.focused);
    tree.selection.clear();
    if (entry) tree.selection.only(entry);
    return void tree.draw();
  }

  /** Go to the next name that starts with the typed text. */
  async findTyped(letter) {
    const { tree } = this;
    const now = Date.now();
    this.typed = now - this.at < TYPING_MS ? this.typed + letter : letter;
    this.at = now;
    const repeated = [...this.typed].every((each) => each === letter);
    const word = (repeated ? letter : this.typed).toLowerCase();
    const begin = Math.max(0, tree.model.placeOf(tree.focused)) + (repeated ? 1 : 0);
    const matches = (place) => tree.model.at(place).entry?.name.toLowerCase().startsWith(word);
    const { size } = tree.model;
    for (let place = begin; place < size && tree.model.at(place).entry; place++) if (matches(place)) return void tree.goTo(place);
    const position = await this.fetchIndex(word, repeated);
    if (position >= 0) return void tree.goTo(position);
    for (let place = 0; place < Math.min(begin, size); place++) if (matches(place)) return void tree.goTo(place);
  }

  /** Ask the server, which knows all names of a folder. */
  async fetchIndex(word, next) {
    const { model, loader, focused } = this.tree;
    const folder = (focused && !model.found && model.folders.get(parentOf(focused))) || model.base;
    if (folder.rows.size >= folder.total) return -1;
    const index = await loader.seek(folder, word, (folder.places.get(focused) ?? -1) + (next ? 1 : 0));
    return index === null ? -1 : model.placeIn(folder, index);
  }
}
