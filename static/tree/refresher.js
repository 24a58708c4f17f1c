// Keeps the loaded folders up to date: decides which rows to request and when.

import { session } from "../core/session.js";
import { isBelow, parentOf } from "./model.js";

export const OPEN_AT_FIRST = ["input", "output"];
const AROUND = 100; // rows requested beyond the visible ones
const WHOLE = 300; // folders up to this size are requested whole
const MOST_PLACES = 100; // selected rows whose positions are tracked

export class Keeper {
  constructor(tree) {
    this.tree = tree;
  }

  /** Request a folder, one request at a time, and again if it changed meanwhile. */
  list(folder) {
    folder.again = true;
    folder.asking ??= this.askFor(folder).finally(() => (folder.asking = null));
    return folder.asking;
  }

  async askFor(folder) {
    const { epoch } = this.tree;
    while (folder.again && epoch === this.tree.epoch) {
      folder.again = false;
      await this.askOnce(folder, epoch);
    }
  }

  async askOnce(folder, epoch) {
    if (!session.run) return;
    const { tree } = this;
    try {
      const listing = await tree.shelf.rows(folder, ...this.range(folder), this.followed(folder));
      if (!this.counts(folder, epoch)) return;
      if (listing.gone) tree.refused(folder, new Error("This folder was deleted."));
      else tree.take(folder, listing);
    } catch (error) {
      if (this.counts(folder, epoch)) tree.refused(folder, error);
    }
  }

  /** Whether a response is still relevant: same run and same filter. */
  counts(folder, epoch) {
    const { forest } = this.tree;
    return epoch === this.tree.epoch && (folder.filtered ? folder === forest.found : folder === forest.folders.get(folder.path));
  }

  /** The rows to request: those near the viewport. */
  range(folder) {
    const [first, last] = this.tree.view.seen();
    const seen = this.tree.forest.ranges(first, last).get(folder);
    if (!seen || folder.total <= WHOLE) return [0, WHOLE];
    const from = Math.max(0, seen[0] - AROUND);
    return [from, seen[1] - from + AROUND];
  }

  /** Paths whose positions are tracked even outside the requested rows. */
  followed(folder) {
    const { focused, wanted, current, selection, view, forest } = this.tree;
    const selected = [...selection.entries.keys()].slice(0, MOST_PLACES);
    const paths = [focused, wanted, current, selection.anchor, view.anchor()?.path, ...selected];
    const inside = paths.filter((path) => path && (folder.filtered ? isBelow(path, folder.path) : parentOf(path) === folder.path));
    const inner = forest.inner(folder).map((each) => each.path);
    const always = folder.path || folder.filtered ? [] : OPEN_AT_FIRST;
    return [...new Set([...inside, ...inner, ...always])].filter((path) => path !== folder.path);
  }

  missing(folders) {
    for (const folder of folders) {
      const around = this.range(folder).join();
      if (folder.missed !== around) this.list(folder);
      folder.missed = around;
    }
  }
}
