// The strip under a step: a bar for each capability that it used. It opens to the details.

import { h } from "../core/dom.js";
import { CAPABILITIES, describe } from "./usage.js";

/** The strip of a step's usage; null if it used nothing, or if that is not known. */
export function createStepStrip(used) {
  const shown = CAPABILITIES.filter(({ key }) => used?.[key]);
  if (!shown.length) return null;
  const lines = [...describe(used)];
  const short = shown.map(({ key, label }) => `${label} (${used[key]})`).join(", ");
  return h(
    "details",
    { class: "step-capabilities" },
    h("summary", { "aria-label": `Used: ${short}`, title: lines.join("\n") }, ...shown.map(({ key }) => h("i", { class: `${key} ${used[key]}` }))),
    h("div", {}, ...lines.map((line) => h("p", {}, line))),
  );
}
