// Lines that were broken at a width are joined; all others are kept.

import assert from "node:assert/strict";
import test from "node:test";

const { joinWrappedLines } = await import("../../../../static/core/text/flowing.js");

const WRAPPED = `The longest day in Oslo has 18 hours and 50 minutes of
sunlight, the shortest one 5 hours and 53 minutes. Both
are computed from the sun's declination, for a place in the
town.`;

const KEPT = {
  "short lines": "Alice found seven gulls,\nand Bob found none.",
  "lines that could hold the next word": `${"a word ".repeat(12)}end\nand then\nmore of it`,
  "a list": WRAPPED.replace("sunlight", "- sunlight"),
  columns: WRAPPED.replace("sunlight,", "sunlight   5"),
  code: `\`\`\`\n${WRAPPED}\n\`\`\``,
  "a break that Markdown keeps": WRAPPED.replace(" of\n", " of\\\n"),
  "sentences of their own": "The gulls were counted from the pier on Monday, once.\nSecond: the ferry.",
};

test("a text that was broken at a width flows, paragraph by paragraph", () => {
  const flowing = WRAPPED.replaceAll("\n", " ");
  assert.equal(joinWrappedLines(`${WRAPPED}\n\n- one\n- two\n\n${WRAPPED}`), `${flowing}\n\n- one\n- two\n\n${flowing}`);
});

for (const [name, text] of Object.entries(KEPT)) {
  test(`${name} keep their lines`, () => assert.equal(joinWrappedLines(text), text));
}
