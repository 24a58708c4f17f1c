// Audio preview: playable at once; the waveform may load later.

import { h } from "../../core/dom.js";
import { clock, number, seconds } from "../../core/format.js";
import { keys, measure, playButton, refusal, renew, source, speed, volume } from "./player.js";
import { decoded, Waveform } from "./waveform.js";

const MOST_BYTES = 32 * 1024 * 1024;
const MOST_SECONDS = 20 * 60;
const CHANNELS = { 1: "mono", 2: "stereo" };

class Sound {
  constructor(file, first) {
    this.file = file;
    this.media = h("audio", { preload: "metadata" });
    this.wave = new Waveform((at) => this.seek(at));
    this.play = playButton(() => this.toggle());
    this.time = h("span", { class: "time num" });
    this.note = h("p", { class: "note", role: "status" });
    this.element = h("div", { class: "sound" }, this.wave.element,
      h("div", { class: "row" }, this.play, this.time, h("span", { class: "grow" }),
        speed((rate) => (this.media.playbackRate = rate)), volume((loud) => (this.media.volume = loud))),
      this.note, this.media);
    keys(this.element, { toggle: () => this.toggle(), seek: (at) => this.seek(at), now: () => this.media.currentTime, length: () => this.seconds });
    measure(this.media);
    for (const name of ["timeupdate", "seeked", "ended"]) this.media.addEventListener(name, () => this.tick());
    for (const name of ["play", "pause", "ended"]) this.media.addEventListener(name, () => this.turned());
    this.media.addEventListener("durationchange", () => this.tell());
    this.media.addEventListener("loadedmetadata", () => this.decode());
    this.media.addEventListener("error", () => this.refused());
    this.media.src = source(file);
    this.first = first;
    this.tell();
  }

  get seconds() {
    const { duration } = this.media;
    return Number.isFinite(duration) ? duration : this.first.seconds ?? 0;
  }

  tell() {
    const { format, rate, channels, missing, peaks } = this.first;
    const parts = [format, rate && `${number(rate / 1000)} kHz`, channels && (CHANNELS[channels] ?? `${channels} channels`), this.seconds && clock(this.seconds)];
    this.file.tell(parts.filter(Boolean).join(" · "));
    if (missing > 0.1) this.note.textContent = `The file is truncated: ${seconds(missing)} are missing.`;
    this.wave.show({ seconds: this.seconds, ...(peaks.length ? { peaks } : {}) });
    this.tick();
  }

  update(first) {
    this.first = first;
    this.stopped?.abort();
    this.note.textContent = "";
    if (this.failed) this.failed.replaceWith(this.wave.element);
    this.failed = null;
    renew(this.media, source(this.file));
    this.tell();
  }

  close() {
    this.closed = true;
    this.stopped?.abort();
    cancelAnimationFrame(this.frame);
    this.media.pause();
    this.media.removeAttribute("src");
    this.media.load();
    this.wave.close();
  }

  toggle() {
    if (this.media.paused) this.media.play().catch(() => {});
    else this.media.pause();
  }

  seek(at) {
    this.media.currentTime = at;
    this.tick();
  }

  turned() {
    this.play.show(!this.media.paused);
    cancelAnimationFrame(this.frame);
    const run = () => {
      this.tick();
      if (!this.media.paused) this.frame = requestAnimationFrame(run);
    };
    run();
  }

  tick() {
    this.wave.show({ at: Math.min(this.media.currentTime, this.seconds), seconds: this.seconds });
    this.time.textContent = `${clock(this.media.currentTime)} / ${clock(this.seconds)}`;
  }

  async decode() {
    const { peaks, size } = this.first;
    if (peaks.length || this.closed) return;
    if (size > MOST_BYTES || this.media.duration > MOST_SECONDS) {
      this.note.textContent = "No waveform: the file is longer than 20 minutes or larger than 32 MB.";
      return;
    }
    this.stopped = new AbortController();
    this.note.textContent = "Drawing the waveform…";
    try {
      const found = await decoded(source(this.file), this.stopped.signal);
      this.wave.show({ peaks: found });
      this.note.textContent = "";
    } catch (error) {
      if (error.name !== "AbortError") this.note.textContent = "The waveform cannot be drawn.";
    }
  }

  refused() {
    if (this.closed || !this.media.getAttribute("src") || this.failed) return;
    this.failed = refusal(this.file, "this audio file");
    this.wave.element.replaceWith(this.failed);
  }
}

export const open = (file, first) => new Sound(file, first);
