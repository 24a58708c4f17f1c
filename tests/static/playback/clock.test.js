// The clock of a playback: speeds, shortened pauses, seeking.

import assert from "node:assert/strict";
import test from "node:test";

const { PACES, PlaybackClock, offsetsOf, paceNamed } = await import("../../../static/playback/clock.js");

const TIMES = [100, 100.5, 102.5, 112.5];
const pace = paceNamed;

test("a run plays as fast as it happened, or faster", () => {
  for (const [name, wall, index] of [
    ["1", 2400, 1],
    ["1", 2500, 2],
    ["4", 2500, 2],
    ["4", 3200, 3],
    ["16", 800, 3],
  ]) {
    const clock = new PlaybackClock(TIMES, pace(name));
    clock.start(0);
    assert.equal(clock.index(wall), index, `${name}× after ${wall} ms`);
  }
});

test("no pause is longer than a second if the user wants that", () => {
  assert.deepEqual(offsetsOf(TIMES, 1), [0, 0.5, 1.5, 2.5]);
  const clock = new PlaybackClock(TIMES, pace("pause"));
  clock.start(0);
  assert.equal(clock.index(2400), 2);
  assert.equal(clock.index(2500), 3);
});

test("a clock that was set back, or a time that is missing, counts as no pause", () => {
  assert.deepEqual(offsetsOf([10, 8, 9, NaN, 11]), [0, 0, 1, 1, 3]);
  assert.deepEqual(offsetsOf([NaN, 5, 6]), [0, 0, 1]);
});

test("a stopped clock stands still, and goes on from there", () => {
  const clock = new PlaybackClock(TIMES);
  clock.start(1000);
  clock.stop(2000);
  assert.equal(clock.position(60_000), 1);
  clock.start(60_000);
  assert.equal(clock.position(61_000), 2);
});

test("a moment can be sought while it plays", () => {
  const clock = new PlaybackClock(TIMES);
  clock.start(0);
  clock.seek(2, 5000);
  assert.equal(clock.index(5000), 2);
  assert.equal(clock.wait(5000), 10_000);
  clock.seek(99, 5000);
  assert.ok(clock.isOver(5000));
  assert.equal(clock.wait(5000), Infinity);
});

test("another pace goes on from the same moment", () => {
  const clock = new PlaybackClock(TIMES);
  clock.start(0);
  clock.setPace(pace("pause"), 7500); // half of the last pause is over
  assert.equal(clock.position(7500), 2);
  assert.equal(clock.wait(7500), 500);
  clock.setPace(pace("1"), 7500);
  assert.equal(clock.position(7500), 7.5);
});

test("a run without moments is over at once", () => {
  const clock = new PlaybackClock([]);
  clock.start(0);
  assert.equal(clock.index(10), -1);
  assert.ok(clock.isOver(10));
});

test("an unknown pace is the first one", () => assert.equal(pace("99"), PACES[0]));
