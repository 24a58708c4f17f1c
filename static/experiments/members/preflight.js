// The screen before an evaluation's first run: what was checked, what the runs take, and the go button.

import { h } from "../../core/dom.js";
import { formatNumber, formatSeconds, plural } from "../../core/format.js";

const LEVELS = { ok: "OK", warning: "Warning", problem: "Problem" };

/** An estimate in words; what is not known is left out, and its basis says why. */
export function estimateText({ runs, votes, prompt_tokens, generated_tokens, seconds, cost, basis }) {
  const parts = [plural(runs, "run")];
  if (votes) parts.push(`${plural(votes, "vote")} of the judge`);
  if (prompt_tokens !== null) parts.push(`about ${formatNumber(prompt_tokens)} prompt tokens`);
  if (generated_tokens !== null) parts.push(`${formatNumber(generated_tokens)} generated tokens`);
  if (seconds !== null) parts.push(formatSeconds(seconds));
  if (cost !== null) parts.push(`${cost.toFixed(2)} in the unit of the configured price`);
  return `${parts.join(", ")}. ${basis}`;
}

/** What departs from the preset; the table's foot says the same. */
const departuresOf = (departures) => [
  h("h3", {}, "Departures from the paper"),
  departures.length ? h("ul", { class: "departures" }, ...departures.map((text) => h("li", {}, text))) : h("p", {}, "None: all settings are the paper’s."),
];

/** The screen; `decide(true)` starts it, which is not offered while there is a problem. */
export function preflightScreen({ findings, estimate, preset, departures }, decide) {
  const broken = findings.some(({ level }) => level === "problem");
  const go = h("button", { class: "plain start", onclick: () => decide(true) }, `Start ${plural(estimate.runs, "run")}`);
  const row = ({ what, level, text }) => h("li", { class: level }, h("span", { class: "level" }, LEVELS[level]), h("b", {}, what), h("span", {}, text));
  return h(
    "section",
    { class: "preflight", "aria-label": "Before the first run" },
    h("h3", { tabindex: -1 }, "Before the first run"),
    h("ul", {}, ...findings.map(row)),
    h("h3", {}, "Estimate"),
    h("p", {}, estimateText(estimate)),
    ...(preset ? departuresOf(departures) : []),
    h(
      "div",
      { class: "end" },
      h("p", { role: "status" }, broken ? "Mend the problems first." : ""),
      h("button", { class: "plain", onclick: () => decide(false) }, "Back"),
      broken ? null : go,
    ),
  );
}
