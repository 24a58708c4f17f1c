// Helpers for audio, video and MIDI: reload with position, errors, play button, keys.

import { h, icon, setIcon } from "../../core/dom.js";

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

/** The message if the browser cannot play the file, with alternatives. */
export function playbackError(file, what) {
  const hex = h("button", { class: "quiet", onclick: () => file.preview.openAs("hex") }, "View as hex");
  return h(
    "div",
    { class: "message", role: "status" },
    icon("file"),
    h("p", {}, `This browser cannot play ${what}: it may be corrupt, or in an unsupported format.`),
    h("div", {}, h("a", { class: "quiet", href: file.address("files", {}), download: file.name }, "Download"), hex),
  );
}

/** Play/pause button with an icon. */
export function playButton(onclick) {
  const button = h("button", { class: "play", onclick });
  button.show = (playing) => {
    setIcon(button, playing ? "pause" : "play", playing ? "Pause" : "Play");
  };
  button.show(false);
  return button;
}

/** Button that calls `zoom` with a factor. */
export function zoomButton(isIn, zoom) {
  const label = isIn ? "Zoom in" : "Zoom out";
  return h("button", { class: "quiet icon-button", "aria-label": label, title: label, onclick: () => zoom(isIn ? 1.5 : 0.67) }, isIn ? "+" : "−");
}

export function volumeSlider(set, start = 1) {
  const slider = h("input", { type: "range", min: 0, max: 1, step: 0.05, value: start, "aria-label": "Volume", title: "Volume" });
  slider.addEventListener("input", () => set(Number(slider.value)));
  return slider;
}

export function speedSelect(set) {
  const choice = h(
    "select",
    { "aria-label": "Speed", title: "Speed" },
    ...SPEEDS.map((each) => h("option", { value: each, selected: each === 1 }, `${each}×`)),
  );
  choice.addEventListener("change", () => set(Number(choice.value)));
  return choice;
}

/** Space plays, arrows seek by five seconds, Home and End go to the ends. */
export function addMediaKeys(element, { toggle, seek, now, length }) {
  element.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, button") && event.key !== "Escape") return;
    const to = { ArrowLeft: now() - 5, ArrowRight: now() + 5, Home: 0, End: length() }[event.key];
    if (event.key === " ") toggle();
    else if (to !== undefined) seek(Math.max(0, Math.min(length(), to)));
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}
