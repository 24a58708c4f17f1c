// What takes its time says so, and for how long; what is quick says nothing.

import { h } from "../dom.js";

const QUICK = 150; // ms
const COUNTED = 2000; // ms from which on the seconds are told

/**
 * Call `say(words)` with an element once something takes more than a moment.
 * Returns what ends it; `say` is not called any more then.
 */
export function waiting(verb, say) {
  const began = performance.now();
  const seconds = h("span", { class: "num", "aria-hidden": "true" });
  const words = h("span", { class: "waiting", role: "status" }, `${verb} …`, seconds);
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
