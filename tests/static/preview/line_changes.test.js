// Changes between two texts: correct, in whole words, and within the time limit for any input.

import assert from "node:assert/strict";
import test from "node:test";
import { diffArrays, diffWordsWithSpace } from "diff";

const { changedBlocks, changedWords } = await import("../../../static/preview/diff/line_changes.js");

const library = { diffArrays, diffWordsWithSpace };
const blocks = (before, after) => changedBlocks(library, before, after);
const words = (before, after) => [...changedWords(library, before, after, blocks(before, after))];
const marked = (before, after) => words(before, after).map(([a0, a1, b0, b1]) => [before.slice(a0, a1), after.slice(b0, b1)]);

function apply(before, after, changes) {
  let [text, at] = ["", 0];
  for (const [fromA, toA, fromB, toB] of changes) {
    text += before.slice(at, fromA) + after.slice(fromB, toB);
    at = toA;
  }
  return text + before.slice(at);
}

test("whole words are marked", () => {
  assert.deepEqual(marked("WIDTH = 640\n", "WIDTH = 600\n"), [["640", "600"]]);
  assert.deepEqual(marked("print(row)\n", "print(row, len(row))\n"), [["", ", len(row)"]]);
  assert.deepEqual(marked("a 😀 b\n", "a 😁 b\n"), [["😀", "😁"]]);
  assert.deepEqual(marked("one\n", "other words\n"), [["one\n", "other words\n"]]);
});

test("the changes lead from one text to the other", () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const line = () => ["", "a", "b c", "ü😀", "}"][random(5)] + ["", "\n"][Math.min(1, random(9))];
  for (let round = 0; round < 500; round++) {
    const [before, after] = [0, 0].map(() => Array.from({ length: random(12) }, line).join(""));
    assert.equal(apply(before, after, blocks(before, after)), after);
    assert.equal(apply(before, after, words(before, after)), after);
  }
});

test("thousands of changes are found one by one", () => {
  const lines = Array.from({ length: 20_000 }, (_, at) => `line ${at}\n`);
  const changed = lines.map((each, at) => (at % 3 ? each : `new ${each}`));
  assert.equal(blocks(lines.join(""), changed.join("")).length, 6667);
});

test("repeated and unlike texts are compared within seconds", { timeout: 60_000 }, () => {
  const unlike = (name) => Array.from({ length: 90_000 }, (_, at) => `${name} ${at}\n`).join("");
  for (const [before, after] of [
    [`b${"a".repeat(1_900_000)}c\n`, `d${"a".repeat(1_900_000)}e\n`],
    [`y\n${"x\n".repeat(400_000)}z\n`, `q\n${"x\n".repeat(400_100)}r\n`],
    [unlike("one"), unlike("other")],
  ]) {
    assert.equal(apply(before, after, words(before, after)), after);
  }
});
