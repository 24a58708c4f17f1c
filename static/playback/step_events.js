// The events of steps, fetched on demand; those of the last few steps are kept.

import { fetchJson } from "../core/loading/fetch.js";

const MAX_STEPS = 4;

export class StepEvents {
  #steps = new Map(); // step → promise of its events

  constructor(run) {
    this.run = run;
  }

  clear() {
    this.#steps.clear();
  }

  /** The events of a step that has ended. */
  get(step) {
    let events = this.#steps.get(step);
    this.#steps.delete(step);
    events ??= fetchJson(this.run.url(`steps/${step}`));
    this.#steps.set(step, events);
    events.catch(() => this.#steps.delete(step));
    if (this.#steps.size > MAX_STEPS) this.#steps.delete(this.#steps.keys().next().value);
    return events;
  }
}
