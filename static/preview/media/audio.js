// Audio preview: playable at once; the waveform may load later.

import { h } from "../../core/dom.js";
import { formatClock, formatNumber, formatSeconds } from "../../core/format.js";
import { addMediaKeys, determineDuration, playButton, playbackError, reloadMedia, mediaUrl, speedSelect, volumeSlider } from "./player.js";
import { decodePeaks, Waveform } from "./waveform.js";

const MAX_BYTES = 32 * 1024 * 1024;
const MAX_SECONDS = 20 * 60;
const CHANNEL_NAMES = { 1: "mono", 2: "stereo" };

class AudioPreview {
  constructor(file, first) {
    this.file = file;
    this.media = h("audio", { preload: "metadata" });
    this.wave = new Waveform((at) => this.seek(at));
    this.play = playButton(() => this.toggle());
    this.time = h("span", { class: "time num" });
    this.note = h("p", { class: "note", role: "status" });
    this.element = h("div", { class: "audio" }, this.wave.element,
      h("div", { class: "row" }, this.play, this.time, h("span", { class: "grow" }),
        speedSelect((rate) => (this.media.playbackRate = rate)), volumeSlider((volume) => (this.media.volume = volume))),
      this.note, this.media);
    addMediaKeys(this.element, { toggle: () => this.toggle(), seek: (at) => this.seek(at), now: () => this.media.currentTime, length: () => this.seconds });
    determineDuration(this.media);
    for (const name of ["timeupdate", "seeked", "ended"]) this.media.addEventListener(name, () => this.tick());
    for (const name of ["play", "pause", "ended"]) this.media.addEventListener(name, () => this.onPlayState());
    this.media.addEventListener("durationchange", () => this.showDetails());
    this.media.addEventListener("loadedmetadata", () => this.decode());
    this.media.addEventListener("error", () => this.onError());
    this.media.src = mediaUrl(file);
    this.first = first;
    this.showDetails();
  }

  get seconds() {
    const { duration } = this.media;
    return Number.isFinite(duration) ? duration : this.first.seconds ?? 0;
  }

  showDetails() {
    const { format, sample_rate: sampleRate, channels, missing_seconds: missing, peaks } = this.first;
    const parts = [format, sampleRate && `${formatNumber(sampleRate / 1000)} kHz`, channels && (CHANNEL_NAMES[channels] ?? `${channels} channels`), this.seconds && formatClock(this.seconds)];
    this.file.setDetails(parts.filter(Boolean).join(" · "));
    if (missing > 0.1) this.note.textContent = `The file is truncated: ${formatSeconds(missing)} are missing.`;
    this.wave.show({ seconds: this.seconds, ...(peaks.length ? { peaks } : {}) });
    this.tick();
  }

  update(first) {
    this.first = first;
    this.controller?.abort();
    this.note.textContent = "";
    if (this.errorView) this.errorView.replaceWith(this.wave.element);
    this.errorView = null;
    reloadMedia(this.media, mediaUrl(this.file));
    this.showDetails();
  }

  close() {
    this.closed = true;
    this.controller?.abort();
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

  onPlayState() {
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
    this.time.textContent = `${formatClock(this.media.currentTime)} / ${formatClock(this.seconds)}`;
  }

  async decode() {
    const { peaks, size } = this.first;
    if (peaks.length || this.closed) return;
    if (size > MAX_BYTES || this.media.duration > MAX_SECONDS) {
      this.note.textContent = "No waveform: the file is longer than 20 minutes or larger than 32 MB.";
      return;
    }
    this.controller = new AbortController();
    this.note.textContent = "Drawing the waveform…";
    try {
      const decoded = await decodePeaks(mediaUrl(this.file), this.controller.signal);
      this.wave.show({ peaks: decoded });
      this.note.textContent = "";
    } catch (error) {
      if (error.name !== "AbortError") this.note.textContent = "The waveform cannot be drawn.";
    }
  }

  onError() {
    if (this.closed || !this.media.getAttribute("src") || this.errorView) return;
    this.errorView = playbackError(this.file, "this audio file");
    this.wave.element.replaceWith(this.errorView);
  }
}

export const open = (file, first) => new AudioPreview(file, first);
