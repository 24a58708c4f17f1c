// The file tree: nested open folders, reloaded when they change.

import { currentRun } from "../core/event_stream.js";
import { isBelow, parentOf } from "../core/paths.js";
import { Folder, TreeModel } from "./model.js";
import { TreeRefresher, INITIALLY_OPEN } from "./refresher.js";
import { isHidden } from "./hidden.js";
import { writeStored, readStored } from "../core/local_storage.js";
import { UnreadMarks } from "./unread_marks.js";
import { Selection } from "./selection.js";
import { TreeLoader } from "./loader.js";
import { VirtualList } from "./virtual_list.js";

export class Tree {
  /** `onOpen(path, entry, byUser)` shows a file, `onDrawn()` is called when rows may have changed. */
  constructor(element, { onOpen, onDrawn }) {
    this.element = element;
    this.onOpen = onOpen;
    this.onDrawn = onDrawn;
    this.current = null;
    this.epoch = 0;
    this.cut = new Map();
    this.options = { sort: readStored("tree-sort", "name"), hidden: readStored("tree-hidden", false), words: "", step: null };
    this.model = new TreeModel();
    this.marks = new UnreadMarks();
    this.selection = new Selection();
    this.loader = new TreeLoader(this.options);
    this.view = new VirtualList(element, this.model, {
      stateOf: (spot) => this.stateOf(spot),
      onMissing: (folders) => this.refresher.loadMissing(folders),
    });
    this.refresher = new TreeRefresher(this);
    element.addEventListener("focusin", (event) => this.onFocus(event));
    setInterval(() => this.view.scheduleDraw(), 20_000); // update the files' ages
    this.reset();
  }

  reset() {
    this.epoch++;
    this.focused = this.revealed = this.error = null;
    this.autoOpened = new Set();
    this.options.words = "";
    this.options.step = null;
    this.cut.clear();
    this.model.reset();
    this.marks.reset(currentRun.id);
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
      place,
      level,
      index,
      count: folder.total,
      now: currentRun.now(),
      flat: Boolean(this.model.found),
      selected: this.selection.has(path),
      current: path === this.current,
      cut: this.cut.has(path),
      open: this.model.isOpen(path),
      folder: this.model.folders.get(path),
      mark: this.options.step === null ? this.marks.of(path) : null,
      shownStep: this.options.step,
      unreadBelow: this.options.step === null ? this.marks.unreadBelow(path) : 0,
    };
  }

  // Data from the server

  /** Reload these folders as far as visible; all if none are given. */
  refresh(folders) {
    const { model } = this;
    const stale = new Set();
    if (!folders || model.found) model.visibleFolders().forEach((folder) => stale.add(folder));
    for (const path of model.found ? [] : (folders ?? [])) {
      const folder = model.folders.get(path);
      const visible = folder && model.isVisible(folder) ? folder : model.folders.get(parentOf(path));
      if (visible && model.isVisible(visible)) stale.add(visible);
    }
    for (const folder of stale) folder.missingRange = null;
    return Promise.all([...stale].map((folder) => this.load(folder)));
  }

  load(folder) {
    return this.refresher.load(folder);
  }

  /** Show the files as they were after a step; null for the files as they are now. */
  showStep(step) {
    this.options.step = step;
    this.cut.clear();
    return this.refresh();
  }

  applyListing(folder, listing) {
    const anchor = this.view.anchor();
    const place = this.focused ? this.model.placeOf(this.focused) : -1;
    if (folder === this.model.base) this.error = null;
    this.model.setListing(folder, listing);
    const isDeleted = (path) => listing.located?.[path] === null;
    this.selection.prune(isDeleted);
    if (this.focused && isDeleted(this.focused)) this.focusNearest(place);
    this.view.restore(anchor);
    if (folder.path === "" && !folder.filtered) this.openInitialFolders(folder);
    this.draw();
  }

  /** Close a folder that cannot be read; one whose connection was lost stays, and is requested again. */
  onLoadFailed(folder, error) {
    const isLost = error.status === 0;
    if (folder === this.model.base && folder.path && !folder.filtered && !isLost) return this.showFolder(parentOf(folder.path));
    if (folder === this.model.base) this.error = error.message;
    else if (!isLost) this.model.close(folder.path);
    this.model.updateSizes();
    return this.draw();
  }

  /** Open the input and output folders when they first appear. */
  openInitialFolders(root) {
    for (const path of INITIALLY_OPEN) {
      const exists = root.rows.get(root.places.get(path))?.kind === "folder";
      if (exists && !this.autoOpened.has(path)) this.setOpen(path, true);
      if (exists) this.autoOpened.add(path);
      else this.autoOpened.delete(path);
    }
  }

  // View

  setOpen(path, open) {
    if (open) this.model.open(path);
    else this.model.close(path);
    this.model.updateSizes();
    if (!open && this.focused && isBelow(this.focused, path)) this.focused = path;
    if (open) {
      for (const folder of this.model.visibleFolders()) if (folder.path === path || isBelow(folder.path, path)) this.load(folder);
    }
    this.draw();
  }

  collapseAll() {
    for (const folder of this.model.folders.values()) if (folder !== this.model.base && folder.path !== "") folder.open = false;
    this.model.updateSizes();
    this.draw();
  }

  /** Show only the contents of a folder. */
  showFolder(path) {
    this.options.words = "";
    this.model.found = null;
    this.model.root = path;
    this.model.open(path);
    this.model.updateSizes();
    this.view.element.scrollTop = 0;
    this.focused = null;
    this.draw();
    return this.refresh();
  }

  setOption(name, value) {
    this.options[name] = value;
    writeStored(`tree-${name}`, value);
    this.view.element.scrollTop = 0;
    return this.refresh();
  }

  /** Show files whose names contain these words, at any depth. */
  filter(words) {
    if (words === this.options.words) return undefined;
    this.options.words = words;
    this.view.element.scrollTop = 0;
    this.model.found = words ? Object.assign(new Folder(this.model.root), { filtered: true }) : null;
    this.model.updateSizes();
    if (!words) this.draw();
    return this.refresh();
  }

  // Focus

  onFocus(event) {
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
    this.view.scrollTo(this.model.placeOf(path));
    this.view.rowOf(path)?.element.focus({ preventScroll: true });
  }

  /** The focused row was deleted: focus the row at its position. */
  focusNearest(place) {
    const { size } = this.model;
    const entry = size && place >= 0 ? this.model.at(Math.min(place, size - 1)).entry : null;
    this.focused = entry?.path ?? null;
    if (entry && !this.selection.size) this.selection.only(entry);
  }

  /** The entry at a position, loaded if necessary. */
  async entryAt(place) {
    const spot = this.model.at(place);
    if (spot.entry) return spot.entry;
    this.view.scrollTo(place);
    await this.load(spot.folder);
    return this.model.at(Math.min(place, this.model.size - 1)).entry;
  }

  async goTo(place, { extend = false, select = true } = {}) {
    if (!this.model.size) return;
    const entry = await this.entryAt(Math.max(0, Math.min(place, this.model.size - 1)));
    if (!entry) return;
    this.focus(entry.path);
    if (extend) await this.selectTo(entry.path);
    else if (select) this.selection.only(entry);
    this.draw();
  }

  walk(by, options) {
    const place = this.focused ? this.model.placeOf(this.focused) : -1;
    return this.goTo(place < 0 ? 0 : place + by, options);
  }

  async selectTo(path) {
    const to = this.model.placeOf(path);
    const from = this.selection.anchor ? this.model.placeOf(this.selection.anchor) : -1;
    if (from < 0) return this.selection.only(this.model.entryOf(path));
    const entries = [];
    for (const [folder, [first, last]] of this.model.ranges(Math.min(from, to), Math.max(from, to) + 1)) {
      entries.push(...(await this.loader.entriesBetween(folder, first, last)));
    }
    return this.selection.set(entries);
  }

  /** Select all siblings of the focused row. */
  async selectAll() {
    const folder = (this.focused && !this.model.found && this.model.folders.get(parentOf(this.focused))) || this.model.base;
    this.selection.set(await this.loader.entriesBetween(folder, 0, folder.total - 1));
    this.draw();
  }

  // Preview

  /** Select a file anywhere: open its folders and scroll to its row. */
  async openFile(path, byUser = true) {
    if (this.model.placeOf(path) < 0) await this.reveal(path);
    const place = this.model.placeOf(path);
    const entry = this.model.entryOf(path);
    if (place >= 0) {
      this.selection.only(entry);
      if (byUser || !this.view.inner.contains(document.activeElement)) this.focused = path;
    }
    this.open(path, entry, byUser); // the preview may shrink the tree
    if (place >= 0) this.view.scrollTo(place);
  }

  /** Mark the version of a step as read; later versions stay unread. */
  markRead(path, step) {
    if (this.marks.of(path)?.step === step) this.marks.markRead(path);
  }

  open(path, entry, byUser) {
    this.current = path;
    this.marks.markRead(path);
    this.draw();
    this.onOpen(path, entry, byUser);
  }

  /** Highlight a file's row without showing its current version; no row if the file was deleted. */
  async highlight(path) {
    this.current = path;
    this.selection.clear();
    this.draw();
    if (this.model.placeOf(path) < 0) await this.reveal(path);
    const entry = this.model.entryOf(path);
    if (this.current !== path || !entry) return;
    this.selection.only(entry);
    this.view.scrollTo(this.model.placeOf(path));
  }

  async reveal(path) {
    if (this.options.words) this.filter("");
    if (isHidden(path)) this.options.hidden = true;
    if (!isBelow(path, this.model.root)) this.showFolder("");
    this.revealed = path;
    const ancestors = [];
    for (let at = path; at !== this.model.root; ) {
      at = parentOf(at);
      ancestors.unshift(this.model.open(at));
    }
    await Promise.all(ancestors.map((folder) => this.load(folder)));
    this.revealed = null;
  }

  /** Show the next or previous file in row order. */
  async step(by) {
    if (!this.current) return;
    if (this.model.placeOf(this.current) < 0) await this.reveal(this.current);
    for (let place = this.model.placeOf(this.current) + by; place >= 0 && place < this.model.size; place += by) {
      const entry = await this.entryAt(place);
      if (entry?.kind === "file") return void this.openFile(entry.path);
    }
  }

  addMarks(step, changes) {
    this.marks.add(step, changes, this.current);
    this.view.scheduleDraw();
  }
}
