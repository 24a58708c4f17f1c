// Presentation: large type, no composer, the result fills the screen. The key p begins it, Escape ends it.

import { loadStyles } from "../core/dom.js";
import { emit, on, currentRun } from "../core/event_stream.js";

const root = document.documentElement;
const TYPING = "input, textarea, select, [contenteditable], dialog";

const isPresenting = () => "presenting" in root.dataset;

/** Begin or end the presentation of what is shown. */
function togglePresentation(begin = !isPresenting()) {
  if (begin === isPresenting()) return;
  if (begin) loadStyles("header/present.css");
  if (begin) root.dataset.presenting = "";
  else delete root.dataset.presenting;
  if (begin && document.activeElement?.matches("input, textarea")) /** @type {HTMLElement} */ (document.activeElement).blur();
  fillScreen(begin);
  emit("presenting", begin);
}

/** Fill the screen where the browser allows it; leaving full screen ends the presentation, too. */
function fillScreen(begin) {
  if (begin && !document.fullscreenElement)
    root.requestFullscreen?.().catch(() => {}); // the page stays as it is
  else if (!begin && document.fullscreenElement) document.exitFullscreen();
}

document.addEventListener("fullscreenchange", () => document.fullscreenElement || togglePresentation(false));

/** Whether there is something to present. */
const presentable = () => currentRun.started || Boolean(root.dataset.view);

document.addEventListener(
  "keydown",
  (event) => {
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && isPresenting()) togglePresentation(false);
    else if (event.key === "p" && isPlain(event) && presentable() && !(/** @type {Element} */ (event.target).closest?.(TYPING))) togglePresentation();
    else return;
    event.preventDefault();
    event.stopImmediatePropagation(); // Escape would stop the run
  },
  true,
);

const isPlain = ({ ctrlKey, metaKey, altKey, isComposing }) => !ctrlKey && !metaKey && !altKey && !isComposing;

/** Mark that the run has ended: then its result is presented instead of its steps. */
on("update", () => root.toggleAttribute("data-ended", currentRun.started && !currentRun.running));
on("present", () => togglePresentation());
on("reset", () => {
  root.removeAttribute("data-ended");
  if (!presentable()) togglePresentation(false);
});
