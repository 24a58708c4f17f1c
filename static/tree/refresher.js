// Keeps the loaded folders up to date: decides which rows to request and when.

import { currentRun } from "../core/event_stream.js";
import { isBelow, parentOf } from "../core/paths.js";

export const INITIALLY_OPEN = ["input", "output"];
const ROWS_AROUND = 100; // rows requested beyond the visible ones
const LOAD_WHOLE = 300; // folders up to this size are requested whole
const MAX_TRACKED = 100; // selected rows whose positions are tracked
const AGAIN_MS = 2000; // from a lost connection to the next request

export class TreeRefresher {
  constructor(tree) {
    this.tree = tree;
  }

  /** Request a folder, one request at a time, and again if it changed meanwhile. */
  load(folder) {
    folder.stale = true;
    folder.loading ??= this.loadRepeatedly(folder);
    return folder.loading;
  }

  async loadRepeatedly(folder) {
    const { epoch } = this.tree;
    try {
      while (folder.stale && epoch === this.tree.epoch) {
        folder.stale = false;
        await this.loadOnce(folder, epoch);
      }
    } finally {
      folder.loading = null; // in the same turn as the last check of `stale`
    }
  }

  async loadOnce(folder, epoch) {
    if (!currentRun.id) return;
    const { tree } = this;
    try {
      const listing = await tree.loader.rows(folder, ...this.range(folder), this.trackedPaths(folder));
      if (!this.isCurrent(folder, epoch)) return;
      if (listing.missing) {
        tree.autoOpened.delete(folder.path); // it opens by itself where it appears again
        tree.onLoadFailed(folder, new Error("This folder was deleted."));
      } else tree.applyListing(folder, listing);
    } catch (error) {
      if (!this.isCurrent(folder, epoch)) return;
      if (error.status === 0) setTimeout(() => this.isCurrent(folder, epoch) && this.load(folder), AGAIN_MS);
      tree.onLoadFailed(folder, error);
    }
  }

  /** Whether a response is still relevant: same run and same filter. */
  isCurrent(folder, epoch) {
    const { model } = this.tree;
    return epoch === this.tree.epoch && (folder.filtered ? folder === model.found : folder === model.folders.get(folder.path));
  }

  /** The rows to request: those near the viewport. */
  range(folder) {
    const [first, last] = this.tree.view.visibleRange();
    const visible = this.tree.model.ranges(first, last).get(folder);
    if (!visible || folder.total <= LOAD_WHOLE) return [0, LOAD_WHOLE];
    const from = Math.max(0, visible[0] - ROWS_AROUND);
    return [from, visible[1] - from + ROWS_AROUND];
  }

  /** Paths whose positions are tracked even outside the requested rows. */
  trackedPaths(folder) {
    const { focused, revealed, current, selection, view, model } = this.tree;
    const selected = [...selection.entries.keys()].slice(0, MAX_TRACKED);
    const paths = [focused, revealed, current, selection.anchor, view.anchor()?.path, ...selected];
    const inside = paths.filter((path) => path && (folder.filtered ? isBelow(path, folder.path) : parentOf(path) === folder.path));
    const inner = model.subfolders(folder).map((each) => each.path);
    const always = folder.path || folder.filtered ? [] : INITIALLY_OPEN;
    return [...new Set([...inside, ...inner, ...always])].filter((path) => path !== folder.path);
  }

  loadMissing(folders) {
    for (const folder of folders) {
      const range = this.range(folder).join();
      if (folder.missingRange !== range) this.load(folder);
      folder.missingRange = range;
    }
  }
}
