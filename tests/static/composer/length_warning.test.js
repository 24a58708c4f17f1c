// The warning about a long conversation: what counts, and that secrets of an address are not asked with.

import assert from "node:assert/strict";
import test from "node:test";

globalThis.document = /** @type {any} */ ({ baseURI: "http://localhost/", addEventListener() {} });
globalThis.addEventListener = () => {};
globalThis.setInterval = /** @type {any} */ (() => {});
const { forgetAttached, lengthWarning } = await import("../../../static/composer/length_warning.js");
const { restoreSettings } = await import("../../../static/core/preferences.js");
const { currentRun } = await import("../../../static/core/event_stream.js");

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

// What goes to the model besides the text

/** The warning for a text, with an answer of the server for the attached files. */
async function warningFor(text, { mode = "sandbox", pdfs = "auto", files = [] } = {}) {
  globalThis.fetch = /** @type {any} */ (
    async (address) => {
      const [, document] = String(address).match(/document-info\/input\/(.*)/) ?? [];
      if (document) return Response.json(files.find(({ name }) => name === document));
      return Response.json(String(address).includes("passport") ? { passport: { contextTokens: 1000 }, pageTokens: 300 } : { entries: files });
    }
  );
  const names = ["base_url", "model", "mode", "pdfs"].map((name) => ({ name }));
  restoreSettings(names, ["https://models.test/v1", `reader of ${pdfs}`, mode, pdfs]);
  forgetAttached();
  return lengthWarning(text);
}

const file = (name, tokens, pages = null) => ({ name, path: `input/${name}`, size: 9, tokens, pages });

test("without a sandbox the texts of attached documents count", async () => {
  currentRun.reset("run-1");
  const files = [file("notes.txt", 400), file("scan.pdf", null), file("paper.pdf", 700), file("photo.png", 5000)];
  assert.match(await warningFor("Count.", { mode: "plain", files }), /^≈ 1\.1k tokens with the attached files, but the model reads at most/);
});

test("pages of PDFs count instead of their text, or with it", async () => {
  currentRun.reset("run-1");
  const files = [file("report.pdf", 700, 4), file("long.pdf", 100, 400)];
  assert.equal(await warningFor("Count.", { mode: "plain", pdfs: "text", files }), "");
  assert.match(await warningFor("Count.", { mode: "plain", pdfs: "pages", files }), /^≈ 6k tokens/);
  assert.match(await warningFor("Count.", { mode: "plain", pdfs: "both", files }), /^≈ 6\.8k tokens/);
});

test("in a sandbox only the names of attached files go to the model", async () => {
  currentRun.reset("run-1");
  assert.equal(await warningFor("Count.", { files: [file("paper.pdf", 700_000)] }), "");
  const names = Array.from({ length: 100 }, (_, index) => file(`${"n".repeat(60)}${index}.txt`, 9));
  assert.match(await warningFor("Count.", { files: names }), /with the attached files/);
});

test("a message counts with the conversation that it continues", async () => {
  currentRun.reset("run-1");
  Object.assign(currentRun, { started: true, limits: { conversation_tokens: 1000 }, conversationTokens: 900 });
  assert.equal(await warningFor("Go on."), "");
  assert.match(await warningFor("x".repeat(800)), /with the conversation so far/);
});
