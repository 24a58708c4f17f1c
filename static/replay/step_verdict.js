// The verdict of one replayed step: a badge, and what differs on demand.

import { h } from "../core/dom.js";
import { decodePath, plural } from "../core/format.js";
import { createVerdictBadge, wordsOf } from "./verdict.js";

/** Create the line of a step's verdict from its `step_verified` event. */
export function createStepVerdict(event) {
  const badge = createVerdictBadge(event.verdict);
  const details = [...describeDetails(event)];
  if (!details.length) return h("div", { class: "step-verdict" }, badge);
  const open = event.verdict === "differs";
  const summary = h("summary", {}, badge, h("span", { class: "dim" }, reasonOf(event)));
  return h("details", { class: "step-verdict", open }, summary, ...details);
}

/** Create the line of a step of which only the verdict is known. */
export const createShortVerdict = (verdict) => h("div", { class: "step-verdict" }, createVerdictBadge(verdict));

/** The worst reason in one line. */
function reasonOf({ verdict, calls, files, notes }) {
  const worst = [...calls, ...files].find((each) => each.verdict === verdict);
  const rules = [...calls, ...files].flatMap((each) => each.rules);
  if (verdict === "volatile") return [...new Set(rules)].join(", ");
  if (!worst) return notes[0] ?? "";
  return worst.path === undefined ? worst.reason : `${decodePath(worst.path)}: ${worst.reason}`;
}

function* describeDetails({ calls, files, total, notes }) {
  for (const note of notes) yield h("p", { class: "remark warn" }, note);
  calls.forEach((call, index) => {
    call.name = calls.length > 1 ? `Call ${index + 1}` : "The call";
  });
  for (const call of calls) if (call.verdict !== "same") yield* describeOne(call.name, call);
  for (const file of files) yield* describeOne(decodePath(file.path), file);
  if (total > files.length) yield h("p", { class: "remark" }, `And ${plural(total - files.length, "more path")}.`);
}

function* describeOne(name, { verdict, reason, rules, diff }) {
  const why = reason || rules.join(", ") || wordsOf(verdict).about;
  yield h("p", { class: "remark" }, h("b", { dir: "auto" }, name), `: ${why}`);
  if (diff) yield createDiff(diff);
}

/** Show a diff with its added and removed lines in colour; the text is foreign. */
function createDiff(diff) {
  const lines = diff.split("\n").filter((line) => !/^(---|\+\+\+) (recorded|replayed)$/.test(line));
  const shown = lines.map((line) => {
    const kind = { "+": "add", "-": "del", "@": "dim" }[line[0]];
    return h("span", { class: kind ?? null }, `${line}\n`);
  });
  const label = "Difference: recorded lines begin with −, replayed ones with +";
  return h("pre", { class: "verdict-diff", tabindex: "0", role: "group", "aria-label": label }, ...shown);
}
