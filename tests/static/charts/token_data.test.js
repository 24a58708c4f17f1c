// The parts of a step's bar, and the totals of a run as text.

import assert from "node:assert/strict";
import test from "node:test";

globalThis.document = { baseURI: "http://localhost/", addEventListener() {} };
globalThis.addEventListener = () => {};
globalThis.setInterval = () => {};
const { countText, partsOf, TokenData, totalsOf } = await import("../../../static/charts/token_data.js");

const step = (prompt, cached, environment, generated) => ({ step: 1, prompt, cached, environment, generated });

test("the parts of a bar add up to its prompt and answer", () => {
  assert.deepEqual(partsOf(step(1000, 600, 150, 40)), { cached: 600, fresh: 250, environment: 150, generated: 40 });
  // Without a report on the cache, the rest of the prompt counts as new; a cache may hold the new part, too.
  assert.deepEqual(partsOf(step(1000, null, 150, 40)), { cached: 0, fresh: 850, environment: 150, generated: 40 });
  assert.deepEqual(partsOf(step(1000, 950, 150, 40)), { cached: 950, fresh: 0, environment: 50, generated: 40 });
});

test("a step without usage has no bar, and the sum continues after it", () => {
  const data = new TokenData("r");
  data.steps = [step(100, null, 0, 10), step(null, null, null, null), step(200, null, 90, 10)];
  const [, stacked, sums] = data.columns();
  assert.deepEqual(stacked.at(-1), [110, null, 210]);
  assert.deepEqual(sums, [110, null, 320]);
  assert.equal(data.peak, 210);
});

test("a count that is missing is named, a zero is a zero, an estimate is marked", () => {
  assert.equal(countText(null), "not reported");
  assert.equal(countText(0), "0");
  assert.equal(countText(12_345, { estimated: true, exact: true }), "≈ 12,345");
});

test("a sum that lacks some steps is a lower bound", () => {
  const totals = {
    prompt: 5,
    cached: 3,
    cache_written: null,
    generated: 2,
    reasoning: 0,
    environment: 1,
    once: 6,
    largest_prompt: 4,
    missing: { cached: 2 },
    estimated: false,
  };
  const rows = Object.fromEntries(totalsOf({ totals, cost: null }).map(([name, text]) => [name, text]));
  assert.equal(rows["of it from the cache"], "at least 3");
  assert.equal(rows["of it written to the cache"], "not reported");
  assert.equal(rows["of it reasoning"], "0");
  assert.equal("Cost" in rows, false);
});

test("the top of the axis is a round number", async () => {
  globalThis.MutationObserver = globalThis.ResizeObserver = class {};
  const { roundUp } = await import("../../../static/charts/token_chart.js");
  assert.deepEqual([0, 1, 7, 12_345, 15_000, 98_765, 131_072].map(roundUp), [1, 1, 8, 15_000, 15_000, 100_000, 150_000]);
});
