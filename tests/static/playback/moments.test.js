// Where the keys go within a step.

import assert from "node:assert/strict";
import test from "node:test";

const { hasFiles, momentsOf, neighbour } = await import("../../../static/playback/moments.js");

const EVENTS = [
  { kind: "step_started" },
  { kind: "text_delta" },
  { kind: "text_delta" },
  { kind: "call_delta", index: 0 },
  { kind: "call_delta", index: 1 },
  { kind: "model_answered" },
  { kind: "tool_output", call_id: "a" },
  { kind: "tool_output", call_id: "a" },
  { kind: "tool_ended", call_id: "a" },
  { kind: "workspace_changed" },
  { kind: "step_ended" },
];

test("successive pieces of one text are one moment, and the end of a step is the step", () => {
  assert.deepEqual(momentsOf(EVENTS), [2, 3, 4, 5, 7, 8, 9]);
  assert.deepEqual(momentsOf([]), []);
});

test("the keys go from moment to moment, and out of the step", () => {
  assert.equal(neighbour([2, 5], -1, 1), 2);
  assert.equal(neighbour([2, 5], 2, 1), 5);
  assert.equal(neighbour([2, 5], 5, 1), null);
  assert.equal(neighbour([2, 5], 11, -1), 5);
  assert.equal(neighbour([2, 5], 2, -1), null);
});

test("a step's files are there once they were recorded", () => {
  assert.equal(hasFiles(EVENTS.slice(0, 9)), false);
  assert.equal(hasFiles(EVENTS.slice(0, 10)), true);
});
