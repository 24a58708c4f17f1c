// Selection in the tree: a row, several, a range, all of a folder.

export class Selection {
  constructor() {
    this.clear();
  }

  clear() {
    this.entries = new Map();
    this.anchor = null;
  }

  get size() {
    return this.entries.size;
  }

  has(path) {
    return this.entries.has(path);
  }

  only(entry) {
    this.entries = new Map([[entry.path, entry]]);
    this.anchor = entry.path;
  }

  toggle(entry) {
    if (!this.entries.delete(entry.path)) this.entries.set(entry.path, entry);
    this.anchor = entry.path;
  }

  /** Select exactly these; the anchor stays. */
  set(entries) {
    this.entries = new Map(entries.map((entry) => [entry.path, entry]));
  }

  /** Remove deleted entries from the selection. */
  prune(isDeleted) {
    for (const path of this.entries.keys()) if (isDeleted(path)) this.entries.delete(path);
    if (this.anchor && isDeleted(this.anchor)) this.anchor = null;
  }

  /** The selected paths without a selected ancestor. */
  topLevel() {
    return [...this.entries.values()].filter(({ path }) => {
      for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
        if (this.entries.has(path.slice(0, at))) return false;
      }
      return true;
    });
  }
}
