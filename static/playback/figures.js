// What the page knows of each step: its duration, what it used, whether something failed, its tokens.

import { combine, NOTHING_USED, withWritten } from "../capabilities/usage.js";

export class StepFigures {
  constructor() {
    this.reset();
  }

  reset() {
    this.steps = []; // step n is at n - 1
    this.ended = 0; // the number of steps that have ended
  }

  get count() {
    return this.steps.length;
  }

  of(step) {
    return this.steps[step - 1];
  }

  /** Take in a step's summary from the run's state. */
  addSummary(summary) {
    const step = this.#begin(summary.step, summary.began);
    Object.assign(step, { modelSeconds: summary.model_seconds, usage: summary.usage, estimated: summary.estimated, used: summary.used });
    for (const each of summary.summaries ?? []) addContextSummary(step, each);
    step.seconds = stepSeconds(step);
    for (const call of summary.calls) this.#addCall(step, call);
    this.ended = summary.step;
    return step;
  }

  /** Take in an event; return the step that it changed, if any. */
  apply(event) {
    if (event.kind === "step_started") return this.#begin(event.step, event.at);
    const step = this.of(event.step);
    if (!step) return null;
    if (event.kind === "model_answered") Object.assign(step, { modelSeconds: event.seconds, usage: event.usage, estimated: event.estimated });
    else if (event.kind === "summary_ended") addContextSummary(step, event);
    else if (event.kind === "tool_ended") {
      step.used = combine(step.used, event.used);
      this.#addCall(step, event);
    } else if (event.kind === "workspace_changed") step.used = withWritten(step.used, event.total);
    else if (event.kind === "step_ended") {
      if (!step.calls) step.used ??= NOTHING_USED;
      this.ended = event.step;
    } else return null;
    step.seconds = stepSeconds(step);
    return step;
  }

  /** The seconds that the steps up to one took. */
  secondsUntil(step) {
    return this.steps.slice(0, step).reduce((sum, each) => sum + each.seconds, 0);
  }

  /** The totals of a run as of a step, as in its status; what only the server knows is left out. */
  totalsUntil(step) {
    const totals = {
      prompt_tokens: 0,
      cached_tokens: 0,
      cache_written_tokens: 0,
      generated_tokens: 0,
      environment_tokens: 0,
      peak_context: 0,
      estimated: false,
      model_seconds: 0,
      sandbox_seconds: 0,
      cost: null,
      peak_memory: null,
    };
    for (const { usage, estimated, modelSeconds, sandboxSeconds, summaries, summarySeconds } of this.steps.slice(0, step)) {
      totals.model_seconds += modelSeconds + summarySeconds;
      totals.sandbox_seconds += sandboxSeconds;
      for (const each of summaries) addUsage(totals, each.usage, each.estimated);
      if (!usage) continue;
      addUsage(totals, usage, estimated);
      totals.peak_context = Math.max(totals.peak_context, usage.prompt + usage.generated);
    }
    return totals;
  }

  /** The length of the conversation in the last turn up to a step, or null. */
  contextAt(step) {
    const known = this.steps.slice(0, step).findLast(({ usage }) => usage);
    return known ? { tokens: known.usage.prompt + known.usage.generated, estimated: known.estimated } : null;
  }

  #begin(number, began) {
    const step = {
      step: number,
      began,
      seconds: 0,
      modelSeconds: 0,
      sandboxSeconds: 0,
      calls: 0,
      used: null,
      failed: false,
      usage: null,
      estimated: false,
      summaries: [],
      summarySeconds: 0,
    };
    this.steps[number - 1] = step;
    return step;
  }

  #addCall(step, { ok, seconds }) {
    step.calls += 1;
    step.failed ||= !ok;
    step.sandboxSeconds += seconds;
    step.seconds = stepSeconds(step);
  }
}

const stepSeconds = ({ modelSeconds, sandboxSeconds, summarySeconds }) => modelSeconds + sandboxSeconds + summarySeconds;

/** Add a request for a summary of older steps, which was made before a step's turn. */
function addContextSummary(step, { usage, estimated, seconds }) {
  step.summarySeconds += seconds;
  if (usage) step.summaries.push({ usage, estimated });
}

function addUsage(totals, usage, estimated) {
  totals.prompt_tokens += usage.prompt;
  totals.cached_tokens += usage.cached ?? 0;
  totals.cache_written_tokens += usage.cache_written ?? 0;
  totals.generated_tokens += usage.generated;
  totals.estimated ||= Boolean(estimated);
}
