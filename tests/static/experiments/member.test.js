// The members that the composer offers, and the request that starts their comparison.

import assert from "node:assert/strict";
import test from "node:test";
import { expectedRequest, firstMembers, isBuiltin, memberRequest, memberTitle, nextMember, sharedModel } from "../../../static/experiments/members/member.js";

const SETTINGS = { base_url: "https://models.test/v1", model: "m", temperature: 0.7, prompt: "general", max_steps: 100, network: "listed", hosts: "pypi.org" };
const members = (settings = SETTINGS, defaults = { max_steps: 100 }) => firstMembers(settings, defaults);
const keyOf = (baseUrl) => (baseUrl === SETTINGS.base_url ? "secret" : "");

test("the first members are the connected model without and with a sandbox", () => {
  const [plain, sandbox] = members();
  assert.deepEqual([plain.mode, sandbox.mode], ["plain", "sandbox"]);
  assert.deepEqual(
    members().map((member) => memberTitle(member, members())),
    ["Without sandbox", "With sandbox"],
  );
  assert.equal(sharedModel(members()), "m");
});

test("how PDFs are sent is for members without a sandbox, and is named where it differs", () => {
  const [plain, sandbox] = members({ ...SETTINGS, mode: "plain", pdfs: "pages" });
  assert.deepEqual([plain.pdfs, sandbox.pdfs], ["pages", "auto"]);
  const other = { ...plain, pdfs: "both" };
  assert.equal(memberTitle(other, [plain, other]), "Without sandbox · PDFs as both");
  assert.equal(memberRequest(other, keyOf).pdfs, "both");
});

test("a limit that the operator sets is not sent, one that the user set is", () => {
  assert.equal(members()[0].maxSteps, null);
  assert.equal(members({ ...SETTINGS, max_steps: 7 })[1].maxSteps, 7);
});

test("hosts that are allowed are sent with the network", () => {
  const [, sandbox] = members();
  assert.deepEqual([sandbox.network, sandbox.hosts], ["listed", "pypi.org"]);
});

test("without an endpoint the built-in model answers", () => {
  const [plain] = members({ base_url: "", model: null });
  assert.ok(isBuiltin(plain));
  const sent = memberRequest(plain, () => "secret");
  assert.deepEqual([sent.model, sent.baseUrl, sent.apiKey, sent.temperature], ["builtin", "", undefined, undefined]);
});

test("the key of the settings goes to their endpoint alone", () => {
  const [own, other] = members();
  other.baseUrl = "https://other.test/v1";
  assert.deepEqual([memberRequest(own, keyOf).apiKey, memberRequest(other, keyOf).apiKey], ["secret", ""]);
  other.apiKey = "another";
  assert.equal(memberRequest(other, keyOf).apiKey, "another");
});

test("an expected answer is sent with what belongs to its check", () => {
  const judge = { model: "j", baseUrl: "", prompt: "", apiKey: "" };
  const expected = { kind: "number", answer: "12", tolerance: 0.5, judge };
  assert.deepEqual(expectedRequest(expected, keyOf), { kind: "number", answer: "12", tolerance: 0.5 });
  assert.deepEqual(expectedRequest({ ...expected, kind: "judge" }, keyOf), { kind: "judge", answer: "12", judge });
  assert.equal(expectedRequest({ ...expected, answer: "" }, keyOf), null);
});

test("another member is as the last, with a sandbox; a chip names what differs", () => {
  const [plain] = members();
  assert.equal(nextMember([plain]).mode, "sandbox");
  const other = { ...nextMember([plain]), model: "n", temperature: 0 };
  assert.equal(memberTitle(other, [plain, other]), "With sandbox · n · T 0");
  assert.equal(sharedModel([plain, other]), "");
});
