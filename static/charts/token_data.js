// The tokens of a run by step, read in parts, as the columns of a chart and as text.

import { apiUrl } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { formatCount, formatNumber } from "../core/format.js";

export const NOT_REPORTED = "not reported";

/** What a step's tokens consist of, from the bottom of its bar to the top. */
export const PARTS = [
  { key: "cached", label: "Prompt, from the cache", short: "From cache", help: "Tokens of the prompt that the endpoint read from its cache." },
  { key: "fresh", label: "Prompt, not cached", short: "New prompt", help: "The rest of the prompt: the task, and what the endpoint read again." },
  { key: "environment", label: "Environment", short: "Environment", help: "Tokens that came from the sandbox or the loop since the last answer." },
  { key: "generated", label: "Generated", short: "Generated", help: "Tokens that the model wrote, including its reasoning." },
];

/** The parts of a step's bar, prompt and answer; null if its usage is unknown. The environment's tokens are new: only a retry finds them cached. */
export function partsOf({ prompt, cached, environment, generated }) {
  if (prompt === null) return null;
  const fromCache = Math.min(cached ?? 0, prompt);
  const fromEnvironment = Math.min(environment ?? 0, prompt - fromCache);
  return { cached: fromCache, fresh: prompt - fromCache - fromEnvironment, environment: fromEnvironment, generated: generated ?? 0 };
}

/** The tokens of one run; `load` reads what is new. */
export class TokenData {
  constructor(run) {
    this.run = run;
    this.steps = [];
    this.info = null; // everything else of the response
  }

  /** Read the steps that are new or were not answered yet; return whether anything changed. */
  async load() {
    const open = this.steps.findIndex(({ prompt }) => prompt === null);
    // The last step may still be running; an earlier one without usage never gets any.
    const after = open >= 0 && open === this.steps.length - 1 ? open : this.steps.length;
    const { steps, ...info } = await fetchJson(apiUrl(`runs/${this.run}/tokens?after=${after}`));
    const changed = JSON.stringify([info, steps]) !== this.seen;
    this.seen = JSON.stringify([info, steps]);
    this.info = info;
    this.steps.splice(after, this.steps.length - after, ...steps);
    return changed;
  }

  get unknown() {
    return this.steps.filter(({ prompt }) => prompt === null).length;
  }

  /** The largest bar. */
  get peak() {
    return this.steps.reduce((peak, { prompt, generated }) => Math.max(peak, (prompt ?? 0) + (generated ?? 0)), 0);
  }

  /** All prompts and answers together, the last point of the line. */
  get sum() {
    return this.steps.reduce((sum, { prompt, generated }) => sum + (prompt ?? 0) + (generated ?? 0), 0);
  }

  /** The columns of the chart: step numbers, the parts stacked, and all tokens up to each step. */
  columns() {
    const stacked = PARTS.map(() => []);
    const sums = [];
    let sum = 0;
    for (const step of this.steps) {
      const parts = partsOf(step);
      let height = 0;
      PARTS.forEach(({ key }, at) => stacked[at].push(parts && (height += parts[key])));
      sums.push(parts ? (sum += height) : null);
    }
    return [this.steps.map(({ step }) => step), stacked, sums];
  }
}

/** A count as text: ≈ marks an estimate, a missing one is named. */
export function countText(count, { estimated = false, exact = false } = {}) {
  if (count === null || count === undefined) return NOT_REPORTED;
  return `${estimated ? "≈ " : ""}${exact ? formatNumber(count) : formatCount(count)}`;
}

/** The totals of a run as [name, text, help]; a sum that lacks some steps says so. */
export function totalsOf({ totals, cost }) {
  const sum = (key) => {
    const { [key]: missing } = totals.missing;
    const text = countText(totals[key], { estimated: totals.estimated, exact: true });
    return missing ? `at least ${text}` : text;
  };
  const rows = [
    ["All prompts", sum("prompt"), "Each prompt repeats the conversation so far: this is what the endpoint read, summed over the steps."],
    ["of it from the cache", sum("cached"), "Read from the endpoint's cache."],
    ["of it written to the cache", sum("cache_written"), "Written to the endpoint's cache, which some endpoints charge for."],
    ["Generated", sum("generated"), "Written by the model."],
    ["of it reasoning", sum("reasoning"), "The part of the answers that is reasoning."],
    ["Environment", sum("environment"), "From the sandbox and the loop: outputs of commands, files, reminders."],
    ["Each token once", sum("once"), "The first prompt, all answers and what came in between, each token once (the paper's N_total)."],
    ["Largest prompt", sum("largest_prompt"), "The longest conversation that was sent."],
  ];
  if (cost !== null) rows.push(["Cost", cost.toFixed(4), "In the unit of the configured price."]);
  return rows;
}
