// Waveform with a timeline, zoom, a loop and a spectrogram; clicks and drags seek.

import { h } from "../../core/dom.js";
import { formatClock } from "../../core/format.js";
import { loadLibrary } from "../../core/loading/libraries.js";
import { fetchWithRetry } from "../../core/loading/fetch.js";
import { onWheelZoom } from "../parts.js";

const LOOP = { color: "color-mix(in srgb, var(--accent) 22%, transparent)", minLength: 0.05 };
const MAX_CHANNELS = 8;
const MAX_SCALE = 4000; // pixels per second
const MAX_WIDTH = 400_000; // pixels
const MAX_SAMPLES = 10_000_000; // per channel
const SAMPLE_RATES = [8000, 44100]; // Hz: the lowest that is worth drawing, the highest needed

/** Create the waveform of a media element; throws if wavesurfer.js is not installed. */
export const createWaveform = async (media) => new Waveform(media, await loadLibrary("wavesurfer"));

class Waveform {
  constructor(media, { WaveSurfer, Hover, Regions, Timeline, loadSpectrogram }) {
    this.media = media;
    this.loadSpectrogram = loadSpectrogram;
    this.element = h("div", { class: "waveform", role: "slider", tabindex: "0", "aria-label": "Playback position", "aria-valuemin": 0 });
    this.height = Math.max(80, Math.min(200, innerHeight * 0.24));
    this.regions = Regions.create();
    this.surfer = WaveSurfer.create({
      container: this.element,
      media,
      height: this.height,
      barWidth: 2,
      barGap: 1,
      barMinHeight: 1,
      cursorWidth: 2,
      cursorColor: "var(--accent)",
      dragToSeek: true,
      ...colours(),
      plugins: [
        this.regions,
        Hover.create({ formatTimeCallback: formatClock, lineColor: "var(--ink-3)", labelBackground: "var(--surface)", labelColor: "var(--ink-2)" }),
        Timeline.create({ formatTimeCallback: (at) => this.timeLabel(at), style: { color: "var(--ink-3)", fontSize: "11px" } }),
      ],
    });
    this.regions.on("region-created", (created) => {
      for (const region of this.regions.getRegions()) if (region !== created) region.remove();
    });
    this.surfer.on("timeupdate", (at) => {
      if (this.last < this.loop?.end && at >= this.loop.end && this.surfer.isPlaying()) this.repeat();
      this.last = at;
    });
    this.surfer.on("finish", () => this.loop?.end > this.surfer.getDuration() - 0.1 && this.repeat());
    onWheelZoom(this.element, (by) => this.zoom(by));
    this.theme = new MutationObserver(() => this.surfer.setOptions(colours()));
    this.theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  close() {
    this.theme.disconnect();
    this.surfer.destroy();
  }

  /** Draw an array of samples or peaks, from -1 to 1, for each channel. */
  draw(channels, seconds) {
    const shown = channels.slice(0, MAX_CHANNELS);
    this.surfer.setOptions({ height: this.height / (shown.length || 1), splitChannels: shown.length > 1 ? shown.map(() => ({})) : undefined });
    this.surfer.load(this.media.currentSrc || this.media.src, shown.length ? shown : [[0]], seconds).catch(() => {});
  }

  showPosition(at, seconds) {
    this.element.setAttribute("aria-valuemax", seconds.toFixed(1));
    this.element.setAttribute("aria-valuenow", at.toFixed(1));
    this.element.setAttribute("aria-valuetext", `${formatClock(at)} of ${formatClock(seconds)}`);
  }

  /** Return the timeline's label of a time; of a long file only those labels that have room. */
  timeLabel(at) {
    const scale = this.surfer.getWrapper().clientWidth / this.surfer.getDuration();
    const tick = 60 * Math.ceil(0.5 / scale); // seconds, as in the plugin
    const hidden = scale * 15 < 25 && Math.round(at / tick) % Math.ceil(64 / (tick * scale));
    return hidden ? "" : formatClock(at);
  }

  zoom(by) {
    if (!this.surfer.getDecodedData()) return;
    const seconds = this.surfer.getDuration();
    const least = this.surfer.getWidth() / seconds;
    const most = Math.max(least, Math.min(MAX_SCALE, MAX_WIDTH / seconds));
    this.scale = Math.max(least, Math.min(most, Math.max(this.scale ?? 0, least) * by));
    this.surfer.zoom(this.scale);
  }

  /** Start or end repeating a selection, which a drag changes; returns whether it has started. */
  toggleLoop() {
    const starts = !this.endSelecting;
    if (starts) {
      const at = this.surfer.getCurrentTime();
      const seconds = this.surfer.getDuration();
      const length = ((this.surfer.getWidth() / this.surfer.getWrapper().clientWidth) * seconds) / 4;
      this.endSelecting = this.regions.enableDragSelection(LOOP);
      this.regions.addRegion({ ...LOOP, start: Math.max(0, Math.min(at, seconds - length)), end: Math.min(seconds, at + length) });
    } else {
      this.endSelecting();
      this.endSelecting = null;
      this.regions.clearRegions();
    }
    this.surfer.setOptions({ dragToSeek: !starts });
    return starts;
  }

  get loop() {
    return this.regions.getRegions()[0];
  }

  repeat() {
    this.surfer.setTime(this.loop.start);
    this.surfer.play();
  }

  /** Show or hide the spectrogram of what was drawn; returns whether it is shown. */
  async toggleSpectrogram() {
    if (this.spectrogram) this.surfer.unregisterPlugin(this.spectrogram);
    const shown = this.spectrogram ? null : (await this.loadSpectrogram()).create({ height: 160, labels: true, rendering: "windowed" });
    this.spectrogram = shown && this.surfer.registerPlugin(shown);
    return Boolean(shown);
  }
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  return { waveColor: style.getPropertyValue("--ink-3"), progressColor: style.getPropertyValue("--accent") };
}

/** Decode audio with the browser; returns the samples of each channel, fewer per second if it is long. */
export async function decodeChannels(address, seconds, signal) {
  const content = await (await fetchWithRetry(address, { signal })).arrayBuffer();
  const rate = Math.max(SAMPLE_RATES[0], Math.min(SAMPLE_RATES[1], MAX_SAMPLES / seconds));
  const audio = await new OfflineAudioContext(1, 1, rate).decodeAudioData(content);
  return Array.from({ length: audio.numberOfChannels }, (_, at) => audio.getChannelData(at));
}
