// Marks of the files that steps created or changed: the step, and whether the user has read that version.

import { readStored, writeStored } from "../core/local_storage.js";
import { parentOf } from "../core/paths.js";
import { isCache } from "./hidden.js";

const STORED = "read-files";
const MAX_RUNS = 12; // runs whose read files are remembered
const MAX_FILES = 400;

export class UnreadMarks {
  reset(run) {
    this.run = run;
    this.marks = new Map();
    this.unreadCounts = new Map(); // folder → number of unread files below it
    const { all = 0, files = [] } = readStoredRuns().find((each) => each.run === run) ?? {};
    this.readUntil = all; // the last step all of whose files were marked as read
    this.readSteps = new Map(files); // path → step of the version that was read
  }

  /** Record the changes of a step; `previewed` is the file in the preview. */
  add(step, changes, previewed = null) {
    for (const { path, kind } of changes) {
      const before = this.marks.get(path);
      if (before && before.step > step) continue;
      if (before?.unread) this.changeCounts(path, -1);
      if (kind === "removed") {
        this.marks.delete(path);
        continue;
      }
      const unread = !isCache(path) && step > this.readUntil && step > (this.readSteps.get(path) ?? 0);
      const changed = before?.changed ?? [];
      if (kind === "changed" && before?.step !== step) changed.push(step);
      this.marks.set(path, { step, kind: before?.unread && before.kind === "added" ? "added" : kind, unread, changed });
      if (unread) this.changeCounts(path, 1);
      if (path === previewed) this.markRead(path);
    }
  }

  of(path) {
    return this.marks.get(path);
  }

  /** The last step up to `until` that changed an existing file, if any. */
  changedIn(path, until = Infinity) {
    return this.marks.get(path)?.changed.findLast((step) => step <= until);
  }

  /** The number of unread files below a folder. */
  unreadBelow(folder) {
    return this.unreadCounts.get(folder) ?? 0;
  }

  /** Mark a file as read; return whether it was unread. */
  markRead(path) {
    const mark = this.marks.get(path);
    if (!mark?.unread) return false;
    mark.unread = false;
    this.changeCounts(path, -1);
    this.readSteps.delete(path);
    this.readSteps.set(path, mark.step);
    this.store();
    return true;
  }

  markAllRead() {
    for (const mark of this.marks.values()) {
      mark.unread = false;
      this.readUntil = Math.max(this.readUntil, mark.step);
    }
    this.unreadCounts.clear();
    this.readSteps.clear();
    this.store();
  }

  /** Change the number of unread files in all folders above a path. */
  changeCounts(path, by) {
    for (let folder = parentOf(path); ; folder = parentOf(folder)) {
      this.unreadCounts.set(folder, this.unreadBelow(folder) + by);
      if (!folder) return;
    }
  }

  store() {
    const files = [...this.readSteps].slice(-MAX_FILES);
    const others = readStoredRuns().filter((each) => each.run !== this.run);
    writeStored(STORED, [...others, { run: this.run, all: this.readUntil, files }].slice(-MAX_RUNS));
  }
}

/** The read files of the last runs. */
const readStoredRuns = () => readStored(STORED, []);
