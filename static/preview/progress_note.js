// Shows a progress message with elapsed time for slow operations only.

import { h } from "../core/dom.js";

const QUICK = 150; // ms
const COUNTED = 2000; // ms after which the seconds are shown

/**
 * Call `say(words)` with an element once an operation exceeds the threshold.
 * Returns a function that ends it; `say` is not called afterwards.
 */
export function waiting(verb, say) {
  const began = performance.now();
  const seconds = h("span", { class: "num", "aria-hidden": "true" });
  const words = h("span", { class: "waiting", role: "status" }, `${verb}…`, seconds);
  let timer = setTimeout(() => {
    say(words);
    timer = setInterval(count, 250);
  }, QUICK);
  const count = () => {
    const passed = performance.now() - began;
    if (passed >= COUNTED) seconds.textContent = ` ${Math.floor(passed / 1000)} s`;
  };
  return () => {
    clearTimeout(timer);
    clearInterval(timer);
    words.remove();
  };
}
