// Actions on tree rows: context menu and keyboard shortcuts.

import { session } from "../../core/session.js";
import { openMenu } from "./menu.js";
import { parentOf } from "../model.js";

const SHARED = new Set(["input", "output"]); // the model expects these

export class Deeds {
  constructor(tree, changes, { upload }) {
    Object.assign(this, { tree, changes, upload });
  }

  /** The rows to act on: the selection if it includes the focused row, else that row. */
  chosen() {
    const { tree } = this;
    if (tree.focused && tree.selection.has(tree.focused)) return tree.selection.tops();
    const entry = tree.focused && tree.forest.entryOf(tree.focused);
    return entry ? [entry] : tree.selection.tops();
  }

  changeable() {
    return this.chosen().filter(({ path }) => !SHARED.has(path));
  }

  /** The target folder of new items. */
  folder(entry = this.chosen()[0]) {
    if (!entry) return this.tree.forest.root;
    return entry.kind === "folder" ? entry.path : parentOf(entry.path);
  }

  open(entry) {
    const { tree } = this;
    if (entry.kind !== "folder") return tree.choose(entry.path);
    if (!tree.forest.found) return tree.setOpen(entry.path, !tree.forest.isOpen(entry.path));
    return this.goInto(entry.path);
  }

  /** Clear the filter and open a folder in the full tree. */
  async goInto(path) {
    const { tree } = this;
    await tree.reveal(path);
    tree.setOpen(path, true);
    await tree.goTo(tree.forest.placeOf(path));
  }

  menu(at, back) {
    const entries = this.chosen();
    const items = entries.length > 1 ? this.forMany(entries) : entries.length ? this.forOne(entries[0]) : this.forNone();
    openMenu(items, at, back);
  }

  forOne(entry) {
    const { tree, changes } = this;
    const folder = entry.kind === "folder";
    const open = folder && tree.forest.isOpen(entry.path) ? "Close" : "Open";
    return [
      { text: open, keys: "Enter", run: () => this.open(entry) },
      folder && { text: "Show only this folder", run: () => tree.show(entry.path) },
      !folder && { text: "Open in new tab", run: () => changes.apart(entry) },
      entry.kind !== "link" && { text: folder ? "Download as zip" : "Download", run: () => changes.download([entry]) },
      { text: "Copy path", keys: "Ctrl C", run: () => changes.copyPaths([entry]) },
      ...(folder && session.owned ? [null, ...this.forNew(entry.path)] : []),
      ...this.forChanging([entry]),
    ].filter((item) => item !== false);
  }

  forMany(entries) {
    const { changes } = this;
    return [
      { text: `Download ${entries.length} items as zip`, run: () => changes.download(entries) },
      { text: `Copy ${entries.length} paths`, keys: "Ctrl C", run: () => changes.copyPaths(entries) },
      ...this.forChanging(entries),
    ];
  }

  forChanging(entries) {
    const { changes } = this;
    if (!session.owned) return [];
    const some = entries.filter(({ path }) => !SHARED.has(path));
    if (!some.length) return [];
    return [
      null,
      some.length === 1 && { text: "Rename", keys: "F2", run: () => changes.rename(some[0]) },
      { text: "Move to…", run: () => changes.moveTo(some) },
      { text: "Cut", keys: "Ctrl X", run: () => changes.hold(some) },
      { text: "Delete", keys: "Del", danger: true, run: () => changes.remove(some) },
    ].filter((item) => item !== false);
  }

  forNew(folder) {
    if (!session.owned) return [];
    const { changes, tree } = this;
    const paste = tree.cut.size ? [{ text: `Paste ${tree.cut.size === 1 ? "1 item" : `${tree.cut.size} items`}`, keys: "Ctrl V", run: () => changes.paste(folder) }] : [];
    return [
      { text: "New file", run: () => changes.make("file", folder) },
      { text: "New folder", run: () => changes.make("folder", folder) },
      { text: "Upload files here", run: () => this.upload(folder) },
      ...paste,
    ];
  }

  forNone() {
    const make = this.forNew(this.tree.forest.root);
    return [...make, ...(make.length ? [null] : []), ...this.forAll()];
  }

  /** Actions on the whole workspace. */
  forAll() {
    const { tree, changes } = this;
    return [
      { text: "Download all", run: () => changes.all() },
      { text: "Mark all as read", run: () => (tree.marks.lookAtAll(), tree.draw()) },
      { text: "Collapse all folders", run: () => tree.closeAll() },
      { text: "Show hidden files", checked: tree.options.hidden, run: () => tree.setOption("hidden", !tree.options.hidden) },
    ];
  }
}
