// Usage totals of a run, in the header of the timeline.

import { h } from "../core/dom.js";
import { bytes, count, number, seconds } from "../core/format.js";
import { session } from "../core/session.js";

/**
 * Show the totals in `place`.
 *
 * `limit` is the last step of the round, `context` the length of the conversation in the last
 * turn: { tokens, estimated }, or null if unknown.
 */
export function showTotals(place, limit, context) {
  const parts = [...figures(limit, context)];
  const shown = (quiet) => parts.filter((part) => Boolean(part.quiet) === quiet).map((part) => h("span", {}, ...part.words));
  place.replaceChildren(h("div", {}, ...shown(false)), h("div", { class: "hide-s" }, ...shown(true)));
}

function* figures(limit, context) {
  const { totals, metered } = session.head;
  const steps = session.step;
  const most = limit ? h("span", { class: "dim" }, session.alive ? ` of ${number(limit)}` : ` (limit ${number(limit)})`) : null;
  if (session.alive && !steps) return;
  if (session.alive) yield { words: ["step ", h("b", {}, number(steps)), most].filter(Boolean) };
  else yield { words: [h("b", {}, number(steps)), steps === 1 ? " step" : " steps", most].filter(Boolean) };
  if (!metered && !totals.prompt_tokens) yield { words: ["scripted, no tokens"] };
  else if (totals.prompt_tokens) yield* tokens(totals, context);
  if (totals.model_seconds + totals.sandbox_seconds >= 0.1) {
    yield { words: ["model ", h("b", {}, seconds(totals.model_seconds))], quiet: true };
    yield { words: ["sandbox ", h("b", {}, seconds(totals.sandbox_seconds))], quiet: true };
  }
  if (totals.peak_memory) yield { words: ["memory ", h("b", {}, bytes(totals.peak_memory))], quiet: true };
  if (totals.cost !== null) yield { words: ["cost ", h("b", {}, totals.cost.toFixed(3))] };
}

function* tokens(totals, context) {
  const bold = (n) => figure(n, totals.estimated);
  const parts = [[totals.cached_tokens, "cached"], [totals.cache_written_tokens, "written to cache"]];
  const told = parts.filter(([n]) => n).map(([n, what]) => `${count(n)} ${what}`).join(", ");
  const cached = told ? h("span", { class: "dim" }, ` (${told})`) : null;
  yield { words: [bold(totals.prompt_tokens), " tokens in", cached].filter(Boolean) };
  yield { words: [bold(totals.generated_tokens), " out"] };
  if (totals.environment_tokens) yield { words: [bold(totals.environment_tokens), " tool-output tokens"] };
  if (context) yield { words: [...contextNow(context)] };
  yield { words: ["longest prompt ", bold(totals.peak_context)], quiet: true };
}

const figure = (n, estimated) => h("b", { title: number(n) }, (estimated ? "≈ " : "") + count(n));

/** The length of the conversation and its limit, with a bar. */
function* contextNow({ tokens: used, estimated }) {
  const most = session.limits.conversation_tokens;
  yield "context ";
  yield figure(used, estimated);
  if (!most) return;
  yield h("span", { class: "dim" }, ` of ${count(most)}`);
  const share = Math.min(1, used / most);
  yield h("span", {
    class: `context ${share >= 0.9 ? "full" : share >= 0.7 ? "near" : ""}`, role: "meter", "aria-label": "Context",
    "aria-valuemin": "0", "aria-valuemax": String(most), "aria-valuenow": String(Math.min(used, most)),
    "aria-valuetext": `${number(used)} of ${number(most)} tokens`, title: `${Math.round(100 * share)}% of the context limit`,
  }, h("i", { style: `width: ${(100 * share).toFixed(1)}%` }));
}

/** A step's usage as text; empty if the endpoint did not report it. */
export function* usageOf({ usage, estimated }) {
  if (!usage) return;
  const about = estimated ? "≈ " : "";
  const cached = usage.cached ? ` (${number(usage.cached)} cached)` : "";
  yield `${about}${number(usage.prompt)} in${cached}`;
  yield `${about}${number(usage.generated)} out`;
}
