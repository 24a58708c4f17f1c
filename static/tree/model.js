// Model of the tree: nested open folders, each with only the rows near the viewport loaded.

import { isBelow, parentOf } from "../core/paths.js";

export class Folder {
  constructor(path) {
    this.path = path;
    this.index = -1;
    this.open = true;
    this.loaded = false;
    this.size = 0;
    this.branches = []; // its open subfolders, in row order
    this.clear();
  }

  clear() {
    this.total = this.hidden = 0;
    this.rows = new Map();
    this.places = new Map();
  }

  /** Replace the known rows by a response of the server. */
  setListing({ entries, from, located, total, hidden, truncated, recorded }) {
    this.clear();
    this.loaded = true;
    this.total = total;
    this.hidden = hidden ?? 0;
    this.truncated = truncated;
    this.recorded = recorded; // of a listing as of a step: whether any version was recorded
    entries.forEach((entry, index) => this.set(from + index, entry));
    for (const row of Object.values(located ?? {})) if (row) this.set(row.index, row);
  }

  set(index, entry) {
    this.rows.set(index, entry);
    this.places.set(entry.path, index);
  }

  /** The position of a row among all visible rows of the folder. */
  place(index) {
    let place = index;
    for (const branch of this.branches) {
      if (branch.index >= index) break;
      place += branch.size;
    }
    return place;
  }
}

export class TreeModel {
  constructor() {
    this.reset();
  }

  reset() {
    this.folders = new Map([["", new Folder("")]]);
    this.root = "";
    this.found = null; // filter results, in place of the root
  }

  /** The folder whose rows are at the first level. */
  get base() {
    return this.found ?? this.folders.get(this.root);
  }

  parent(folder) {
    return folder === this.base ? null : this.folders.get(parentOf(folder.path));
  }

  /** Whether its rows are visible: it and all its ancestors are open. */
  isVisible(folder) {
    for (let at = folder; at; at = this.parent(at)) {
      if (at === this.base) return true;
      if (!at.open || at.index < 0 || this.found) return false;
    }
    return false;
  }

  visibleFolders() {
    return this.found ? [this.found] : [...this.folders.values()].filter((folder) => this.isVisible(folder));
  }

  open(path) {
    if (!this.folders.has(path)) this.folders.set(path, new Folder(path));
    const folder = this.folders.get(path);
    folder.open = true;
    folder.index = this.folders.get(parentOf(path))?.places.get(path) ?? -1;
    return folder;
  }

  close(path) {
    const folder = this.folders.get(path);
    if (folder) folder.open = false;
  }

  isOpen(path) {
    return !this.found && Boolean(this.folders.get(path)?.open);
  }

  /** Remove a deleted folder and its descendants. */
  removeFolder(path) {
    for (const each of [...this.folders.keys()]) {
      if (each === path || (path && isBelow(each, path))) this.folders.delete(each);
    }
  }

  subfolders(folder) {
    if (folder.filtered) return [];
    return [...this.folders.values()].filter((each) => each.path && parentOf(each.path) === folder.path);
  }

  setListing(folder, listing) {
    folder.setListing(listing);
    for (const each of this.subfolders(folder)) {
      const index = folder.places.get(each.path);
      const deleted = index === undefined ? listing.located?.[each.path] === null : folder.rows.get(index).kind !== "folder";
      if (deleted) this.removeFolder(each.path);
      else each.index = Math.min(index ?? each.index, folder.total - 1);
    }
    this.updateSizes();
  }

  /** Recount the rows. */
  updateSizes() {
    const byParent = Map.groupBy(this.found ? [] : this.folders.values(), (each) => (each.path ? parentOf(each.path) : null));
    const sizes = (folder) => {
      folder.branches = (byParent.get(folder.path) ?? []).filter((each) => each.open && each.index >= 0).sort((a, b) => a.index - b.index);
      folder.size = folder.branches.reduce((sum, each) => sum + sizes(each), folder.total);
      return folder.size;
    };
    sizes(this.base);
  }

  get size() {
    return this.base.size;
  }

  /** The row at a position: its folder, index, level and, if loaded, its entry. */
  at(place) {
    let [folder, rest, level] = [this.base, place, 1];
    for (;;) {
      let passed = 0;
      let nested = null;
      for (const branch of folder.branches) {
        if (rest <= branch.index + passed) break;
        if (rest <= branch.index + passed + branch.size) {
          nested = branch;
          break;
        }
        passed += branch.size;
      }
      if (!nested) return { folder, index: rest - passed, level, entry: folder.rows.get(rest - passed) };
      rest -= nested.index + passed + 1;
      folder = nested;
      level += 1;
    }
  }

  /** The position of a folder's row; -1 if unknown or not visible. */
  placeIn(folder, index) {
    if (!this.isVisible(folder)) return -1;
    let place = folder.place(index);
    for (let at = folder; at !== this.base; ) {
      const above = this.parent(at);
      place += above.place(at.index) + 1;
      at = above;
    }
    return place;
  }

  placeOf(path) {
    const folder = this.found ?? this.folders.get(parentOf(path));
    const index = folder?.places.get(path) ?? -1;
    return index < 0 || path === this.root ? -1 : this.placeIn(folder, index);
  }

  entryOf(path) {
    const folder = this.found ?? this.folders.get(parentOf(path));
    return folder?.rows.get(folder.places.get(path)) ?? null;
  }

  /** The visible rows of each folder between two positions: folder → [first, last]. */
  ranges(from, to) {
    const ranges = new Map();
    for (let place = Math.max(0, from); place < Math.min(to, this.size); place++) {
      const { folder, index } = this.at(place);
      const range = ranges.get(folder);
      if (range) range[1] = index;
      else ranges.set(folder, [index, index]);
    }
    return ranges;
  }
}
