// Presentation: large type, no composer, the result as large as it goes. The key p begins it, Escape ends it.

import { h, iconButton, loadStyles, waitForElement } from "../core/dom.js";
import { emit, on, currentRun } from "../core/event_stream.js";
import { returnFocus } from "../core/widgets/dialog.js";
import { isPresenting } from "./presenting.js";

const root = document.documentElement;
const TYPING = "input, textarea, select, [contenteditable], dialog";
const PRESSED_BY_SPACE = "button, a, summary, audio, video";

/** What keys do on stage, those of a presenter's remote among them. */
const ACTIONS = {
  ArrowRight: "next",
  PageDown: "next",
  ArrowLeft: "previous",
  PageUp: "previous",
  " ": "play",
  r: "result",
  b: "blank",
  ".": "blank",
  p: "end",
  Escape: "end",
};
const OF_A_RUN = new Set(["next", "previous", "play", "result"]); // other views scroll by these keys

let left = null; // what had the focus before
let isLeaving = false; // whether the page itself leaves full screen
let changing = Promise.resolve(); // into full screen or out of it
let wanted = false; // whether p was the last key, before what is being opened is there

/** Begin or end the presentation of what is shown. */
async function togglePresentation(begin = !isPresenting()) {
  if (begin === isPresenting()) return;
  if (begin) await loadStyles("present/present.css");
  measureScreen();
  root.toggleAttribute("data-presenting", begin);
  for (const name of ["blank", "resultAlone", "stage"]) delete root.dataset[name];
  if (begin) leaveFocus();
  else returnFocus(left);
  fillScreen();
  emit("presenting", begin);
}

/** Give the style sheet the window's height in px, which every browser enlarges with zoom; WebKit does not enlarge vh. */
function measureScreen() {
  root.style.setProperty("--screen", `${innerHeight}px`);
}
addEventListener("resize", () => isPresenting() && measureScreen());

function leaveFocus() {
  left = document.activeElement;
  /** @type {HTMLElement} */ (left)?.blur?.();
}

/** Fill the screen while something is presented, where the browser allows it: one change after the other. */
function fillScreen() {
  changing = changing.then(changeScreen).catch(() => {}); // the page stays as it is
}

async function changeScreen() {
  const fill = isPresenting();
  if (fill === Boolean(document.fullscreenElement) || !root.requestFullscreen) return;
  const changed = new Promise((resolve) => document.addEventListener("fullscreenchange", resolve, { once: true }));
  isLeaving = !fill;
  await (fill ? root.requestFullscreen() : document.exitFullscreen());
  await changed; // its promise may come first
  isLeaving = false;
}

/** Who leaves full screen ends the presentation; when the page does, another one may have begun. */
document.addEventListener("fullscreenchange", () => document.fullscreenElement || isLeaving || togglePresentation(false));

/** Whether there is something to present. */
const presentable = () => currentRun.started || Boolean(root.dataset.view);

document.addEventListener(
  "keydown",
  (event) => {
    wanted = false;
    if (document.querySelector("dialog[open]") || !isPlain(event)) return;
    const { key } = event;
    const target = /** @type {Element} */ (event.target);
    if (isPresenting()) {
      if (!actOn(key, target)) return;
    } else if (key === "p" && !target.closest?.(TYPING)) {
      wanted = true;
      presentWanted();
    } else return;
    event.preventDefault();
    event.stopImmediatePropagation(); // Escape would stop the run
  },
  true,
);

/** Do what a key does on stage; return whether it does anything. */
function actOn(key, target) {
  const action = Object.hasOwn(ACTIONS, key) ? ACTIONS[key] : "";
  if (!action || target.closest?.(TYPING) || (key === " " && target.closest?.(PRESSED_BY_SPACE))) return false;
  if (root.dataset.view && OF_A_RUN.has(action)) return false;
  if ("blank" in root.dataset || action === "blank") root.toggleAttribute("data-blank");
  else if (action === "end") togglePresentation(false);
  else if (action === "result") root.toggleAttribute("data-result-alone");
  else emit("stage", action);
  return true;
}

const isPlain = ({ ctrlKey, metaKey, altKey, isComposing }) => !ctrlKey && !metaKey && !altKey && !isComposing;

/** Present what p was pressed for, once there is something to present. */
function presentWanted() {
  if (!wanted || !presentable()) return;
  wanted = false;
  togglePresentation(true);
}

document.addEventListener("pointerdown", () => (wanted = false), true);
for (const name of ["update", "view"]) on(name, presentWanted);
on("present", () => togglePresentation());
on("reset", () => presentable() || togglePresentation(false));

// Out of the presentation by pointer, and what the keys do for who has not read about them.
const end = iconButton("close", "End the presentation (Escape)", () => togglePresentation(false), { class: "quiet end-presentation" });
const keys = h("span", { class: "stage-keys", "aria-hidden": "true" }, "← → step · space plays · r result · b blank · Esc ends");
waitForElement(".app-header").then((header) => header.append(keys, end));
