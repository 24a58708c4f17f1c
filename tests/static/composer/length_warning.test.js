// The warning about a long text asks for the context length without the secrets of an address.

import assert from "node:assert/strict";
import test from "node:test";

globalThis.document = /** @type {any} */ ({ baseURI: "http://localhost/", addEventListener() {} });
globalThis.addEventListener = () => {};
globalThis.setInterval = /** @type {any} */ (() => {});
const { lengthWarning } = await import("../../../static/composer/length_warning.js");
const { restoreSettings } = await import("../../../static/core/preferences.js");

async function askedFor(baseUrl) {
  const asked = [];
  globalThis.fetch = /** @type {any} */ (
    async (address) => {
      asked.push(decodeURIComponent(String(address)));
      return Response.json({ passport: { contextTokens: 1000 } });
    }
  );
  restoreSettings([{ name: "base_url" }, { name: "model" }], [baseUrl, "m"]);
  return { asked, warning: await lengthWarning("x".repeat(40_000)) };
}

test("the query of an address is not in the request", async () => {
  const { asked, warning } = await askedFor("https://models.test/v1?key=secret");
  assert.match(asked.join(), /baseUrl=https:\/\/models\.test\/v1&model=m/);
  assert.doesNotMatch(asked.join(), /secret/);
  assert.match(warning, /reads at most/);
});

test("an address with a password is not sent", async () => {
  const { asked, warning } = await askedFor("https://name:secret@models.test/v1");
  assert.deepEqual([asked, warning], [[], ""]);
});
