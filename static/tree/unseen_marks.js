// Tracks files created or changed by steps and whether the user has viewed them since.

import { readStored, writeStored } from "../core/local_storage.js";
import { parentOf } from "./model.js";
import { isCache } from "./hidden.js";

const RUNS = 12; // runs whose viewed files are remembered
const FILES = 400;

export class UnseenMarks {
  reset(run) {
    this.run = run;
    this.marks = new Map();
    this.unseen = new Map(); // folder → number of unseen files below it
    const { all = 0, files = [] } = readStored("looked", []).find((each) => each.run === run) ?? {};
    this.all = all;
    this.seen = new Map(files);
  }

  /** Record the changes of a step; `shown` is the file in the preview. */
  add(step, changes, shown = null) {
    for (const { path, kind } of changes) {
      const before = this.marks.get(path);
      if (before && before.step > step) continue;
      if (before?.unseen) this.count(path, -1);
      if (kind === "removed") {
        this.marks.delete(path);
        continue;
      }
      const unseen = !isCache(path) && step > this.all && step > (this.seen.get(path) ?? 0);
      const changed = before?.changed ?? [];
      if (kind === "changed" && before?.step !== step) changed.push(step);
      this.marks.set(path, { step, kind: before?.unseen && before.kind === "added" ? "added" : kind, unseen, changed });
      if (unseen) this.count(path, 1);
      if (path === shown) this.markSeen(path);
    }
  }

  of(path) {
    return this.marks.get(path);
  }

  /** The last step up to `until` that changed an existing file, if any. */
  changedIn(path, until = Infinity) {
    return this.marks.get(path)?.changed.findLast((step) => step <= until);
  }

  below(folder) {
    return this.unseen.get(folder) ?? 0;
  }

  /** Mark a file as seen; return whether it was unseen. */
  markSeen(path) {
    const mark = this.marks.get(path);
    if (!mark?.unseen) return false;
    mark.unseen = false;
    this.count(path, -1);
    this.seen.delete(path);
    this.seen.set(path, mark.step);
    this.remember();
    return true;
  }

  markAllSeen() {
    for (const mark of this.marks.values()) {
      mark.unseen = false;
      this.all = Math.max(this.all, mark.step);
    }
    this.unseen.clear();
    this.seen.clear();
    this.remember();
  }

  count(path, by) {
    for (let folder = parentOf(path); ; folder = parentOf(folder)) {
      this.unseen.set(folder, this.below(folder) + by);
      if (!folder) return;
    }
  }

  remember() {
    const files = [...this.seen].slice(-FILES);
    const others = readStored("looked", []).filter((each) => each.run !== this.run);
    writeStored("looked", [...others, { run: this.run, all: this.all, files }].slice(-RUNS));
  }
}
