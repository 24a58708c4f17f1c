// Opens the inspector, which is loaded when it is first needed, from a step or by the key “i”.

import { currentRun, whileShown } from "../core/event_stream.js";

/** Open the inspector of a run by id at a step; `page` is request, response or run. */
export const openRequests = (run, step, page) =>
  whileShown(import("./inspector.js"), "inspector/inspector.css", ({ openInspector }) => openInspector({ run, step, page }));

/** Open the current run at the step with the focus, else the step in view. */
export function openRequestInView() {
  const thread = document.querySelector(".timeline .thread");
  const { left, top, height } = thread.getBoundingClientRect();
  const elements = [document.activeElement, ...document.elementsFromPoint(left + 60, top + height / 2)];
  const step = elements.map((each) => each?.closest?.(".step")).find(Boolean);
  return openRequests(currentRun.id, Number(step?.id.slice(5)) || currentRun.step || 1);
}

/** Listen to the key “i” outside of fields and dialogs. */
export function mountInspectorKey() {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "i" || event.ctrlKey || event.metaKey || event.altKey || !currentRun.started) return;
    if (document.querySelector("dialog[open]") || /** @type {Element} */ (event.target).closest?.("input, textarea, select, [contenteditable], [role=dialog]"))
      return;
    event.preventDefault();
    openRequestInView();
  });
}
