// The tree of files: folders open inside each other, listed again when they change.

import { session } from "./session.js";
import { Folder, Forest, isBelow, parentOf } from "./tree/forest.js";
import { keep, kept } from "./tree/kept.js";
import { Marks } from "./tree/marks.js";
import { Selection } from "./tree/selection.js";
import { Shelf } from "./tree/shelf.js";
import { View } from "./tree/view.js";

const OPEN_AT_FIRST = ["input", "output"];
const AROUND = 100; // rows asked for beyond those that are seen
const WHOLE = 300; // folders up to this size are asked for whole
const MOST_PLACES = 100; // selected rows whose places are followed

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
      onMissing: (folders) => this.missing(folders),
    });
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

  /** One request at a time for a folder, and one more if it changed meanwhile. */
  list(folder) {
    folder.again = true;
    folder.asking ??= this.askFor(folder).finally(() => (folder.asking = null));
    return folder.asking;
  }

  async askFor(folder) {
    while (folder.again) {
      folder.again = false;
      await this.askOnce(folder, this.epoch);
    }
  }

  async askOnce(folder, epoch) {
    if (!session.run) return;
    try {
      const listing = await this.shelf.rows(folder, ...this.range(folder), this.followed(folder));
      if (epoch === this.epoch) this.take(folder, listing);
    } catch (error) {
      if (epoch === this.epoch) this.refused(folder, error);
    }
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

  /** The rows to ask for: those near the eye. */
  range(folder) {
    const [first, last] = this.view.seen();
    const seen = this.forest.ranges(first, last).get(folder);
    if (!seen || folder.total <= WHOLE) return [0, WHOLE];
    const from = Math.max(0, seen[0] - AROUND);
    return [from, seen[1] - from + AROUND];
  }

  /** Paths whose places are to be known wherever they are. */
  followed(folder) {
    const selected = [...this.selection.entries.keys()].slice(0, MOST_PLACES);
    const paths = [this.focused, this.wanted, this.current, this.selection.anchor, this.view.anchor()?.path, ...selected];
    const inside = paths.filter((path) => path && (folder.filtered ? isBelow(path, folder.path) : parentOf(path) === folder.path));
    const inner = this.forest.inner(folder).map((each) => each.path);
    return [...new Set([...inside, ...inner, ...(folder.path || folder.filtered ? [] : OPEN_AT_FIRST)])].filter((path) => path !== folder.path);
  }

  missing(folders) {
    for (const folder of folders) {
      const around = this.range(folder).join();
      if (folder.missed !== around) this.list(folder);
      folder.missed = around;
    }
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
    this.marks.note(step, changes);
    this.view.soon();
  }
}
