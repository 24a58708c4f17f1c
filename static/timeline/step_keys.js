// The keys j and k move the focus from step to step, and behind the last one to the end of the run.

import { currentRun } from "../core/event_stream.js";
import { isPresenting } from "../present/presenting.js";

const TYPING = "input, textarea, select, [contenteditable], dialog, [role=tree], .preview";

/** `timeline` is that of the page. */
export function mountStepKeys(timeline) {
  document.addEventListener("keydown", (event) => {
    const by = { j: 1, k: -1 }[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !currentRun.started || isPresenting()) return;
    if (document.querySelector("dialog[open]") || /** @type {Element} */ (event.target).closest?.(TYPING)) return;
    event.preventDefault();
    move(timeline, by);
  });
}

async function move(timeline, by) {
  const { steps, roundEnds } = timeline;
  const focused = document.activeElement?.closest(".step, .round-end");
  const count = steps.size;
  const at = focused ? Number(focused.getAttribute("data-step") ?? count + 1) : by > 0 ? 0 : count + 1;
  const to = Math.max(1, Math.min(at + by, roundEnds.at(-1) ? count + 1 : count));
  const place = to > count ? { part: "answer", round: roundEnds.length } : { part: "step", step: to };
  (await timeline.goTo(place))?.focus({ preventScroll: true });
}
