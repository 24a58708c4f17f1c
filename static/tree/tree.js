// The file tree: nested open folders, reloaded when they change.

import { session } from "../core/session.js";
import { Folder, Forest, isBelow, parentOf } from "./model.js";
import { Keeper, OPEN_AT_FIRST } from "./refresher.js";
import { isHidden } from "./hidden.js";
import { keep, kept } from "../core/local_storage.js";
import { Marks } from "./unseen_marks.js";
import { Selection } from "./selection.js";
import { Shelf } from "./loader.js";
import { View } from "./virtual_list.js";


export class Tree {
  /** `onLook(path, entry, byHand)` shows a file, `onDrawn()` is called when rows may have changed. */
  constructor(element, { onLook, onDrawn }) {
    Object.assign(this, { element, onLook, onDrawn, current: null, epoch: 0, cut: new Map() });
    this.options = { sort: kept("tree-sort", "name"), hidden: kept("tree-hidden", false), words: "" };
    this.forest = new Forest();
    this.marks = new Marks();
    this.selection = new Selection();
    this.shelf = new Shelf(this.options);
    this.view = new View(element, this.forest, {
      stateOf: (spot) => this.stateOf(spot),
      onMissing: (folders) => this.keeper.missing(folders),
    });
    this.keeper = new Keeper(this);
    element.addEventListener("focusin", (event) => this.focusCame(event));
    setInterval(() => this.view.soon(), 20_000); // update the files' ages
    this.reset();
  }

  reset() {
    this.epoch++;
    this.focused = this.wanted = this.problem = null;
    this.greeted = new Set();
    this.options.words = "";
    this.cut.clear();
    this.forest.reset();
    this.marks.reset(session.run);
    this.selection.clear();
    this.view.clear();
    this.draw();
  }

  draw() {
    this.view.draw(this.focused);
    this.onDrawn();
  }

  stateOf({ folder, index, level, place, entry }) {
    const { path } = entry;
    return {
      place, level, index, count: folder.total, now: session.now(), flat: Boolean(this.forest.found),
      selected: this.selection.has(path), current: path === this.current, cut: this.cut.has(path),
      open: this.forest.isOpen(path), folder: this.forest.folders.get(path),
      mark: this.marks.of(path), fresh: this.marks.below(path),
    };
  }

  // Data from the server

  /** Reload these folders as far as visible; all if none are given. */
  refresh(folders) {
    const { forest } = this;
    const wanted = new Set();
    if (!folders || forest.found) forest.shown().forEach((folder) => wanted.add(folder));
    for (const path of forest.found ? [] : (folders ?? [])) {
      const folder = forest.folders.get(path);
      const seen = folder && forest.isShown(folder) ? folder : forest.folders.get(parentOf(path));
      if (seen && forest.isShown(seen)) wanted.add(seen);
    }
    for (const folder of wanted) folder.missed = null;
    return Promise.all([...wanted].map((folder) => this.list(folder)));
  }

  list(folder) {
    return this.keeper.list(folder);
  }

  take(folder, listing) {
    const anchor = this.view.anchor();
    const place = this.focused ? this.forest.placeOf(this.focused) : -1;
    if (folder === this.forest.base) this.problem = null;
    this.forest.take(folder, listing);
    const isGone = (path) => listing.at?.[path] === null;
    this.selection.prune(isGone);
    if (this.focused && isGone(this.focused)) this.leave(place);
    this.view.hold(anchor);
    if (folder.path === "" && !folder.filtered) this.greet(folder);
    this.draw();
  }

  refused(folder, error) {
    if (folder === this.forest.base && folder.path && !folder.filtered) return this.show(parentOf(folder.path));
    if (folder === this.forest.base) this.problem = error.message;
    else this.forest.close(folder.path);
    this.forest.measure();
    return this.draw();
  }

  /** Open the input and output folders when they first appear. */
  greet(root) {
    for (const path of OPEN_AT_FIRST) {
      const there = root.rows.get(root.places.get(path))?.kind === "folder";
      if (there && !this.greeted.has(path)) this.setOpen(path, true);
      if (there) this.greeted.add(path);
      else this.greeted.delete(path);
    }
  }

  // View

  setOpen(path, open) {
    if (open) this.forest.open(path);
    else this.forest.close(path);
    this.forest.measure();
    if (!open && this.focused && isBelow(this.focused, path)) this.focused = path;
    if (open) {
      for (const folder of this.forest.shown()) if (folder.path === path || isBelow(folder.path, path)) this.list(folder);
    }
    this.draw();
  }

  closeAll() {
    for (const folder of this.forest.folders.values()) if (folder !== this.forest.base && folder.path !== "") folder.open = false;
    this.forest.measure();
    this.draw();
  }

  /** Show only the contents of a folder. */
  show(path) {
    this.options.words = "";
    this.forest.found = null;
    this.forest.root = path;
    this.forest.open(path);
    this.forest.measure();
    this.view.element.scrollTop = 0;
    this.focused = null;
    this.draw();
    return this.refresh();
  }

  setOption(name, value) {
    this.options[name] = value;
    keep(`tree-${name}`, value);
    this.view.element.scrollTop = 0;
    return this.refresh();
  }

  /** Show files whose names contain these words, at any depth. */
  filter(words) {
    if (words === this.options.words) return undefined;
    this.options.words = words;
    this.view.element.scrollTop = 0;
    this.forest.found = words ? Object.assign(new Folder(this.forest.root), { filtered: true }) : null;
    this.forest.measure();
    if (!words) this.draw();
    return this.refresh();
  }

  // Focus

  focusCame(event) {
    const row = event.target.closest?.(".row");
    if (!row || row.dataset.path === this.focused) return;
    this.focused = row.dataset.path;
    this.view.focused = this.focused;
    this.view.keepTabStop(this.focused);
  }

  /** Focus a known row. */
  focus(path) {
    this.focused = path;
    this.view.focused = path;
    this.view.bring(this.forest.placeOf(path));
    this.view.rowOf(path)?.element.focus({ preventScroll: true });
  }

  /** The focused row was deleted: focus the row at its position. */
  leave(place) {
    const { size } = this.forest;
    const entry = size && place >= 0 ? this.forest.at(Math.min(place, size - 1)).entry : null;
    this.focused = entry?.path ?? null;
    if (entry && !this.selection.size) this.selection.only(entry);
  }

  /** The entry at a position, loaded if necessary. */
  async entryAt(place) {
    const spot = this.forest.at(place);
    if (spot.entry) return spot.entry;
    this.view.bring(place);
    await this.list(spot.folder);
    return this.forest.at(Math.min(place, this.forest.size - 1)).entry;
  }

  async goTo(place, { extend = false, apart = false } = {}) {
    if (!this.forest.size) return;
    const entry = await this.entryAt(Math.max(0, Math.min(place, this.forest.size - 1)));
    if (!entry) return;
    this.focus(entry.path);
    if (extend) await this.selectTo(entry.path);
    else if (!apart) this.selection.only(entry);
    this.draw();
  }

  walk(by, how) {
    const place = this.focused ? this.forest.placeOf(this.focused) : -1;
    return this.goTo(place < 0 ? 0 : place + by, how);
  }

  async selectTo(path) {
    const to = this.forest.placeOf(path);
    const from = this.selection.anchor ? this.forest.placeOf(this.selection.anchor) : -1;
    if (from < 0) return this.selection.only(this.forest.entryOf(path));
    const entries = [];
    for (const [folder, [first, last]] of this.forest.ranges(Math.min(from, to), Math.max(from, to) + 1)) {
      entries.push(...(await this.shelf.between(folder, first, last)));
    }
    return this.selection.set(entries);
  }

  /** Select all siblings of the focused row. */
  async selectAll() {
    const folder = (this.focused && !this.forest.found && this.forest.folders.get(parentOf(this.focused))) || this.forest.base;
    this.selection.set(await this.shelf.between(folder, 0, folder.total - 1));
    this.draw();
  }

  // Preview

  /** Select a file anywhere: open its folders and scroll to its row. */
  async choose(path, byHand = true) {
    if (this.forest.placeOf(path) < 0) await this.reveal(path);
    const place = this.forest.placeOf(path);
    const entry = this.forest.entryOf(path);
    if (place >= 0) {
      this.selection.only(entry);
      if (byHand || !this.view.inner.contains(document.activeElement)) this.focused = path;
    }
    this.look(path, entry, byHand); // the preview may shrink the tree
    if (place >= 0) this.view.bring(place);
  }

  /** Mark the version of a step as seen; later versions stay unseen. */
  seen(path, step) {
    if (this.marks.of(path)?.step === step) this.marks.look(path);
  }

  look(path, entry, byHand) {
    this.current = path;
    this.marks.look(path);
    this.draw();
    this.onLook(path, entry, byHand);
  }

  /** Highlight a file's row without showing its current version; no row if the file was deleted. */
  async point(path) {
    this.current = path;
    this.selection.clear();
    this.draw();
    if (this.forest.placeOf(path) < 0) await this.reveal(path);
    const entry = this.forest.entryOf(path);
    if (this.current !== path || !entry) return;
    this.selection.only(entry);
    this.view.bring(this.forest.placeOf(path));
  }

  async reveal(path) {
    if (this.options.words) this.filter("");
    if (isHidden(path)) this.options.hidden = true;
    if (!isBelow(path, this.forest.root)) this.show("");
    this.wanted = path;
    const way = [];
    for (let at = path; at !== this.forest.root; ) {
      at = parentOf(at);
      way.unshift(this.forest.open(at));
    }
    await Promise.all(way.map((folder) => this.list(folder)));
    this.wanted = null;
  }

  /** Show the next or previous file in row order. */
  async step(by) {
    if (!this.current) return;
    if (this.forest.placeOf(this.current) < 0) await this.reveal(this.current);
    for (let place = this.forest.placeOf(this.current) + by; place >= 0 && place < this.forest.size; place += by) {
      const entry = await this.entryAt(place);
      if (entry?.kind === "file") return void this.choose(entry.path);
    }
  }

  note(step, changes) {
    this.marks.note(step, changes, this.current);
    this.view.soon();
  }
}
