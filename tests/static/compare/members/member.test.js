// The members that the composer offers, and the request that starts their comparison.

import assert from "node:assert/strict";
import test from "node:test";
import { firstMembers, isBuiltin, memberTitle, nextMember, requestBody, sharedModel } from "../../../../static/compare/members/member.js";

const SETTINGS = { base_url: "https://models.test/v1", model: "m", temperature: 0.7, prompt: "general", max_steps: 100, network: "listed", hosts: "pypi.org" };
const members = (settings = SETTINGS, defaults = { max_steps: 100 }) => firstMembers(settings, defaults);
const request = (changes) => requestBody({ task: "Count.", members: members(), repetitions: 1, ...changes });

test("the first members are the connected model without and with a sandbox", () => {
  const [plain, sandbox] = members();
  assert.deepEqual([plain.mode, sandbox.mode], ["plain", "sandbox"]);
  assert.deepEqual(
    members().map((member) => memberTitle(member, members())),
    ["Without sandbox", "With sandbox"],
  );
  assert.equal(sharedModel(members()), "m");
});

test("a limit that the operator sets is not sent, one that the user set is", () => {
  assert.equal(request().members[0].maxSteps, undefined);
  assert.equal(request({ members: members({ ...SETTINGS, max_steps: 7 }) }).members[1].maxSteps, 7);
});

test("hosts that are allowed are sent as the network", () => {
  assert.equal(request().members[1].network, "pypi.org");
  assert.equal(request({ members: members({ ...SETTINGS, hosts: "" }) }).members[1].network, "", "no host, and not all");
});

test("without an endpoint the built-in model answers", () => {
  const [plain] = members({ base_url: "", model: null });
  assert.ok(isBuiltin(plain));
  const [sent] = request({ members: [plain, plain], key: "secret", keyUrl: "" }).members;
  assert.deepEqual([sent.model, sent.baseUrl, sent.apiKey], ["builtin", "", undefined]);
});

test("the key of the settings goes to their endpoint alone", () => {
  const [own, other] = members();
  other.baseUrl = "https://other.test/v1";
  const sent = request({ members: [own, other], key: "secret", keyUrl: SETTINGS.base_url }).members;
  assert.deepEqual([sent[0].apiKey, sent[1].apiKey], ["secret", undefined]);
  other.apiKey = "another";
  assert.equal(request({ members: [own, other], key: "secret", keyUrl: SETTINGS.base_url }).members[1].apiKey, "another");
});

test("an expected answer is sent with what belongs to its check", () => {
  const judge = { model: "j", baseUrl: "", prompt: "", apiKey: "" };
  const expected = { kind: "number", answer: "12", tolerance: 0.5, judge };
  assert.deepEqual(request({ expected }).expected, { kind: "number", answer: "12", tolerance: 0.5 });
  assert.deepEqual(request({ expected: { ...expected, kind: "judge" } }).expected, { kind: "judge", answer: "12", judge: { model: "j", baseUrl: "" } });
  assert.equal(request().expected, undefined);
});

test("another member is as the last, with a sandbox; a chip names what differs", () => {
  const [plain] = members();
  assert.equal(nextMember([plain]).mode, "sandbox");
  const other = { ...nextMember([plain]), model: "n", temperature: 0 };
  assert.equal(memberTitle(other, [plain, other]), "With sandbox · n · T 0");
  assert.equal(sharedModel([plain, other]), "");
});
