// States of a run: their words, their colours, and what a user can do next.

import assert from "node:assert/strict";
import test from "node:test";

const { stateLabel, stateTone, nextStepHint } = await import("../../../../static/core/run/run_states.js");

const TONES = {
  submitted: "good",
  answered: "good",
  failed: "bad",
  stopped: "idle",
  draft: "idle",
  step_limit: "warn",
  token_limit: "warn",
  budget_limit: "warn",
  time_limit: "warn",
};

test("only a run that submitted or answered is shown as a success", () => {
  for (const [state, tone] of Object.entries(TONES)) assert.equal(stateTone({ running: false, state }), tone, state);
});

test("a run that waits for its user or for the endpoint is marked while it works", () => {
  for (const state of ["retrying", "paused", "waiting_approval"]) assert.equal(stateTone({ running: true, state }), "warn");
  for (const state of ["thinking", "running_tool", "submitted"]) assert.equal(stateTone({ running: true, state }), "live");
});

test("every state has words, and an unknown one is shown as it is", () => {
  for (const state of Object.keys(TONES)) assert.doesNotMatch(stateLabel({ state }), /_/);
  assert.equal(stateLabel({ state: "newer_state" }), "newer_state");
  assert.equal(stateLabel({ state: "preparing_image", progress: 0.126 }), "preparing image 13%");
  assert.equal(stateLabel({ state: "queued", detail: "2nd in the queue; 3 runs work" }), "2nd in the queue");
});

test("after every end but a success the user reads what to do", () => {
  for (const [state, tone] of Object.entries(TONES)) if (state !== "draft") assert.equal(Boolean(nextStepHint(state)), tone !== "good", state);
});
