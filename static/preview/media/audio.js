// Audio preview: playable at once; the waveform may load later.

import { h } from "../../core/dom.js";
import { formatClock, formatNumber, formatSeconds } from "../../core/format.js";
import { determineDuration, mediaUrl, playbackError, PlayerControls, reloadMedia, unload } from "./player.js";
import { createWaveform, decodeChannels } from "./waveform.js";

const MAX_BYTES = 32 * 1024 * 1024;
const MAX_SECONDS = 20 * 60;
const CHANNEL_NAMES = { 1: "mono", 2: "stereo" };

class AudioPreview {
  constructor(file, first, media, wave) {
    this.file = file;
    this.first = first;
    this.media = media;
    this.wave = wave;
    this.note = h("p", { class: "note", role: "status" });
    const loop = toggleButton("Loop", "Repeat a selection: drag to change it", () => wave.toggleLoop());
    const spectrogram = toggleButton("Spectrogram", "Frequencies over time", () => this.toggleSpectrogram());
    this.element = h("div", { class: "audio" });
    const actions = {
      toggle: () => this.toggle(),
      seek: (at) => wave.surfer.setTime(at),
      now: () => media.currentTime,
      length: () => this.seconds,
      zoom: (by) => this.zoom(by),
      setRate: (rate) => (media.playbackRate = rate),
      setVolume: (volume) => (media.volume = volume),
    };
    this.controls = new PlayerControls(this.element, actions, { more: [loop, spectrogram] });
    this.element.append(wave.element, this.controls.element, this.note, media);
    determineDuration(media);
    for (const name of ["timeupdate", "seeking"]) wave.surfer.on(name, () => this.tick());
    for (const name of ["play", "pause", "ended"]) media.addEventListener(name, () => this.controls.showPlaying(!media.paused));
    media.addEventListener("durationchange", () => this.showDetails());
    media.addEventListener("loadedmetadata", () => this.first.peaks.length || this.decode("waveform"));
    media.addEventListener("error", () => this.onError());
    media.src = mediaUrl(file);
    this.showDetails();
  }

  get seconds() {
    const { duration } = this.media;
    return Number.isFinite(duration) ? duration : (this.first.seconds ?? 0);
  }

  showDetails() {
    const { format, sample_rate: sampleRate, channels, missing_seconds: missing, peaks } = this.first;
    const parts = [
      format,
      sampleRate && `${formatNumber(sampleRate / 1000)} kHz`,
      channels && (CHANNEL_NAMES[channels] ?? `${channels} channels`),
      this.seconds && formatClock(this.seconds),
    ];
    this.file.setDetails(parts.filter(Boolean).join(" · "));
    if (missing > 0.1) this.note.textContent = `The file is truncated: ${formatSeconds(missing)} are missing.`;
    if (this.seconds) this.wave.draw(this.decoded ?? peaks, this.seconds);
    this.tick();
  }

  update(first) {
    this.first = first;
    this.controller?.abort();
    this.controller = this.decoded = null;
    this.note.textContent = "";
    if (this.errorView) this.errorView.replaceWith(this.wave.element);
    this.errorView = null;
    reloadMedia(this.media, mediaUrl(this.file));
    this.showDetails();
  }

  close() {
    this.closed = true;
    this.controller?.abort();
    this.wave.close();
    unload(this.media);
  }

  toggle() {
    if (this.media.paused) this.media.play().catch(() => {});
    else this.media.pause();
  }

  tick() {
    this.wave.showPosition(Math.min(this.media.currentTime, this.seconds), this.seconds);
    this.controls.showTime();
  }

  zoom(by) {
    this.wave.zoom(by);
    if (by > 1 && !this.isLarge) this.decode("waveform");
  }

  async toggleSpectrogram() {
    return (this.wave.spectrogram || (await this.decode("spectrogram"))) && this.wave.toggleSpectrogram();
  }

  get isLarge() {
    return this.first.size > MAX_BYTES || this.seconds > MAX_SECONDS;
  }

  /** Decode the file for a waveform or spectrogram; returns whether it is decoded. */
  async decode(what) {
    if (this.decoded || this.closed || this.controller) return Boolean(this.decoded);
    if (this.isLarge) {
      this.note.textContent = `No ${what}: the file is longer than 20 minutes or larger than 32 MB.`;
      return false;
    }
    const { signal } = (this.controller = new AbortController());
    const note = this.note.textContent;
    this.note.textContent = `Drawing the ${what}…`;
    try {
      const decoded = await decodeChannels(mediaUrl(this.file), this.seconds, signal);
      if (signal.aborted) return false;
      this.decoded = decoded;
      this.wave.draw(decoded, this.seconds);
      this.note.textContent = note;
    } catch (error) {
      if (error.name !== "AbortError") this.note.textContent = `The ${what} cannot be drawn.`;
    }
    return Boolean(this.decoded);
  }

  onError() {
    if (this.closed || !this.media.getAttribute("src") || this.errorView) return;
    this.errorView = playbackError(this.file, "this audio file");
    this.wave.element.replaceWith(this.errorView);
  }
}

/** A button that shows what `toggle` returns, whether it is on. */
function toggleButton(text, title, toggle) {
  const button = h("button", { class: "quiet", "aria-pressed": "false", title }, text);
  button.addEventListener("click", async () => {
    button.disabled = true;
    button.setAttribute("aria-pressed", String(await toggle()));
    button.disabled = false;
  });
  return button;
}

export async function open(file, first) {
  const media = h("audio", { preload: "metadata" });
  return new AudioPreview(file, first, media, await createWaveform(media));
}
