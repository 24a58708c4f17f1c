// Filters and groups of an evaluation's runs; the cases of the filters are also those of the server.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { filterText, groupsOf, itemsOf, matcher, parseFilter, valueCounts } from "../../../../static/experiments/reading/filters.js";

const { description, cases } = JSON.parse(readFileSync(new URL("../../../fixtures/filters.json", import.meta.url), "utf8"));
const choices = ["outcome", "difference", "uses", "failure", "member", "suite", "domain", "group"].map((key) => ({ key, kind: "choice" }));
const fields = [...choices, { key: "tokens", kind: "range" }, { key: "turns", kind: "range" }];
const field = (name) => fields.find(({ key }) => key === name);
const items = itemsOf(description);

for (const [text, runs] of cases)
  test(`the filter “${text}” selects the runs that the server selects`, () => {
    const filter = parseFilter(text, fields);
    const found = items
      .filter((item) => item.run)
      .filter(matcher(filter))
      .map(({ run }) => run);
    assert.deepEqual(found, runs);
    assert.deepEqual(parseFilter(filterText(filter), fields), filter);
  });

test("what a URL names and the server does not is left out", () => {
  assert.deepEqual(parseFilter("outcome=wrong&__proto__=1&tokens=12&other=x", fields), { outcome: ["wrong"] });
});

test("a member that has not begun a task waits", () => {
  assert.deepEqual(
    items.filter(matcher({ outcome: ["waiting"] })).map(({ task, member }) => [task, member]),
    [[1, "other, larger & slow"]],
  );
});

test("groups have counts and the means of what is known", () => {
  const [right, wrong] = groupsOf(items, field("outcome"));
  assert.deepEqual(right, { value: "right", runs: 5, tasks: 3, score: 1, tokens: (1000 + 5000 + 10 + 1999 + 100) / 5, turns: 26 / 5, cost: 1 });
  assert.deepEqual([wrong.value, wrong.runs, wrong.score, wrong.cost], ["wrong", 2, 0, null]);
  const waiting = groupsOf(items, field("outcome")).find(({ value }) => value === "waiting");
  assert.deepEqual([waiting.runs, waiting.tasks, waiting.score], [0, 1, null]);
});

test("a run is in the group of each capability that it used", () => {
  const found = Object.fromEntries(groupsOf(items, field("uses")).map(({ value, runs }) => [value, runs]));
  assert.deepEqual(found, { none: 6, computation: 2, files: 1, external: 1 });
});

test("numbers are grouped by ranges, which are filters", () => {
  const found = valueCounts(items, field("tokens"));
  assert.deepEqual(found, [
    ["10..19", 1],
    ["100..199", 1],
    ["500..999", 1],
    ["1000..1999", 2],
    ["2000..4999", 1],
    ["5000..9999", 1],
    ["20000..49999", 1],
    ["none", 2],
  ]);
  for (const [value, runs] of found.slice(0, -1)) assert.equal(items.filter(matcher({ tokens: [value] })).length, runs);
});

test("a change costs the runs of its task only", () => {
  const known = new WeakMap();
  const before = itemsOf(description, known);
  const cells = description.cells.with(1, [...description.cells[1]]);
  const after = itemsOf({ ...description, cells }, known);
  assert.deepEqual(after, before);
  assert.deepEqual(
    after.map((item, at) => item === before[at]),
    before.map(({ task }) => task !== 1),
  );
});
