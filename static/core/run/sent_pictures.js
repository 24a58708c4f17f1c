// The pictures that a run's model has got, in order: as the server's state lists them, and then from the events.

import { formatBytes, formatNumber, plural } from "../format.js";

/**
 * A picture at one place of the run: the opening message of a `round`, a message delivered with a
 * `step`, or a tool call. `dropped` is the step from which the model no longer gets it, or null.
 * @typedef {{ where: "message" | "step" | "call", round: number, step: number, call_id: string,
 *   picture: SentPicture, dropped: number | null }} Look
 * @typedef {{ file: string, media_type: string, width: number, height: number, size: number, source: string, tokens: number }} SentPicture
 */

/** The size and the tokens of a picture, in words. */
export const aboutPicture = ({ width, height, size, tokens }) =>
  [`${formatNumber(width)} × ${formatNumber(height)}`, formatBytes(size), tokens ? `about ${plural(tokens, "token")}` : ""].filter(Boolean).join(" · ");

export const pictureUrl = (run, { file }) => run.url(`outputs/${file}`);

/** How an event changes them, by its kind; as agent/runs/outputs/sent_pictures.py does. */
const APPLY = {
  run_started: (looks, event) => looks.begin(event),
  run_continued: (looks, event) => looks.begin(event),
  message_delivered: (looks, event) => looks.add("step", event),
  tool_ended: (looks, event) => looks.add("call", event),
  pictures_dropped: (looks, { step, pictures }) => pictures.filter(({ file }) => looks.drop(step, file)).length,
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

  /** The oldest picture of a file is no longer sent; returns whether there is one. */
  drop(step, file) {
    const found = this.all.find((each) => each.dropped === null && each.picture.file === file);
    if (found) found.dropped = step;
    return Boolean(found);
  }

  /** No picture that matches is sent any longer; returns how many were. */
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
