// Which files each step of the run has made or changed, and which of them shows best what it did.

import { isCache } from "./hidden.js";

const SHOWN = /\.(png|jpe?g|gif|webp|avif|svg|html?|pdf|midi?|wav|mp3|ogg|opus|flac|m4a|mp4|webm|mov)$/i;

/** How well a file shows what was done: smaller is better. */
const rank = ({ path }) => (isCache(path) ? 4 : (path.startsWith("output/") ? 0 : 2) + Number(!SHOWN.test(path)));

/** The change or file, of { path }, that shows best what was done or given; undefined if there is none. */
export const bestOf = (files) => files.toSorted((one, other) => rank(one) - rank(other))[0];

export class StepChanges {
  #steps = new Map(); // step → its changes

  constructor(run) {
    run.on("reset", () => this.#steps.clear());
    run.on("files-changed", ({ step, changes }) => this.#steps.set(step, [...(this.#steps.get(step) ?? []), ...changes]));
  }

  /** The file that shows best what a step did, { path, kind, step }; null if there is none. */
  of(step, without = new Set()) {
    const there = (this.#steps.get(step) ?? []).filter(({ path, kind }) => kind !== "removed" && !without.has(path) && !isCache(path));
    const best = bestOf(there);
    return best ? { ...best, step } : null;
  }

  /** That of the last step up to one which has such a file that is still there. */
  until(step) {
    const removed = new Set();
    for (let at = step; at > 0; at -= 1) {
      const found = this.of(at, removed);
      if (found) return found;
      for (const { path, kind } of this.#steps.get(at) ?? []) if (kind === "removed") removed.add(path);
    }
    return null;
  }
}
