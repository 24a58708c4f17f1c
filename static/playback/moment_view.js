// The timeline as of a moment: later steps faded, one step shown in part, totals and strip up to it.

import { currentRun, emit } from "../core/event_stream.js";
import { showTotals } from "../core/run/totals.js";
import { isPresenting } from "../present/presenting.js";
import { MomentMarks } from "./marks.js";

export class MomentView {
  #part = null; // { step, events, shown } of the step that is shown in part
  #epoch = 0;

  constructor(timeline) {
    this.timeline = timeline;
    this.marks = new MomentMarks(timeline);
    this.following = true; // while playing, until the user scrolls
    for (const name of ["wheel", "touchmove", "keydown"]) timeline.thread.addEventListener(name, () => (this.following = false), { passive: true });
    this.scrubber = null; // set by it
  }

  reset() {
    this.#epoch += 1;
    this.#part = null;
    this.marks.reset();
  }

  onStep(step) {
    if (currentRun.moment) this.marks.mark(step);
  }

  onRound() {
    if (currentRun.moment) this.marks.markRest(currentRun.moment);
  }

  /** Show the moment { step, event, files, events, follow }; null for the run as it is now. */
  show(moment) {
    const { timeline } = this;
    this.#epoch += 1;
    if (this.#part && this.#part.step.number !== moment?.step) this.#endPart();
    if (moment && moment.event !== null) this.#showPart(moment);
    else this.#endPart();
    this.marks.show(moment);
    timeline.strip.showUntil(moment?.step ?? null);
    timeline.update();
    if (moment?.follow) this.following && timeline.follow(true);
    else if (moment && !isPresenting())
      this.#scrollTo(moment); // on stage, present/run_stage.js does
    else timeline.thread.querySelector(".step.linked")?.classList.remove("linked");
  }

  showTotals() {
    const { step } = currentRun.moment;
    const { figures } = this.scrubber;
    const { limits, status } = currentRun;
    const past = { status: { metered: status.metered, totals: figures.totalsUntil(step) }, step, running: false, limits };
    showTotals(this.timeline.meter, past, 0, figures.contextAt(step));
  }

  async #scrollTo({ step, event }) {
    const { timeline } = this;
    const epoch = this.#epoch;
    const element = timeline.steps.get(step)?.element;
    if (!element) return;
    if (event === null) await timeline.goTo({ part: "step", step });
    else element.scrollIntoView({ block: "nearest" });
    if (epoch === this.#epoch) emit("moment-shown", step);
  }

  #showPart({ step: number, event, events }) {
    const step = this.timeline.steps.get(number);
    if (!step) return;
    const forward = this.#part?.step === step && step.content === "part" && this.#part.shown <= event + 1;
    const from = forward ? this.#part.shown : 0;
    step.showPart(events.slice(from, event + 1), !forward);
    step.tick();
    this.#part = { step, events, shown: event + 1 };
  }

  #endPart() {
    const part = this.#part;
    this.#part = null;
    part?.step.showAll(part.events, part.shown);
  }
}
