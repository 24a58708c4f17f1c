// Piano roll: time to the right, pitch upwards, one colour per track; draws only the visible part.

import { h } from "../../core/dom.js";
import { formatClock } from "../../core/format.js";
import { oncePerFrame, onWheelZoom } from "../parts.js";

export const COLOURS = ["--accent", "--compute", "--file", "--external", "--bad", "--ok", "--warn", "--ink-2"];
const AXIS_HEIGHT = 18;
const STEPS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 600, 1800];
const BLACK_KEYS = new Set([1, 3, 6, 8, 10]);

export class PianoRoll {
  constructor(onSeek) {
    this.at = 0;
    this.scale = 0; // pixels per second
    this.muted = new Set();
    this.canvas = h("canvas");
    this.width = h("div", { class: "width" });
    this.draw = oncePerFrame(() => this.paint());
    const slider = { role: "slider", tabindex: "0", "aria-label": "Playback position", "aria-valuemin": 0, "aria-valuemax": 0, "aria-valuenow": 0 };
    this.element = h("div", { class: "roll", ...slider }, h("div", { class: "sticky" }, this.canvas), this.width);
    this.element.addEventListener("scroll", () => this.draw());
    this.element.addEventListener("click", (event) => {
      const left = event.clientX - this.element.getBoundingClientRect().left;
      onSeek(Math.max(0, Math.min(this.seconds, (left + this.element.scrollLeft) / this.scale)));
    });
    onWheelZoom(this.element, (by, event) => this.zoom(by, event.clientX - this.element.getBoundingClientRect().left));
    this.observer = new ResizeObserver(() => this.fit());
    this.observer.observe(this.element);
  }

  close() {
    this.observer.disconnect();
  }

  show({ notes, seconds }) {
    this.notes = notes;
    this.seconds = seconds;
    this.low = Math.max(0, Math.min(...notes.pitch, 60) - 2);
    this.high = Math.min(127, Math.max(...notes.pitch, 72) + 2);
    this.element.setAttribute("aria-valuemax", seconds.toFixed(1));
    this.fit();
    this.setPosition(this.at, false);
  }

  fit() {
    if (!this.notes) return;
    const minScale = this.element.clientWidth / (this.seconds || 1);
    this.scale = Math.max(this.scale || Math.max(minScale, 40), minScale);
    this.width.style.width = `${Math.min(this.seconds * this.scale, 15_000_000)}px`;
    this.draw();
  }

  /** Zoom around a position in the viewport. */
  zoom(by, around = this.element.clientWidth / 2) {
    const time = (this.element.scrollLeft + around) / this.scale;
    const maxScale = Math.min(2000, 15_000_000 / (this.seconds || 1));
    this.scale = Math.min(maxScale, this.scale * by);
    this.fit();
    this.element.scrollLeft = time * this.scale - around;
  }

  setPosition(at, follow) {
    this.at = at;
    this.element.setAttribute("aria-valuenow", at.toFixed(1));
    this.element.setAttribute("aria-valuetext", `${formatClock(at)} of ${formatClock(this.seconds)}`);
    const x = at * this.scale - this.element.scrollLeft;
    if (follow && (x < 0 || x > this.element.clientWidth * 0.9)) this.element.scrollLeft = at * this.scale - this.element.clientWidth * 0.1;
    this.draw();
  }

  paint() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!this.notes || !width || !height) return;
    const ratio = devicePixelRatio;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const style = getComputedStyle(this.element);
    const colour = (name) => style.getPropertyValue(name);
    const left = this.element.scrollLeft;
    const row = (height - AXIS_HEIGHT) / (this.high - this.low + 1);
    this.paintKeys(context, colour, width, row);
    this.paintAxis(context, colour, width, height, left);
    const { start, end, pitch, velocity, track } = this.notes;
    const from = left / this.scale;
    const to = (left + width) / this.scale;
    const colours = COLOURS.map(colour);
    for (let at = 0; at < start.length && start[at] <= to; at++) {
      if (end[at] < from) continue;
      const x = start[at] * this.scale - left;
      context.globalAlpha = this.muted.has(track[at]) ? 0.15 : 0.45 + (velocity[at] / 127) * 0.55;
      context.fillStyle = colours[track[at] % colours.length];
      const length = Math.max(2, (end[at] - start[at]) * this.scale - 1);
      context.fillRect(x, AXIS_HEIGHT + (this.high - pitch[at]) * row, length, Math.max(1.5, row - 0.5));
    }
    context.globalAlpha = 1;
    context.fillStyle = colour("--ink");
    context.fillRect(this.at * this.scale - left - 0.75, 0, 1.5, height);
  }

  paintKeys(context, colour, width, row) {
    context.fillStyle = colour("--line");
    for (let pitch = this.low; pitch <= this.high; pitch++) {
      const y = AXIS_HEIGHT + (this.high - pitch) * row;
      context.globalAlpha = 0.45;
      if (BLACK_KEYS.has(pitch % 12)) context.fillRect(0, y, width, row);
      context.globalAlpha = 1;
      if (pitch % 12 === 0) context.fillRect(0, y + row - 0.5, width, 1);
    }
  }

  paintAxis(context, colour, width, height, left) {
    const step = STEPS.find((each) => each * this.scale >= 60) ?? 3600;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (let time = Math.floor(left / this.scale / step) * step; time * this.scale < left + width; time += step) {
      const x = Math.round(time * this.scale - left);
      context.fillStyle = colour("--line");
      context.fillRect(x, AXIS_HEIGHT, 1, height);
      context.fillStyle = colour("--ink-3");
      context.fillText(step < 1 ? time.toFixed(2) : formatClock(time + 0.001), x + 4, AXIS_HEIGHT / 2);
    }
  }
}
