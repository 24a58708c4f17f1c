// Keyboard navigation of the tree, as in file managers and the ARIA tree pattern.

import { emit, session } from "../core/session.js";
import { pastedFiles } from "../uploads/drop_reader.js";
import { parentOf } from "./model.js";

const PAUSE = 700; // ms after which typing starts a new search

export class Keys {
  constructor(tree, deeds, changes) {
    Object.assign(this, { tree, deeds, changes, typed: "", at: 0 });
    tree.element.addEventListener("keydown", (event) => this.key(event));
    tree.element.addEventListener("paste", (event) => this.paste(event));
  }

  /** Paste external files into the focused folder. */
  paste(event) {
    if (event.target.matches("input") || !session.owned) return;
    const files = pastedFiles(event);
    if (files.length) emit("give", { files, folder: this.deeds.folder() });
  }

  key(event) {
    if (event.target.matches("input") || event.isComposing || event.altKey) return;
    const command = event.ctrlKey || event.metaKey;
    const deed = command ? this.commands(event)[event.key.toLowerCase()] : this.plain(event)[event.key];
    if (deed) {
      if (deed() === false) return;
      event.preventDefault();
      event.stopPropagation();
    } else if (!command && event.key.length === 1 && (event.key !== " " || this.typed)) {
      event.preventDefault();
      event.stopPropagation();
      this.type(event.key);
    }
  }

  commands(event) {
    const { tree, deeds, changes } = this;
    const apart = { apart: true };
    return {
      arrowdown: () => tree.walk(1, apart), arrowup: () => tree.walk(-1, apart),
      home: () => tree.goTo(0, apart), end: () => tree.goTo(tree.forest.size - 1, apart),
      " ": () => this.toggle(), a: () => tree.selectAll(),
      c: () => !getSelection().toString() && changes.copyPaths(deeds.chosen()),
      x: () => deeds.changeable().length && changes.hold(deeds.changeable()),
      v: () => (tree.cut.size ? changes.paste(deeds.folder()) : false),
      z: () => !event.shiftKey && changes.undos.length && changes.undo(),
    };
  }

  plain(event) {
    const { tree, deeds, changes } = this;
    const how = { extend: event.shiftKey };
    const page = Math.max(1, Math.floor(tree.element.clientHeight / tree.view.height) - 1);
    const entry = tree.focused && tree.forest.entryOf(tree.focused);
    return {
      ArrowDown: () => tree.walk(1, how), ArrowUp: () => tree.walk(-1, how),
      PageDown: () => tree.walk(page, how), PageUp: () => tree.walk(-page, how),
      Home: () => tree.goTo(0, how), End: () => tree.goTo(tree.forest.size - 1, how),
      ArrowRight: () => entry && this.right(entry), ArrowLeft: () => entry && this.left(entry),
      Enter: () => entry && deeds.open(entry),
      " ": this.typed && Date.now() - this.at < PAUSE ? undefined : () => entry && (event.shiftKey ? this.toggle() : deeds.open(entry)),
      Delete: () => void changes.remove(deeds.changeable()),
      F2: () => void (deeds.changeable().length === 1 && changes.rename(deeds.changeable()[0])),
      F10: () => event.shiftKey && this.menu(), ContextMenu: () => this.menu(),
      "*": () => this.openBeside(entry), Escape: () => this.leave(),
    };
  }

  right(entry) {
    const { tree } = this;
    if (entry.kind !== "folder" || tree.forest.found) return;
    if (!tree.forest.isOpen(entry.path)) tree.setOpen(entry.path, true);
    else if (tree.forest.folders.get(entry.path).total) tree.walk(1);
  }

  left(entry) {
    const { tree } = this;
    if (entry.kind === "folder" && tree.forest.isOpen(entry.path)) return void tree.setOpen(entry.path, false);
    const place = tree.forest.placeOf(parentOf(entry.path));
    if (place >= 0) tree.goTo(place);
  }

  toggle() {
    const entry = this.tree.forest.entryOf(this.tree.focused);
    if (entry) this.tree.selection.toggle(entry);
    this.tree.draw();
  }

  menu() {
    const { element } = this.tree.view.rowOf(this.tree.focused) ?? {};
    if (!element) return false;
    const { left, bottom } = element.getBoundingClientRect();
    return void this.deeds.menu({ x: left + 24, y: bottom }, element);
  }

  /** Expand all known siblings of the focused folder. */
  openBeside(entry) {
    const folder = entry && this.tree.forest.folders.get(parentOf(entry.path));
    for (const each of [...(folder?.rows.values() ?? [])].slice(0, 50)) if (each.kind === "folder") this.tree.setOpen(each.path, true);
  }

  /** Cancel a cut or a multiple selection; return whether there was one. */
  leave() {
    const { tree } = this;
    if (!tree.cut.size && tree.selection.size < 2) return false;
    tree.cut.clear();
    const entry = tree.focused && tree.forest.entryOf(tree.focused);
    tree.selection.clear();
    if (entry) tree.selection.only(entry);
    return void tree.draw();
  }

  /** Go to the next name that starts with the typed text. */
  async type(letter) {
    const { tree } = this;
    const now = Date.now();
    this.typed = now - this.at < PAUSE ? this.typed + letter : letter;
    this.at = now;
    const same = [...this.typed].every((each) => each === letter);
    const word = (same ? letter : this.typed).toLowerCase();
    const begin = Math.max(0, tree.forest.placeOf(tree.focused)) + (same ? 1 : 0);
    const begins = (place) => tree.forest.at(place).entry?.name.toLowerCase().startsWith(word);
    const { size } = tree.forest;
    for (let place = begin; place < size && tree.forest.at(place).entry; place++) if (begins(place)) return void tree.goTo(place);
    const found = await this.seek(word, same);
    if (found >= 0) return void tree.goTo(found);
    for (let place = 0; place < Math.min(begin, size); place++) if (begins(place)) return void tree.goTo(place);
  }

  /** Ask the server, which knows all names of a folder. */
  async seek(word, next) {
    const { forest, shelf, focused } = this.tree;
    const folder = (focused && !forest.found && forest.folders.get(parentOf(focused))) || forest.base;
    if (folder.rows.size >= folder.total) return -1;
    const index = await shelf.seek(folder, word, (folder.places.get(focused) ?? -1) + (next ? 1 : 0));
    return index === null ? -1 : forest.placeIn(folder, index);
  }
}
