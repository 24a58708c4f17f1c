import assert from "node:assert/strict";
import { test } from "node:test";
import { endOfStep, momentsOf } from "../../../static/report/moments.js";
import { bytesOf } from "../../../static/report/downloads.js";

const ITEMS = [
  { step: 1, from: 0, isEnd: false, parts: [] },
  {
    step: 1,
    from: 1,
    isEnd: false,
    parts: [
      { from: 1, to: 3, typed: true },
      { from: 4, to: 4, typed: true },
    ],
  },
  { step: 2, from: 5, isEnd: false, parts: [{ from: 6, to: 9, typed: false }] },
  { step: 2, from: 10, isEnd: true, parts: [] },
];

test("a part begins at a moment, and one that is typed ends at another", () => {
  assert.deepEqual(momentsOf(ITEMS), [
    { time: 0, item: 0, parts: 0, typing: null },
    { time: 1, item: 1, parts: 0, typing: null },
    { time: 1, item: 1, parts: 1, typing: 0 },
    { time: 3, item: 1, parts: 1, typing: null },
    { time: 4, item: 1, parts: 2, typing: null },
    { time: 5, item: 2, parts: 0, typing: null },
    { time: 6, item: 2, parts: 1, typing: null },
    { time: 10, item: 3, parts: 0, typing: null },
  ]);
});

test("the end of a step is its last moment, before the end of the round", () => {
  const moments = momentsOf(ITEMS);
  assert.equal(endOfStep(moments, ITEMS, 1), 4);
  assert.equal(endOfStep(moments, ITEMS, 2), 6);
  assert.equal(endOfStep(moments, ITEMS, 0), 0);
});

test("data in base64 is decoded byte by byte", () => {
  assert.deepEqual([...bytesOf("AP+A")], [0, 255, 128]);
});
