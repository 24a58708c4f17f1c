// The figures of steps, from the run's state and from its events, and their sums.

import assert from "node:assert/strict";
import test from "node:test";

const { StepFigures } = await import("../../../static/playback/figures.js");

const used = (key) => ({ external: null, file: null, compute: null, [key]: "parsed", paper: [], programs: [], hosts: [], packages: [], written: 0 });
const summary = (step, options) => ({ step, began: 10 * step, model_seconds: 2, calls: [], usage: null, estimated: false, used: null, ...options });

test("a step's duration is the model's and the sandbox's time", () => {
  const figures = new StepFigures();
  const calls = [
    { ok: true, seconds: 1 },
    { ok: false, seconds: 3 },
  ];
  figures.addSummary(summary(1, { calls, used: used("compute") }));
  assert.deepEqual([figures.of(1).seconds, figures.of(1).failed, figures.of(1).used.compute], [6, true, "parsed"]);
  assert.deepEqual([figures.count, figures.ended], [1, 1]);
});

test("events add up to the same figures as the summary", () => {
  const figures = new StepFigures();
  const events = [
    { kind: "step_started", step: 1, at: 10 },
    { kind: "model_answered", step: 1, seconds: 2, usage: { prompt: 100, generated: 10 }, estimated: true },
    { kind: "tool_ended", step: 1, ok: true, seconds: 1, used: used("compute") },
    { kind: "workspace_changed", step: 1, total: 2 },
    { kind: "text_delta", step: 9 },
  ];
  const changed = events.map((event) => figures.apply(event)?.step ?? null);
  assert.deepEqual(changed, [1, 1, 1, 1, null]);
  assert.equal(figures.ended, 0);
  figures.apply({ kind: "step_ended", step: 1 });
  const { seconds, used: both } = figures.of(1);
  assert.deepEqual([figures.ended, seconds, both.compute, both.file, both.written], [1, 3, "parsed", "observed", 2]);
});

test("totals are those of the steps so far, and what is not known is not 0", () => {
  const figures = new StepFigures();
  figures.addSummary(summary(1, { usage: { prompt: 100, generated: 10, cached: 5 } }));
  figures.addSummary(summary(2));
  figures.addSummary(summary(3, { usage: { prompt: 200, generated: 20, cached: 90 }, estimated: true }));
  const totals = figures.totalsUntil(2);
  assert.deepEqual([totals.prompt_tokens, totals.cached_tokens, totals.estimated, totals.model_seconds, totals.cost], [100, 5, false, 4, null]);
  assert.deepEqual(figures.contextAt(2), { tokens: 110, estimated: false });
  assert.deepEqual([figures.totalsUntil(3).prompt_tokens, figures.totalsUntil(3).peak_context, figures.secondsUntil(3)], [300, 220, 6]);
  assert.equal(new StepFigures().contextAt(0), null);
});

test("a summary of older steps counts in the step that needed it", () => {
  const ended = { kind: "summary_ended", step: 1, usage: { prompt: 80, generated: 8 }, estimated: false, seconds: 3 };
  const fromEvents = new StepFigures();
  const usage = { prompt: 100, generated: 10 };
  for (const event of [{ kind: "step_started", step: 1, at: 10 }, ended, { kind: "model_answered", step: 1, seconds: 2, usage }]) fromEvents.apply(event);
  const fromSummary = new StepFigures();
  fromSummary.addSummary(summary(1, { usage, summaries: [ended] }));
  for (const figures of [fromEvents, fromSummary]) {
    const totals = figures.totalsUntil(1);
    assert.deepEqual([totals.prompt_tokens, totals.generated_tokens, totals.peak_context, totals.model_seconds], [180, 18, 110, 5]);
    assert.equal(figures.secondsUntil(1), 5);
  }
});
