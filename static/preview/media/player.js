// Helpers for audio, video and MIDI: reload with position, errors, controls.

import { h, setIcon } from "../../core/dom.js";
import { formatClock } from "../../core/format.js";
import { downloadLink, messageView, quietButton, signButton } from "../parts.js";

const SPEEDS = [0.5, 0.75, 1, 1.25, 1.5, 2];

/** The URL of the bytes for a media element, with range support for any file name. */
export const mediaUrl = (file) => file.address("files", {});

/** Load another version of the file into a media element; keep position and speed. */
export function reloadMedia(media, address) {
  const { currentTime, paused, playbackRate } = media;
  media.addEventListener(
    "loadedmetadata",
    () => {
      media.currentTime = Math.min(currentTime, media.duration || currentTime);
      media.playbackRate = playbackRate;
      if (!paused) media.play().catch(() => {});
    },
    { once: true },
  );
  media.src = address;
}

/** Recorded streams have no duration in the header: determine it. */
export function determineDuration(media) {
  media.addEventListener("loadedmetadata", () => {
    if (media.duration !== Infinity) return;
    const { currentTime } = media;
    media.addEventListener("durationchange", () => (media.currentTime = currentTime), { once: true });
    media.currentTime = 1e9;
  });
}

/** Stop a media element and release its file. */
export function unload(media) {
  media.pause();
  media.removeAttribute("src");
  media.load();
}

/** The message if the browser cannot play the file, with alternatives. */
export const playbackError = (file, what) =>
  messageView(
    `This browser cannot play ${what}: it may be corrupt, or in an unsupported format.`,
    downloadLink(file),
    quietButton("View as hex", () => file.preview.openAs("hex")),
  );

/**
 * The controls of what plays in `owner`, an element that takes its keys: Space plays, arrows seek by five
 * seconds, Home and End go to the ends. `actions` are `toggle()`, `seek(at)`, `now()`, `length()`,
 * `zoom(factor)`, `setRate(rate)` and `setVolume(volume)`; `more` are further controls.
 */
export class PlayerControls {
  constructor(owner, actions, { volume = 1, more = [] } = {}) {
    this.actions = actions;
    this.play = h("button", { class: "play", onclick: () => actions.toggle() });
    this.time = h("span", { class: "time num" });
    this.element = h(
      "div",
      { class: "row" },
      this.play,
      this.time,
      h("span", { class: "grow" }),
      signButton("−", "Zoom out", () => actions.zoom(0.67)),
      signButton("+", "Zoom in", () => actions.zoom(1.5)),
      ...more,
      speedSelect(actions.setRate),
      volumeSlider(actions.setVolume, volume),
    );
    this.showPlaying(false);
    owner.addEventListener("keydown", (event) => this.onKey(event));
  }

  showPlaying(playing) {
    setIcon(this.play, playing ? "pause" : "play", playing ? "Pause" : "Play");
  }

  showTime() {
    this.time.textContent = `${formatClock(this.actions.now())} / ${formatClock(this.actions.length())}`;
  }

  onKey(event) {
    if (event.target.closest("input, select, button") && event.key !== "Escape") return;
    const { toggle, seek, now, length } = this.actions;
    const to = { ArrowLeft: now() - 5, ArrowRight: now() + 5, Home: 0, End: length() }[event.key];
    if (event.key === " ") toggle();
    else if (to !== undefined) seek(Math.max(0, Math.min(length(), to)));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

function volumeSlider(set, start) {
  const slider = h("input", { type: "range", min: 0, max: 1, step: 0.05, value: start, "aria-label": "Volume", title: "Volume" });
  slider.addEventListener("input", () => set(Number(slider.value)));
  return slider;
}

function speedSelect(set) {
  const options = SPEEDS.map((each) => h("option", { value: each, selected: each === 1 }, `${each}×`));
  const choice = h("select", { "aria-label": "Speed", title: "Speed", onchange: () => set(Number(choice.value)) }, ...options);
  return choice;
}
