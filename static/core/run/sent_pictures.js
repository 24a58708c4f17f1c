// The pictures that a run's model has got, in order: as the server's state lists them, and then from the events.

/**
 * A picture at one place of the run: the opening message of a `round`, a message delivered with a
 * `step`, or a tool call. `dropped` is the step from which the model no longer gets it, or null.
 * @typedef {{ where: "message" | "step" | "call", round: number, step: number, call_id: string,
 *   picture: SentPicture, dropped: number | null }} Look
 * @typedef {{ file: string, media_type: string, width: number, height: number, size: number, source: string, tokens: number }} SentPicture
 */

/** How an event changes them, by its kind; as agent/runs/pictures.py does. */
const APPLY = {
  run_started: (looks, event) => looks.begin(event),
  run_continued: (looks, event) => looks.begin(event),
  message_delivered: (looks, event) => looks.add("step", event),
  tool_ended: (looks, event) => looks.add("call", event),
  pictures_dropped: (looks, { step, pictures }) => pictures.forEach(({ file }) => looks.drop(step, file)),
  observations_cleared: (looks, { step, call_ids: ids }) => looks.dropAll(step, (each) => ids.includes(each.call_id)),
  summary_ended: (looks, { step, text, first_step: first, last_step: last }) =>
    text && looks.dropAll(step, (each) => each.where !== "message" && first <= each.step && each.step <= last),
};

export class SentPictures {
  constructor() {
    this.reset();
  }

  reset(looks = [], rounds = 0, step = 0) {
    /** @type {Look[]} */
    this.all = looks;
    this.round = rounds;
    this.step = step;
  }

  /** Take in an event; returns whether the pictures have changed. */
  apply(event) {
    if (event.kind === "step_started") this.step = event.step;
    const before = this.all.length;
    const changes = APPLY[event.kind]?.(this, event);
    return Boolean(changes) || this.all.length > before;
  }

  begin(event) {
    this.round += 1;
    this.add("message", { step: this.step, ...event });
  }

  add(where, { step, call_id: call = "", pictures = [] }) {
    for (const picture of pictures) this.all.push({ where, round: this.round, step, call_id: call, picture, dropped: null });
  }

  /** The oldest picture of a file is no longer sent. */
  drop(step, file) {
    const found = this.all.find((each) => each.dropped === null && each.picture.file === file);
    if (found) found.dropped = step;
  }

  dropAll(step, matches) {
    const found = this.all.filter((each) => each.dropped === null && matches(each));
    for (const each of found) each.dropped = step;
    return found.length;
  }

  ofRound(round) {
    return this.all.filter((each) => each.where === "message" && each.round === round);
  }

  ofStep(step) {
    return this.all.filter((each) => each.where === "step" && each.step === step);
  }

  ofCall(id) {
    return this.all.filter((each) => each.call_id === id && each.where === "call");
  }
}
