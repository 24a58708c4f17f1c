import assert from "node:assert/strict";
import { test } from "node:test";
import { findMatches } from "../../../static/report/find.js";
import { RecordedFiles } from "../../../static/report/files.js";

const file = (step, size = 1, more = {}) => ({ step, kind: "file", size, content: `${step}`, ...more });
const gone = (step) => ({ step, kind: null });
const FILES = new RecordedFiles(
  [
    { path: "input/l%20a.csv", versions: [file(0)] },
    { path: "output/b10.txt", versions: [file(1), file(3, 9)] },
    { path: "output/b9.txt", versions: [file(2), gone(3)] },
    { path: ".cache/x", versions: [file(1)] },
    { path: "z.py", versions: [file(1, 5, { not_kept: "it is large", content: undefined })] },
  ],
  { 0: { kind: "table", lines: ["a"] } },
  [100, 101, 102, 103],
);
const list = (query) => FILES.list(new URLSearchParams(query));
const paths = ({ entries }) => entries.map(({ path }) => path);

test("a folder lists what is there now, or was after a step; what comes later is marked", () => {
  assert.deepEqual(paths(list({})), ["input", "output", "z.py"]);
  assert.equal(list({}).hidden, 1);
  assert.deepEqual(paths(list({ folder: "output" })), ["output/b10.txt"]);
  assert.deepEqual(paths(list({ folder: "output", step: 2 })), ["output/b9.txt", "output/b10.txt"]);
  assert.deepEqual(
    list({ folder: "output", step: 1 }).entries.map(({ path, later = false, size }) => [path, later, size]),
    [
      ["output/b9.txt", true, 1],
      ["output/b10.txt", false, 1],
    ],
  );
  assert.equal(list({ folder: "nothing" }).missing, true);
  assert.equal(list({ locate: "output" }).located.output.index, 1);
  assert.equal(list({ folder: "output", step: 2, seek: "b1" }).seek, 1);
  assert.deepEqual(paths(list({ filter: "L A", hidden: 1 })), ["input/l%20a.csv"]);
});

test("an entry, its versions, the results and the linked files are those of the record", () => {
  assert.equal(FILES.entry("output/b9.txt", null), null);
  assert.deepEqual(FILES.entry("z.py", null), { name: "z.py", path: "z.py", kind: "file", size: 5, step: 1, modified: 101, not_kept: "it is large" });
  assert.deepEqual(
    FILES.versionsOf("output/b9.txt").versions.map(({ step, change, open }) => [step, change, open]),
    [
      [3, "removed", false],
      [2, "added", true],
    ],
  );
  assert.deepEqual(
    FILES.results().inputs.files.map(({ name, kind, lines }) => [name, kind, lines]),
    [["l a.csv", "table", ["a"]]],
  );
  assert.deepEqual(FILES.links(["b10.txt", "/workspace/z.py", "./z.py", "b9.txt", "x/b10.txt"]), {
    "b10.txt": "output/b10.txt",
    "/workspace/z.py": "z.py",
    "./z.py": "z.py",
  });
});

test("a search finds the first match of each message, step and answer", () => {
  const state = {
    rounds: [{ text: "Find lakes", answer: "Three Lakes." }],
    steps: [
      { step: 1, round: 1 },
      { step: 2, round: 1 },
    ],
  };
  const events = { 1: [{ kind: "tool_started", arguments: { command: "grep LAKES a" } }], 2: [{ kind: "tool_output", text: "none" }] };
  const found = findMatches(state, (step) => events[step], "lakes");
  assert.deepEqual(
    found.map(({ part, step }) => [part, step]),
    [
      ["asked", 0],
      ["step", 1],
      ["answer", 0],
    ],
  );
});
