// What a step used of the computer: the usage of its calls together, and its description.

import assert from "node:assert/strict";
import test from "node:test";

const { NOTHING_USED, combine, describe, withWritten } = await import("../../../static/capabilities/usage.js");

const used = (more) => ({ ...NOTHING_USED, ...more });

test("an observation outweighs what was parsed", () => {
  const both = combine(used({ external: "parsed", programs: ["curl"] }), used({ external: "observed", compute: "parsed", programs: ["curl", "bc"] }));
  assert.deepEqual([both.external, both.file, both.compute, both.programs], ["observed", null, "parsed", ["curl", "bc"]]);
});

test("what is not known is not 0", () => {
  assert.equal(combine(null, undefined), null);
  assert.equal(combine(used({}), used({})).cpu_seconds, null);
  assert.equal(combine(used({}), used({ cpu_seconds: 0.5 })).cpu_seconds, 0.5);
  assert.equal(withWritten(null, 3), null);
});

test("a description says how each use is known", () => {
  const lines = describe(
    withWritten(used({ external: "observed", hosts: ["example.org"], received: 2048, packages: ["lake 1.2"], compute: "parsed", programs: ["python3"] }), 2),
  );
  assert.deepEqual(
    [...lines],
    [
      "External resources, observed: example.org; 2 KB received; installed lake 1.2",
      "File management, observed: 2 files changed",
      "Computation, parsed from the call",
      "Programs: python3",
    ],
  );
});
