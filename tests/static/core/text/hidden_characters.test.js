// Marks of hidden characters, as the server makes them too (tests/agent/util/test_text.py).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { markHidden, withHiddenMarked } from "../../../../static/core/text/hidden_characters.js";

const cases = JSON.parse(readFileSync(new URL("../../../fixtures/hidden_characters.json", import.meta.url), "utf8"));

for (const [name, { text, marked }] of Object.entries(cases)) test(name, () => assert.equal(withHiddenMarked(text), marked));

test("the kinds of the pieces around a mark stay", () => {
  const pieces = [...markHidden([["ho \u202ex", "b"]])].map((piece) => piece.join(" "));
  assert.deepEqual(pieces, ["ho  b", "⟨U+202E⟩ hidden-character", "x b"]);
});
