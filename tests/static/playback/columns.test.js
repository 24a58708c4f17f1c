// What the track shows of the steps, and where its keys lead.

import assert from "node:assert/strict";
import test from "node:test";

const { MAX_COLUMNS, columnOf, stepAt, stepForKey, stepsPerColumn } = await import("../../../static/playback/columns.js");

test("a column stands for one step, and for more where there are many", () => {
  assert.deepEqual([1, MAX_COLUMNS, MAX_COLUMNS + 1, 1000].map(stepsPerColumn), [1, 1, 2, 8]);
});

test("a column shows the longest step, the strongest use and a failure", () => {
  const steps = [
    { seconds: 4, used: { file: "observed" }, failed: false },
    { seconds: 9, used: { compute: "parsed" }, failed: true },
    { seconds: NaN, used: null, failed: false },
  ];
  assert.deepEqual(columnOf(steps), { height: 3, used: "compute", failed: true });
  assert.deepEqual(columnOf([{ seconds: 0, used: null }]), { height: 0, used: "", failed: false });
});

test("a place on the track is a step", () => {
  assert.deepEqual(
    [-0.5, 0, 0.49, 0.5, 0.99, 1, 3].map((share) => stepAt(share, 4)),
    [1, 1, 2, 3, 4, 4, 4],
  );
});

test("a slider's keys move within the run", () => {
  const moves = { ArrowLeft: 11, ArrowRight: 13, PageUp: 22, PageDown: 2, Home: 1, End: 26, a: null, toString: null };
  for (const [key, step] of Object.entries(moves)) assert.equal(stepForKey(key, 12, 26), step, key);
  assert.equal(stepForKey("ArrowRight", 26, 26), 26);
});
