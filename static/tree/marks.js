// Which files a step made or changed, and whether they were looked at since.

import { kept, keep } from "./kept.js";
import { parentOf } from "./forest.js";

const RUNS = 12; // of so many runs it is remembered what was looked at
const FILES = 400;

export class Marks {
  reset(run) {
    this.run = run;
    this.marks = new Map();
    this.unseen = new Map(); // folder → how many below it
    const { all = 0, files = [] } = kept("looked", []).find((each) => each.run === run) ?? {};
    this.all = all;
    this.looked = new Map(files);
  }

  /** `shown` is the file that is looked at while this comes. */
  note(step, changes, shown = null) {
    for (const { path, what } of changes) {
      const before = this.marks.get(path);
      if (before && before.step > step) continue;
      if (before?.unseen) this.count(path, -1);
      if (what === "removed") {
        this.marks.delete(path);
        continue;
      }
      const unseen = step > this.all && step > (this.looked.get(path) ?? 0);
      this.marks.set(path, { step, what: before?.unseen && before.what === "added" ? "added" : what, unseen });
      if (unseen) this.count(path, 1);
      if (path === shown) this.look(path);
    }
  }

  of(path) {
    return this.marks.get(path);
  }

  below(folder) {
    return this.unseen.get(folder) ?? 0;
  }

  /** Whether it was marked as new until now. */
  look(path) {
    const mark = this.marks.get(path);
    if (!mark?.unseen) return false;
    mark.unseen = false;
    this.count(path, -1);
    this.looked.delete(path);
    this.looked.set(path, mark.step);
    this.remember();
    return true;
  }

  lookAtAll() {
    for (const mark of this.marks.values()) {
      mark.unseen = false;
      this.all = Math.max(this.all, mark.step);
    }
    this.unseen.clear();
    this.looked.clear();
    this.remember();
  }

  count(path, by) {
    for (let folder = parentOf(path); ; folder = parentOf(folder)) {
      this.unseen.set(folder, this.below(folder) + by);
      if (!folder) return;
    }
  }

  remember() {
    const files = [...this.looked].slice(-FILES);
    const others = kept("looked", []).filter((each) => each.run !== this.run);
    keep("looked", [...others, { run: this.run, all: this.all, files }].slice(-RUNS));
  }
}
