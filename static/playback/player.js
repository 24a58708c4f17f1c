// Plays a recorded run: its events one after another, at the pace at which they happened or faster.

import { readStored, writeStored } from "../core/local_storage.js";
import { emit } from "../core/event_stream.js";
import { PlaybackClock, paceNamed } from "./clock.js";

const MAX_WAIT_MS = 100; // ms between two looks at the clock
const BETWEEN_SECONDS = 1; // longest pause between two steps, when nothing happened
const LOOP_SECONDS = 4; // for which the end is shown before a run starts again
const DEFAULT_PACE = "pause"; // text appears as it was written, and nobody waits for a long command
const root = document.documentElement;

export class Player {
  #session = 0; // of the playing in progress; another number ends it
  #clock = null;

  constructor(scrubber) {
    this.scrubber = scrubber;
    this.playing = false;
    this.pace = paceNamed(readStored("playback-pace", DEFAULT_PACE));
    this.loop = readStored("playback-loop", false);
  }

  reset() {
    this.pause();
    delete root.dataset.playback;
  }

  setPace(name) {
    this.pace = paceNamed(name);
    writeStored("playback-pace", this.pace.name);
    this.#clock?.setPace(this.pace, performance.now());
  }

  setLoop(loop) {
    this.loop = loop;
    writeStored("playback-loop", loop);
  }

  pause() {
    this.#session += 1;
    this.#clock = null;
    if (!this.playing) return;
    this.playing = false;
    delete root.dataset.playback;
    this.scrubber.show();
  }

  /** Play from the moment that is shown; from the start if the end is shown. */
  async play() {
    const { scrubber } = this;
    if (this.playing || !scrubber.count) return;
    const session = ++this.#session;
    this.playing = true;
    root.dataset.playback = "playing";
    scrubber.timeline.moments.following = true;
    scrubber.timeline.goToEnd();
    try {
      await this.#playFrom(scrubber.moment, session);
    } catch (error) {
      if (session !== this.#session) return;
      this.pause();
      emit("notice", { text: `The run cannot be played on. ${error.message}` });
    }
  }

  async #playFrom(moment, session) {
    const { scrubber } = this;
    const isOver = !moment || (moment.step >= scrubber.count && moment.event === null);
    let [step, event] = isOver ? [1, 0] : moment.event === null ? [moment.step + 1, 0] : [moment.step, moment.event];
    while (session === this.#session) {
      for (; step <= scrubber.count && session === this.#session; step += 1, event = 0) await this.#playStep(step, event, session);
      if (session !== this.#session) return;
      if (!this.loop) break;
      await wait(LOOP_SECONDS * 1000);
      [step, event] = [1, 0];
    }
    if (session === this.#session) this.#end();
  }

  #end() {
    const { scrubber } = this;
    this.pause();
    scrubber.showMoment(null);
    scrubber.timeline.goToEnd();
  }

  /** Play the events of a step from one on. */
  async #playStep(step, from, session) {
    const { scrubber } = this;
    const events = await scrubber.events.get(step);
    if (step < scrubber.count) scrubber.events.get(step + 1).catch(() => {}); // it is asked for again
    if (session !== this.#session) return;
    const clock = new PlaybackClock(
      events.map(({ at }) => at),
      this.pace,
    );
    this.#clock = clock;
    clock.seek(from, performance.now());
    clock.start(performance.now());
    let shown = from - 1;
    for (;;) {
      const now = performance.now();
      const due = clock.index(now);
      if (due > shown) this.#show(step, events, shown + 1, due);
      shown = Math.max(shown, due);
      if (shown >= events.length - 1) break;
      await wait(Math.min(MAX_WAIT_MS, Math.max(16, clock.wait(now))));
      if (session !== this.#session) return;
    }
    scrubber.showMoment({ step, event: null, files: step, events: null, follow: true });
    scrubber.timeline.steps.get(step)?.collapse();
    await wait(Math.min(BETWEEN_SECONDS, this.#pauseAfter(step)) * (1000 / this.pace.speed));
  }

  #show(step, events, first, last) {
    this.scrubber.goToEvent(step, last, events, { follow: true });
    for (const event of events.slice(first, last + 1)) if (event.kind === "workspace_changed") emit("arrived", event.changes);
  }

  /** Seconds between the end of a step and the next one. */
  #pauseAfter(step) {
    const { figures } = this.scrubber;
    const [one, next] = [figures.of(step), figures.of(step + 1)];
    return next ? Math.max(0, next.began - one.began - one.seconds) : 0;
  }
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
