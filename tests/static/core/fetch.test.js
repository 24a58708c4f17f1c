// Requests whose connection fails: which are repeated, and what the user is told.

import assert from "node:assert/strict";
import test from "node:test";

const { fetchJson } = await import("../../../static/core/loading/fetch.js");

/** Let `fetch` fail so often, then answer `{"a": 1}`; returns the methods that were asked for. */
function failing(times, inBody = false) {
  const asked = [];
  globalThis.fetch = async (_, { method = "GET" }) => {
    asked.push(method);
    const fail = () => Promise.reject(new TypeError("Failed to fetch"));
    if (asked.length > times) return /** @type {any} */ ({ ok: true, text: async () => '{"a": 1}' });
    return inBody ? { ok: true, text: fail } : fail();
  };
  return asked;
}

for (const options of [{}, { method: "PUT" }, { method: "PATCH" }, { method: "POST", repeatable: true }])
  test(`${JSON.stringify(options)} is repeated when the connection fails, also while it answers`, async () => {
    for (const inBody of [false, true]) {
      const asked = failing(1, inBody);
      assert.deepEqual(await fetchJson("x", options), { a: 1 });
      assert.equal(asked.length, 2);
    }
  });

for (const method of ["POST", "DELETE"])
  test(`${method} is sent once, and the user is asked to look`, async () => {
    const asked = failing(1);
    await assert.rejects(fetchJson("x", { method }), { message: /before the server answered. Try again if this was not done/, status: 0 });
    assert.deepEqual(asked, [method]);
  });

test("a request that keeps failing says that the server cannot be reached", async () => {
  const asked = failing(9);
  await assert.rejects(fetchJson("x"), { message: "The server cannot be reached. Try again.", status: 0 });
  assert.equal(asked.length, 3);
});
