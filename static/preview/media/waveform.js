// Waveform: the played part is coloured, a click seeks.

import { h } from "../../core/dom.js";
import { formatClock } from "../../core/format.js";

const BAR_WIDTH = 3; // width of a bar and its gap in pixels

export class Waveform {
  constructor(onSeek) {
    this.peaks = [];
    this.at = this.seconds = 0;
    this.canvas = h("canvas");
    this.hint = h("span", { class: "hint num", hidden: true });
    this.element = h("div", {
      class: "waveform", role: "slider", tabindex: "0", "aria-label": "Playback position",
      "aria-valuemin": 0, "aria-valuemax": 0, "aria-valuenow": 0,
    }, this.canvas, this.hint);
    const timeAt = (event) => {
      const box = this.element.getBoundingClientRect();
      return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * this.seconds;
    };
    this.element.addEventListener("pointerdown", (event) => {
      this.element.setPointerCapture(event.pointerId);
      onSeek(timeAt(event));
    });
    this.element.addEventListener("pointermove", (event) => {
      if (event.buttons) onSeek(timeAt(event));
      this.hint.hidden = !this.seconds;
      this.hint.textContent = formatClock(timeAt(event));
      this.hint.style.left = `${event.offsetX}px`;
    });
    this.element.addEventListener("pointerleave", () => (this.hint.hidden = true));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.element);
  }

  close() {
    this.observer.disconnect();
  }

  show({ peaks = this.peaks, at = this.at, seconds = this.seconds }) {
    Object.assign(this, { peaks, at, seconds });
    this.element.setAttribute("aria-valuemax", seconds.toFixed(1));
    this.element.setAttribute("aria-valuenow", at.toFixed(1));
    this.element.setAttribute("aria-valuetext", `${formatClock(at)} of ${formatClock(seconds)}`);
    this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    const ratio = devicePixelRatio;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const context = this.canvas.getContext("2d");
    const style = getComputedStyle(this.element);
    context.scale(ratio, ratio);
    const played = this.seconds ? (this.at / this.seconds) * width : 0;
    const middle = height / 2;
    for (let x = 0; x < width; x += BAR_WIDTH) {
      const [low, high] = this.extremes(x / width, (x + BAR_WIDTH) / width);
      context.fillStyle = style.getPropertyValue(x < played ? "--accent" : "--ink-3");
      const top = middle - (high / 127) * (middle - 2);
      context.fillRect(x, top, BAR_WIDTH - 1, Math.max(1.5, ((high - low) / 127) * (middle - 2)));
    }
    context.fillStyle = style.getPropertyValue("--accent");
    context.fillRect(Math.min(width - 1.5, played), 0, 1.5, height);
  }

  extremes(from, to) {
    const columns = this.peaks.length / 2;
    let low = 0;
    let high = 0;
    for (let at = Math.floor(from * columns); at < Math.max(to * columns, Math.floor(from * columns) + 1) && at < columns; at++) {
      low = Math.min(low, this.peaks[2 * at]);
      high = Math.max(high, this.peaks[2 * at + 1]);
    }
    return [low, high];
  }
}

const COLUMNS = 1000;
const SAMPLE_RATE = 8000; // Hz: enough for drawing, at a sixth of the memory

/** Decode audio with the browser and return its peaks. */
export async function decodePeaks(address, signal) {
  const content = await (await fetch(address, { signal })).arrayBuffer();
  const audio = await new OfflineAudioContext(1, 1, SAMPLE_RATE).decodeAudioData(content);
  const peaks = [];
  const channels = Array.from({ length: audio.numberOfChannels }, (_, at) => audio.getChannelData(at));
  const columns = Math.min(COLUMNS, audio.length);
  for (let column = 0; column < columns; column++) {
    const from = Math.floor((audio.length * column) / columns);
    const to = Math.floor((audio.length * (column + 1)) / columns);
    let low = 0;
    let high = 0;
    for (const values of channels) {
      for (let at = from; at < to; at++) {
        if (values[at] < low) low = values[at];
        else if (values[at] > high) high = values[at];
      }
    }
    peaks.push(Math.max(-127, low * 127), Math.min(127, high * 127));
  }
  return peaks;
}
