// The track: a slider over the steps of a run. A cell's height is its step's duration, its colour
// what the step used, and a dot marks a failure.

import { h } from "../core/dom.js";
import { formatNumber, formatSeconds } from "../core/format.js";
import { columnOf, stepAt, stepForKey, stepsPerColumn } from "./columns.js";

const WORDS = { external: "external resources", compute: "computation", file: "files" };

export class Track {
  #steps = []; // { step, seconds, used, failed }; step is 1, 2, …
  #cells = [];
  #perColumn = 1;
  #current = 0; // the step shown
  #isLive = true; // whether the end of the run is shown

  /** `onMove(step)` is called when the user moves to a step; `label` names the slider. */
  constructor({ onMove, label = "Step of the run" }) {
    this.onMove = onMove;
    this.knob = h("b", { class: "playback-knob", hidden: true }, h("span", { class: "num" }));
    this.element = h("div", { class: "playback-track", role: "slider", tabindex: "0", "aria-label": label, "aria-valuemin": "1" }, this.knob);
    this.element.addEventListener("keydown", (event) => this.#onKey(event));
    this.element.addEventListener("pointerdown", (event) => this.#onPointer(event));
    this.element.addEventListener("pointermove", (event) => (this.element.hasPointerCapture(event.pointerId) ? this.#onPointer(event) : this.#onHover(event)));
    this.#draw();
  }

  get count() {
    return this.#steps.length;
  }

  /** Show these steps: [{ step, seconds, used, failed }], in order. */
  setSteps(steps) {
    this.#steps = [...steps];
    this.#draw();
  }

  /** Add a step, or replace it. */
  update(step) {
    const at = step.step - 1;
    if (at > this.#steps.length) return;
    this.#steps[at] = step;
    if (stepsPerColumn(this.#steps.length) !== this.#perColumn) return void this.#draw();
    this.#drawColumn(Math.floor(at / this.#perColumn));
    this.show(this.#isLive ? null : this.#current);
  }

  /** Show a step, and optionally the share (0 to 1) of it that is over; null shows the end of the run. */
  show(step, share = 1) {
    const count = this.#steps.length;
    this.#isLive = step === null;
    this.#current = Math.min(step ?? count, count);
    this.#markLater();
    this.knob.hidden = this.#isLive || !count;
    this.knob.style.left = `${(100 * (this.#current - 1 + Math.max(0.5, share))) / Math.max(1, count)}%`;
    this.knob.firstChild.textContent = `step ${this.#current}`;
    this.knob.dataset.side = this.#current * 2 > count ? "end" : "start";
    const { element } = this;
    element.setAttribute("aria-valuemax", String(Math.max(1, count)));
    element.setAttribute("aria-valuenow", String(Math.max(1, this.#current)));
    element.setAttribute("aria-valuetext", this.#describe(this.#current) + (this.#isLive ? ", live" : ""));
  }

  #draw() {
    for (const cell of this.#cells) cell.remove();
    this.#cells = [];
    this.#perColumn = stepsPerColumn(this.#steps.length);
    this.element.style.setProperty("--longest", "0.1");
    for (let column = 0; column * this.#perColumn < this.#steps.length; column += 1) this.#drawColumn(column);
    this.show(this.#isLive ? null : this.#current);
  }

  #drawColumn(column) {
    const steps = this.#steps.slice(column * this.#perColumn, (column + 1) * this.#perColumn);
    const { height, used, failed } = columnOf(steps);
    let cell = this.#cells[column];
    if (!cell) {
      this.#cells[column] = cell = h("i");
      this.knob.before(cell);
      this.element.classList.toggle("dense", this.#cells.length > 80);
    }
    cell.dataset.used = used;
    cell.toggleAttribute("data-failed", failed);
    cell.style.setProperty("--height", height.toFixed(3));
    if (height > Number(this.element.style.getPropertyValue("--longest"))) this.element.style.setProperty("--longest", height.toFixed(3));
  }

  #markLater() {
    const column = Math.floor((this.#current - 1) / this.#perColumn);
    this.#cells.forEach((cell, at) => cell.toggleAttribute("data-later", !this.#isLive && at > column));
  }

  #describe(step) {
    const known = this.#steps[step - 1];
    if (!known) return "no steps yet";
    const { used } = columnOf([known]);
    const parts = [
      `step ${formatNumber(step)} of ${formatNumber(this.#steps.length)}`,
      formatSeconds(known.seconds || 0),
      WORDS[used],
      known.failed ? "failed" : "",
    ];
    return parts.filter(Boolean).join(", ");
  }

  #stepUnder({ clientX }) {
    const { left, width } = this.element.getBoundingClientRect();
    return stepAt((clientX - left) / Math.max(1, width), this.#steps.length);
  }

  #onHover(event) {
    if (this.#steps.length) this.element.title = this.#describe(this.#stepUnder(event));
  }

  #onPointer(event) {
    if (!this.#steps.length || (event.type === "pointerdown" && event.button)) return;
    if (event.type === "pointerdown") this.element.setPointerCapture(event.pointerId);
    const step = this.#stepUnder(event);
    if (this.#isLive || step !== this.#current) this.onMove(step);
  }

  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = stepForKey(event.key, this.#current, this.#steps.length);
    if (step === null) return;
    event.preventDefault();
    event.stopPropagation();
    this.onMove(step);
  }
}
