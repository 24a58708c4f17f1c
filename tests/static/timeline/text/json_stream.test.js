// Arguments of a tool call, read while they arrive in pieces of any size.

import assert from "node:assert/strict";
import test from "node:test";
import { ArgumentReader, isObject } from "../../../../static/timeline/text/json_stream.js";

const VALUES = [
  {},
  { command: 'ls -l\n\t"quoted" \\ back' },
  { command: "ä😀\u2028\u0000", path: "", view_range: [1, 2], nested: { command: "not this", list: ["{", "}"] }, text: '}"{' },
  { 'odd "name"': "x", a: null, b: true, c: -1.5e9, d: "last" },
];

/** Return the string fields that a reader finds in pieces of text. */
function read(pieces) {
  const fields = {};
  const reader = new ArgumentReader((name, text) => (fields[name] = (fields[name] ?? "") + text));
  for (const piece of pieces) reader.feed(piece);
  return fields;
}

const strings = (value) => Object.fromEntries(Object.entries(value).filter(([, each]) => typeof each === "string" && each));

for (const [at, value] of VALUES.entries()) {
  for (const escaped of [false, true]) {
    test(`value ${at} in pieces of every size${escaped ? ", escaped" : ""}`, () => {
      const json = JSON.stringify(value, null, at);
      const sent = escaped ? json.replace(/[^\x20-\x7e\n]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`) : json;
      for (let size = 1; size <= sent.length; size++) {
        const pieces = Array.from({ length: Math.ceil(sent.length / size) }, (_, part) => sent.slice(part * size, (part + 1) * size));
        assert.deepEqual(read(pieces), strings(value));
      }
    });
  }
}

test("text that is not complete or not JSON throws nothing", () => {
  for (const text of ['{"command": "ls', '{"command": "\\', '{"command": "\\u12', "[1, 2", "", "}}}}", '"', '{"a": "\\q"}']) read([text]);
  assert.deepEqual(read(['{"command": "ls']), { command: "ls" });
});

test("only an object is accepted as arguments", () => {
  assert.ok(isObject('{"a": 1}'));
  for (const text of ["", "null", "[]", '"a"', "1", '{"a": 1']) assert.ok(!isObject(text));
});
