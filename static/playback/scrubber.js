// Moves the page through the run's past: steps and the events within them, by mouse, keys and address.

import { currentRun, on } from "../core/event_stream.js";
import { TimeBar } from "./bar.js";
import { MomentPill } from "./pill.js";
import { Player } from "./player.js";
import { StepEvents } from "./step_events.js";
import { StepFigures } from "./figures.js";
import { hasFiles, momentsOf, neighbour } from "./moments.js";

const ADDRESS_MS = 250; // ms after the last move until the address follows; browsers limit how often it may
const TYPING = "input, textarea, select, [contenteditable], dialog, [role=slider], [role=tree]";

export class Scrubber {
  #addressTimer = 0;
  #playing = null; // the run that is played once it is loaded

  constructor(timeline) {
    this.timeline = timeline;
    timeline.moments.scrubber = this;
    this.figures = new StepFigures();
    this.events = new StepEvents(currentRun);
    this.player = new Player(this);
    this.bar = new TimeBar(this);
    this.pill = new MomentPill(this);
    on("reset", () => this.reset());
    on("events", (events) => this.#onEvents(events));
    on("go-live", () => this.goLive());
    on("play-run", (run) => (this.#playing = run));
    document.addEventListener("keydown", (event) => this.#onKey(event));
  }

  get moment() {
    return currentRun.moment;
  }

  /** The number of steps that can be shown: those that have ended. */
  get count() {
    return this.figures.ended;
  }

  reset() {
    clearTimeout(this.#addressTimer);
    this.player.reset();
    this.figures.reset();
    this.events.clear();
    this.bar.showSteps();
    this.show();
  }

  /** Take in the state of the run; called once the timeline shows it. */
  load(state) {
    this.figures.reset();
    this.events.clear();
    for (const summary of state.steps) this.figures.addSummary(summary);
    this.bar.showSteps();
    this.show();
    if (this.#playing !== currentRun.id) return;
    this.#playing = null;
    this.player.play();
  }

  /** Show the run after a step; return whether it has ended and so can be shown. */
  goTo(step) {
    if (step < 1 || step > this.count) return false;
    this.player.pause();
    this.showMoment({ step, event: null, files: step, events: null, follow: false });
    return true;
  }

  /** Show the run as it is now. */
  goLive() {
    if (!this.moment) return;
    this.player.pause();
    this.showMoment(null);
    if (currentRun.running) this.timeline.goToEnd();
  }

  /** Go to the next step (1) or the previous one (-1); after the last one, the run as it is now. */
  move(by) {
    const at = this.moment ? this.moment.step + (this.moment.event !== null && by < 0 ? 0 : by) : this.count + (by > 0 ? 1 : currentRun.running ? 0 : -1);
    if (this.moment?.event != null && by > 0) return void this.goTo(this.moment.step);
    if (at > this.count) this.goLive();
    else this.goTo(Math.max(1, at));
  }

  /** Go to the next event within a step, or the previous one. */
  async moveEvent(by) {
    const { moment } = this;
    const from = moment ?? { step: this.count + 1, event: -1 };
    const step = from.event === null && by > 0 ? from.step + 1 : from.step > this.count ? this.count : from.step;
    if (step < 1 || step > this.count) return void (by > 0 && this.goLive());
    const events = await this.events.get(step);
    if (this.moment !== moment) return;
    const at = from.step === step ? (from.event ?? events.length) : by > 0 ? -1 : events.length;
    const next = neighbour(momentsOf(events), at, by);
    if (next !== null) this.goToEvent(step, next, events);
    else if (by > 0) this.goTo(step);
    else if (step > 1) this.goTo(step - 1);
  }

  /** Show a step after its event with this index; `events` are those of the step. */
  goToEvent(step, event, events, { follow = false } = {}) {
    if (!follow) this.player.pause();
    const files = hasFiles(events.slice(0, event + 1)) ? step : step - 1;
    this.showMoment({ step, event, files, events, follow, at: events[event].at });
  }

  showMoment(moment) {
    currentRun.showMoment(moment);
    this.show();
    clearTimeout(this.#addressTimer);
    if (!this.player.playing) this.#addressTimer = setTimeout(() => this.#updateAddress(), ADDRESS_MS);
  }

  /** The address of the moment that is shown. */
  address() {
    const address = new URL(location.href);
    address.hash = this.moment ? `step-${this.moment.step}` : "";
    return address;
  }

  /** Show the moment in the bar and the header. */
  show() {
    this.bar.show(this.moment);
    this.pill.show(this.moment);
  }

  #updateAddress() {
    if (currentRun.id) history.replaceState(history.state, "", this.address());
  }

  #onEvents(events) {
    if (events.some(({ kind }) => kind === "run_continued")) this.goLive();
    let changed = false;
    for (const event of events) {
      const step = this.figures.apply(event);
      if (!step) continue;
      this.bar.showStep(step);
      changed = true;
    }
    if (changed) this.show();
  }

  #onKey(event) {
    const { key, ctrlKey, metaKey, altKey, isComposing, target } = event;
    if (ctrlKey || metaKey || altKey || isComposing || !this.count || document.querySelector("dialog[open]")) return;
    if (target.closest?.(TYPING) && !target.closest(".time-bar")) return;
    const actions = { "[": () => this.move(-1), "]": () => this.move(1), "{": () => this.moveEvent(-1), "}": () => this.moveEvent(1) };
    if (!Object.hasOwn(actions, key)) return;
    event.preventDefault();
    actions[key]();
  }
}
