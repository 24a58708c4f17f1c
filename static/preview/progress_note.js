// Shows a progress message with elapsed time for slow operations only.

import { h } from "../core/dom.js";

const DELAY_MS = 150; // ms
const SHOW_SECONDS_MS = 2000; // ms after which the seconds are shown

/**
 * Call `show(note)` with an element once an operation exceeds the threshold.
 * Returns a function that ends it; `show` is not called afterwards.
 */
export function showProgress(verb, show) {
  const began = performance.now();
  const seconds = h("span", { class: "num", "aria-hidden": "true" });
  const note = h("span", { class: "waiting", role: "status" }, `${verb}…`, seconds);
  let timer = setTimeout(() => {
    show(note);
    timer = setInterval(count, 250);
  }, DELAY_MS);
  const count = () => {
    const elapsed = performance.now() - began;
    if (elapsed >= SHOW_SECONDS_MS) seconds.textContent = ` ${Math.floor(elapsed / 1000)} s`;
  };
  return () => {
    clearTimeout(timer);
    clearInterval(timer);
    note.remove();
  };
}
