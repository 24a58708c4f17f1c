// Usage totals of a run, in the header of the timeline.

import { h } from "../dom.js";
import { formatBytes, formatCount, formatNumber, formatSeconds, plural } from "../format.js";

/** Show a run's totals; `limit` is the last step of the round, `context` the length of the conversation in the last turn, { tokens, estimated }, or null. */
export function showTotals(container, run, limit, context) {
  const parts = [...figures(run, limit, context)];
  const spans = (quiet) => parts.filter((part) => Boolean(part.quiet) === quiet).map((part) => h("span", {}, ...part.content));
  container.replaceChildren(h("div", {}, ...spans(false)), h("div", { class: "hide-small" }, ...spans(true)));
}

function* figures(run, limit, context) {
  const { totals, metered } = run.status;
  const steps = run.step;
  const limitText = limit ? h("span", { class: "dim" }, run.running ? ` of ${formatNumber(limit)}` : ` (limit ${formatNumber(limit)})`) : null;
  if (run.running && !steps) return;
  if (run.running) yield { content: ["step ", h("b", {}, formatNumber(steps)), limitText].filter(Boolean) };
  else yield { content: [h("b", {}, formatNumber(steps)), steps === 1 ? " step" : " steps", limitText].filter(Boolean) };
  if (run.forked) yield { content: [copiedFigures(run.forked)] };
  if (!metered && !totals.prompt_tokens) yield { content: ["scripted, no tokens"] };
  else if (totals.prompt_tokens) yield* tokens(run, context);
  if (totals.model_seconds + totals.sandbox_seconds >= 0.1) {
    yield { content: ["model ", h("b", {}, formatSeconds(totals.model_seconds))], quiet: true };
    yield { content: ["sandbox ", h("b", {}, formatSeconds(totals.sandbox_seconds))], quiet: true };
  }
  if (totals.peak_memory) yield { content: ["memory ", h("b", {}, formatBytes(totals.peak_memory))], quiet: true };
  if (totals.cost !== null) yield { content: ["cost ", h("b", {}, totals.cost.toFixed(3))] };
}

/** What a fork did not do itself: the steps of its parent, which the figures include. */
function copiedFigures({ step, totals }) {
  const spent = totals.prompt_tokens ? `, ${plural(totals.prompt_tokens, "token")} in, ${formatNumber(totals.generated_tokens)} out` : "";
  return h(
    "span",
    { class: "dim", title: `Included in these figures, and spent by the run that was forked: ${plural(step, "step")}${spent}` },
    `of it copied ${formatNumber(step)}`,
  );
}

function* tokens(run, context) {
  const { totals } = run.status;
  const bold = (n) => figure(n, totals.estimated);
  const parts = [
    [totals.cached_tokens, "cached"],
    [totals.cache_written_tokens, "written to cache"],
  ];
  const details = parts
    .filter(([n]) => n)
    .map(([n, label]) => `${formatCount(n)} ${label}`)
    .join(", ");
  const cached = details ? h("span", { class: "dim" }, ` (${details})`) : null;
  yield { content: [bold(totals.prompt_tokens), " tokens in", cached].filter(Boolean) };
  yield { content: [bold(totals.generated_tokens), " out"] };
  if (totals.environment_tokens) yield { content: [bold(totals.environment_tokens), " tool-output tokens"] };
  if (context) yield { content: [...contextMeter(run, context)] };
  yield { content: ["longest prompt ", bold(totals.peak_context)], quiet: true };
}

const figure = (n, estimated) => h("b", { title: formatNumber(n) }, (estimated ? "≈ " : "") + formatCount(n));

/** The length of the conversation and its limit, with a bar. */
function* contextMeter(run, { tokens: used, estimated }) {
  const limit = run.limits.conversation_tokens;
  yield "context ";
  yield figure(used, estimated);
  if (!limit) return;
  yield h("span", { class: "dim" }, ` of ${formatCount(limit)}`);
  const share = Math.min(1, used / limit);
  yield h(
    "span",
    {
      class: `context ${share >= 0.9 ? "full" : share >= 0.7 ? "nearly-full" : ""}`,
      role: "meter",
      "aria-label": "Context",
      "aria-valuemin": "0",
      "aria-valuemax": String(limit),
      "aria-valuenow": String(Math.min(used, limit)),
      "aria-valuetext": `${formatNumber(used)} of ${plural(limit, "token")}`,
      title: `${Math.round(100 * share)}% of the context limit`,
    },
    h("i", { style: `width: ${(100 * share).toFixed(1)}%` }),
  );
}

/** A step's usage as text; empty if the endpoint did not report it. */
export function* usageParts({ usage, estimated }) {
  if (!usage) return;
  const prefix = estimated ? "≈ " : "";
  const cached = usage.cached ? ` (${formatNumber(usage.cached)} cached)` : "";
  yield `${prefix}${formatNumber(usage.prompt)} in${cached}`;
  yield `${prefix}${formatNumber(usage.generated)} out`;
}
