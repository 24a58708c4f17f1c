// The tree of files: folders open inside each other, listed again when they change.

import { session } from "./session.js";
import { Folder, Forest, isBelow, parentOf } from "./tree/forest.js";
import { Keeper, OPEN_AT_FIRST } from "./tree/keeper.js";
import { keep, kept } from "./tree/kept.js";
import { Marks } from "./tree/marks.js";
import { Selection } from "./tree/selection.js";
import { Shelf } from "./tree/shelf.js";
import { View } from "./tree/view.js";


const isHidden = (path) => path.startsWith(".") || path.includes("/.");

export class Tree {
  /** `onLook(path, entry, byHand)` shows a file, `onDrawn()` hears that rows may have changed. */
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
    setInterval(() => this.view.soon(), 20_000); // the files' ages
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

  // What the server says

  /** List these folders again, as far as they are seen; all where none are named. */
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

  /** What was given and what is handed back are open when they first appear. */
  greet(root) {
    for (const path of OPEN_AT_FIRST) {
      const there = root.rows.get(root.places.get(path))?.kind === "folder";
      if (there && !this.greeted.has(path)) this.setOpen(path, true);
      if (there) this.greeted.add(path);
      else this.greeted.delete(path);
    }
  }

  // What is shown

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

  /** Show only what is in a folder. */
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

  /** Show what has these words in its name, however deep. */
  filter(words) {
    if (words === this.options.words) return undefined;
    this.options.words = words;
    this.view.element.scrollTop = 0;
    this.forest.found = words ? Object.assign(new Folder(this.forest.root), { filtered: true }) : null;
    this.forest.measure();
    if (!words) this.draw();
    return this.refresh();
  }

  // Where the person is

  focusCame(event) {
    const row = event.target.closest?.(".row");
    if (!row || row.dataset.path === this.focused) return;
    this.focused = row.dataset.path;
    this.view.focused = this.focused;
    this.view.keepTabStop(this.focused);
  }

  /** Put the keyboard's focus on a row that is known. */
  focus(path) {
    this.focused = path;
    this.view.focused = path;
    this.view.bring(this.forest.placeOf(path));
    this.view.rowOf(path)?.element.focus({ preventScroll: true });
  }

  /** The row in focus is gone: the one that took its place has it now. */
  leave(place) {
    const { size } = this.forest;
    const entry = size && place >= 0 ? this.forest.at(Math.min(place, size - 1)).entry : null;
    this.focused = entry?.path ?? null;
    if (entry && !this.selection.size) this.selection.only(entry);
  }

  /** The entry at a place, asked for if it is not known. */
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

  /** Select all that is beside the row in focus. */
  async selectAll() {
    const folder = (this.focused && !this.forest.found && this.forest.folders.get(parentOf(this.focused))) || this.forest.base;
    this.selection.set(await this.shelf.between(folder, 0, folder.total - 1));
    this.draw();
  }

  // Looking at files

  /** Choose a file, wherever it is: the folders on the way open, the row is scrolled to. */
  async choose(path, byHand = true) {
    if (this.forest.placeOf(path) < 0) await this.reveal(path);
    const place = this.forest.placeOf(path);
    const entry = this.forest.entryOf(path);
    if (place >= 0) {
      this.selection.only(entry);
      if (byHand || !this.view.inner.contains(document.activeElement)) this.focused = path;
    }
    this.look(path, entry, byHand); // the preview may take from the tree's height
    if (place >= 0) this.view.bring(place);
  }

  look(path, entry, byHand) {
    this.current = path;
    this.marks.look(path);
    this.draw();
    this.onLook(path, entry, byHand);
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

  /** Look at the next file in the order of the rows, or the one before. */
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
