// Numbers, sizes, times and names as the page shows them.

import assert from "node:assert/strict";
import test from "node:test";

const format = await import("../../../static/core/format.js");

const CASES = {
  formatCount: [
    [999, "999"],
    [1000, "1k"],
    [99_960, "100k"],
    [999_600, "1.0M"],
  ],
  formatBytes: [
    [0, "0 B"],
    [1023, "1023 B"],
    [1024, "1 KB"],
    [10_240, "10 KB"],
    [1024 ** 2, "1 MB"],
    [5 * 1024 ** 4, "5 TB"],
    [1024 ** 5, "1024 TB"],
  ],
  formatSeconds: [
    [0.05, "50 ms"],
    [59.94, "59.9 s"],
    [59.97, "1 min 0 s"],
    [119.6, "2 min 0 s"],
    [3599.7, "1.0 h"],
  ],
  formatElapsed: [
    [-1, "0 s"],
    [59.9, "59 s"],
    [61.9, "1 min 1 s"],
  ],
  formatClock: [
    [-1, "0:00"],
    [61.9, "1:01"],
    [3600, "1:00:00"],
  ],
  formatAge: [
    [9, "just now"],
    [59.6, "1 min ago"],
    [3570, "1 h ago"],
    [90_000, "1 day ago"],
    [172_800, "2 days ago"],
  ],
  firstLine: [
    ["sales_2024.csv in C#", "sales_2024.csv in C#"],
    ["2 * 3 * 4", "2 * 3 * 4"],
    ["\n one\ntwo", "one"],
    ["x".repeat(100), `${"x".repeat(89)}…`],
  ],
  stripMarkdown: [
    ["## The **plan** for `a_b.py`", "The plan for a_b.py"],
    ["2 * 3 * 4", "2 * 3 * 4"],
  ],
  fileKind: [
    ["a.PNG", "image"],
    ["a.tar.gz", "file"],
    ["noextension", "file"],
    ["main.py", "code"],
  ],
  decodePath: [
    ["a%20b", "a b"],
    ["100%", "100%"],
  ],
};

for (const [name, cases] of Object.entries(CASES)) {
  test(name, () => {
    for (const [given, expected] of cases) assert.equal(format[name](given), expected);
  });
}
