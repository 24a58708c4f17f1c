// A summary that replaces older steps for the model: a line that opens to its text and the steps.

import { h } from "../../core/dom.js";
import { formatNumber, formatSeconds, plural } from "../../core/format.js";
import { usageParts } from "../../core/run/totals.js";

const MAX_LINKS = 200;

/** Return the note that a summary is being written. */
export function createPendingSummary(event) {
  return h("p", { class: "remark" }, `The model summarises ${stepsOf(event)} to free up space in its context…`);
}

/** Return a summary, or why there is none; without its text it is only the line. */
export function createContextSummary(event, run) {
  if (event.reason)
    return h(
      "p",
      { class: "remark warn" },
      `${capitalised(stepsOf(event))} could not be summarised for the model: ${event.reason.replace(/([^.!?…])$/, "$1.")}`,
    );
  const tokens = `≈\u00a0${formatNumber(event.replaced_tokens)} → ${plural(event.summary_tokens, "token")}`;
  const line = `${capitalised(stepsOf(event))} were summarised for the model · ${tokens}`;
  if (!event.text) return h("p", { class: "remark" }, line);
  return h(
    "details",
    { class: "context-summary" },
    h("summary", { class: "num" }, line),
    h("p", { class: "about" }, "From here on the model sees this text in place of the steps, which stay in this run:"),
    h("p", { class: "replaced num" }, ...stepLinks(event, run)),
    h("div", { class: "text", dir: "auto" }, event.text),
    h("p", { class: "about num" }, ["The request for it", [...usageParts(event), `model ${formatSeconds(event.seconds)}`].join(" · ")].join(": ")),
  );
}

function stepsOf({ first_step: first, last_step: last }) {
  return first === last ? `step ${first}` : `steps ${first} to ${last}`;
}

const capitalised = (text) => text[0].toUpperCase() + text.slice(1);

function* stepLinks({ first_step: first, last_step: last }, run) {
  const end = Math.min(last, first + MAX_LINKS - 1);
  for (let step = first; step <= end; step += 1) {
    yield h("a", { class: "step-link", href: `?run=${run.id}#step-${step}`, "aria-label": `Step ${step}` }, String(step));
    yield " ";
  }
  if (end < last) yield `… ${last}`;
}
