// What an experiment has come to, in words.

import assert from "node:assert/strict";
import test from "node:test";
import {
  announcement,
  experimentState,
  inOrder,
  isOver,
  membersOfTask,
  passOf,
  repetitionLabel,
  runOutcome,
  settingsText,
  shownRun,
  unequalNote,
} from "../../../static/experiments/words.js";

const run = (changes = {}) => ({
  run: "r",
  repetition: 1,
  state: "submitted",
  running: false,
  status: "submitted",
  score: null,
  reason: "",
  answer: "",
  deleted: false,
  ...changes,
});
const live = { state: "thinking", running: true, status: "" };
const member = (index, ...runs) => ({ index, label: `Member ${index}`, runs });
const comparison = (changes = {}) => ({
  state: "running",
  repetitions: 2,
  baseline: 1,
  counts: { done: 0, total: 4, infrastructure: 0 },
  verdict: { text: "The second is right." },
  members: [member(0), member(1)],
  ...changes,
});

test("the baseline comes first", () => {
  assert.deepEqual(
    inOrder(comparison()).map(({ index }) => index),
    [1, 0],
  );
});

test("a run is over once it ended or was deleted", () => {
  assert.ok(isOver(run()));
  assert.ok(isOver(run({ ...live, deleted: true })));
  assert.ok(!isOver(run(live)));
  assert.ok(!isOver(run({ state: "queued", running: true, status: "" })));
});

test("a run's outcome names its score if that is known", () => {
  assert.deepEqual(runOutcome(run({ score: 1 })), { text: "submitted · right", tone: "good", live: false });
  assert.deepEqual(runOutcome(run({ score: 0, state: "answered" })), { text: "answered · wrong", tone: "bad", live: false });
  assert.equal(runOutcome(run({ score: 0.432 })).text, "submitted · score 0.43");
  assert.deepEqual(runOutcome(run({ state: "failed" })), { text: "failed", tone: "bad", live: false });
  assert.deepEqual(runOutcome(run(live)), { text: "thinking", tone: "live", live: true });
  assert.equal(runOutcome(run({ deleted: true })).text, "deleted");
  assert.equal(runOutcome(null).text, "not started");
});

test("the whole is failed only if every run failed", () => {
  const ended = (infrastructure) => comparison({ state: "finished", counts: { done: 4, total: 4, infrastructure } });
  assert.equal(experimentState(ended(4)).tone, "bad");
  assert.equal(experimentState(ended(3)).tone, "good");
  assert.equal(experimentState(comparison({ state: "interrupted" })).text, "interrupted · 0 of 4 finished");
});

test("a column shows the chosen run, else the running one, else the last", () => {
  const [first, second, queued] = [run({ run: "a" }), run({ run: "b", ...live }), run({ run: "c", state: "queued", running: true, status: "" })];
  assert.equal(shownRun(member(0, first, second, queued), "a").run, "a");
  assert.equal(shownRun(member(0, first, second, queued), null).run, "b");
  assert.equal(shownRun(member(0, first, queued), null).run, "a");
  assert.equal(shownRun(member(0, queued), "gone").run, "c");
  assert.equal(shownRun(member(0), null), null);
});

test("a chooser names repetition and score", () => {
  assert.equal(repetitionLabel(run({ repetition: 3, score: 1 })), "Run 3 · right");
  assert.equal(repetitionLabel(run({ deleted: true, score: 1 })), "Run 1 · deleted");
});

test("a screen reader is told when a member is done and when all is, and nothing between", () => {
  const before = comparison({ members: [member(0, run(), run(live)), member(1, run(live))] });
  assert.equal(announcement(null, before), "");
  assert.equal(announcement(before, structuredClone(before)), "");
  const after = comparison({ members: [member(0, run(), run()), member(1, run(live))] });
  assert.equal(announcement(before, after), "Member 0: 2 runs finished.");
  assert.equal(announcement(after, { ...after, state: "finished" }), "The comparison is finished. The second is right.");
});

test("settings and unequal limits are named", () => {
  assert.equal(settingsText({ model: "m", settings: { temperature: 0, maxSteps: 100, prompt: "general" } }), "m · T 0 · 100 steps");
  assert.equal(unequalNote({ unequal: ["maxSteps", "temperature"] }), "Unequal limits: steps, temperature");
  assert.equal(unequalNote({}), "");
});

test("the runs of an evaluation's task are shown as a comparison's, by their outcomes", () => {
  const cell = (...runs) => ({ outcome: "running", score: null, runs });
  const cells = [[cell({ run: "a", repetition: 1, outcome: "right" }, { run: "b", repetition: 2, outcome: "waiting" })]];
  const [shown] = membersOfTask({ members: [member(0)], cells }, 0);
  assert.equal(shownRun(shown).run, "a", "what waits has nothing to show");
  assert.deepEqual(shown.runs.map(repetitionLabel), ["Run 1 · right", "Run 2 · waiting"]);
  assert.equal(runOutcome(shown.runs[1]).live, true);
  assert.equal(experimentState({ state: "running", counts: { done: 1, total: 2 } }).text, "1 of 2 finished");
});

test("pass@k of another k is read from the means of all; that over domains needs each of them", () => {
  const member = (at) => ({ member: 0, k: 3, passAt: 0.9, pass: [{ k: 2, at, hat: at / 2 }] });
  const results = [
    { domain: "all", members: [member(0.5)] },
    { domain: "physics", members: [member(0.25)] },
    { domain: "chemistry", members: [member(0.75)] },
    { domain: "mean", members: [{ ...member(0), pass: [] }] },
  ];
  const read = (at, k) => passOf(results[at].members[0], results[at].domain, results, k);
  assert.deepEqual(read(0, 3), {}); // the server's own, with its interval
  assert.deepEqual(read(1, 2), { k: 2, passAt: 0.25, passHat: 0.125 });
  assert.deepEqual(read(3, 2), { k: 2, passAt: 0.5, passHat: 0.25 });
  results[2].members[0].pass = [];
  assert.deepEqual(read(3, 2), { k: null });
  assert.deepEqual(read(2, 2), { k: null });
});
