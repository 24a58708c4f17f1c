// The conversation as of a moment: what came later is faded, and while playing not shown.

/** Whether what comes after a step, once it is complete, lies later than the moment. */
const isLater = (after, moment) => moment !== null && after > 0 && (moment.step < after || (moment.step === after && moment.event !== null));

export class MomentMarks {
  #last = Infinity; // the last step that is not later
  #now = null;

  /** `timeline` is the thread that shows the run. */
  constructor(timeline) {
    this.timeline = timeline;
  }

  reset() {
    this.#last = Infinity;
    this.#now = null;
  }

  /** Mark what is later than the moment; null for none. Costs only the steps between two moments. */
  show(moment) {
    const { steps } = this.timeline;
    const last = moment?.step ?? Infinity;
    const [from, to] = [Math.min(last, this.#last) + 1, Math.min(steps.size, Math.max(last, this.#last))];
    for (let step = from; step <= to; step += 1) steps.get(step)?.element.classList.toggle("later", step > last);
    this.#last = last;
    this.#now?.classList.remove("now");
    this.#now = moment ? (steps.get(moment.step)?.element ?? null) : null;
    this.#now?.classList.add("now");
    this.markRest(moment);
  }

  /** Mark the messages and the ends of rounds. */
  markRest(moment) {
    const { messages, roundEnds, stepsUntil } = this.timeline;
    messages.forEach((element) => element.classList.toggle("later", moment !== null && moment.step <= stepsUntil.get(element)));
    roundEnds.forEach((element) => element.classList.toggle("later", isLater(stepsUntil.get(element), moment)));
  }

  /** A step was added while a moment is shown. */
  mark(step) {
    step.element.classList.toggle("later", step.number > this.#last);
  }
}
