// The key that is filled in with an endpoint is cleared when the endpoint changes.

import assert from "node:assert/strict";
import test from "node:test";

globalThis.document = /** @type {any} */ ({ baseURI: "http://localhost/", addEventListener() {} });
globalThis.addEventListener = () => {};
globalThis.setInterval = /** @type {any} */ (() => {});

const { clearKeyWithEndpoint } = await import("../../../static/core/preferences.js");
const { emit } = await import("../../../static/core/event_stream.js");

class Field extends EventTarget {
  constructor(selector) {
    super();
    this.selector = selector;
    this.value = "";
  }

  matches(selector) {
    return selector === this.selector;
  }
}

function drawer() {
  const fields = ["#endpoint textarea", "#key input"].map((selector) => new Field(selector));
  const listeners = {};
  const querySelector = (wanted) => fields.find((field) => field.matches(wanted));
  const settings = { querySelector, addEventListener: (name, listener) => (listeners[name] = listener) };
  clearKeyWithEndpoint(/** @type {any} */ (settings));
  const [endpoint, key] = fields;
  const fill = (baseUrl, apiKey) => {
    emit("endpoint-filled", baseUrl);
    [endpoint.value, key.value] = [baseUrl, apiKey];
  };
  const change = (baseUrl) => {
    endpoint.value = baseUrl;
    listeners.focusout({ target: endpoint });
  };
  return { key, fill, change };
}

test("a filled key stays at the origin that it was filled with last", () => {
  const { key, fill, change } = drawer();
  fill("https://models.test/v1", "sk-1");
  change("https://models.test/v2");
  assert.equal(key.value, "sk-1");
  fill("https://elsewhere.test/v1", "sk-2");
  change("https://elsewhere.test/v1");
  assert.equal(key.value, "sk-2");
  change("https://models.test/v1");
  assert.equal(key.value, "");
});
