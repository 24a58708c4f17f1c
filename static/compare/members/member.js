// The members of a comparison that is being put together, and what is asked of the server.

import { plural } from "../../core/format.js";

export const MAX_MEMBERS = 12;
export const MAX_REPETITIONS = 64;

export const BUILTIN = "builtin";
const MODES = { plain: "Without sandbox", sandbox: "With sandbox" };

/** The checks of an expected answer and their titles, as in `agent/grading/checks.py`. */
export const CHECKS = {
  exact: "exactly",
  contains: "contained in the answer",
  number: "as a number",
  choice: "as a choice",
  math: "mathematically equal",
  f1: "by common words (F1)",
  rouge_l: "by common words (ROUGE-L)",
  judge: "decided by a judge",
};

/** The request parameters of a member: their names and what they are where they are not set. */
const PARAMETERS = {
  api: "auto",
  effort: "",
  thinking: "",
  verbosity: "",
  seed: null,
  temperature: null,
  topP: null,
  maxTokens: null,
  extraBody: "",
  calls: "native",
  sendReasoning: true,
};

const snakeCase = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const parametersOf = (values, nameOf) => Object.fromEntries(Object.entries(PARAMETERS).map(([name, unset]) => [name, values[nameOf(name)] ?? unset]));

/**
 * A member with the settings of the page: `settings` are the values of the settings' fields by name,
 * `defaults` the operator's; what is not set there is not part of the member.
 */
function memberFrom(settings, mode, defaults = {}) {
  const { base_url: baseUrl, model, prompt, max_steps: steps, network, hosts } = settings;
  return {
    mode,
    label: "",
    baseUrl: (baseUrl ?? "").trim(),
    model: (model ?? "").trim(),
    prompt: prompt ?? "general",
    maxSteps: steps && steps !== defaults.max_steps ? steps : null,
    ...parametersOf(settings, snakeCase),
    network: network === "listed" ? (hosts ?? "") : (network ?? "open"),
    apiKey: "",
  };
}

/** The first members: the connected model without a sandbox and with one. */
export const firstMembers = (settings, defaults) => ["plain", "sandbox"].map((mode) => memberFrom(settings, mode, defaults));

/** Whether the built-in model answers as this member. */
export const isBuiltin = ({ baseUrl, model }) => model === BUILTIN || (!baseUrl && !model);

const modelName = (member) => (isBuiltin(member) ? "built-in model" : member.model || "the endpoint's model");

/** What a member is called on its chip: its label, or its mode and what distinguishes it. */
export function memberTitle(member, members) {
  if (member.label) return member.label;
  const differs = (name) => members.some((other) => other[name] !== member[name]);
  return [
    MODES[member.mode],
    differs("model") || differs("baseUrl") ? modelName(member) : "",
    differs("prompt") ? `prompt ${member.prompt}` : "",
    differs("maxSteps") && member.maxSteps ? plural(member.maxSteps, "step") : "",
    ...Object.keys(PARAMETERS).map((name) => (differs(name) && member[name] !== PARAMETERS[name] ? parameterText(name, member[name]) : "")),
  ]
    .filter(Boolean)
    .join(" · ");
}

const PARAMETER_NAMES = {
  api: "",
  temperature: "T",
  topP: "top p",
  maxTokens: "tokens per answer",
  extraBody: "",
  calls: "calls",
  sendReasoning: "earlier reasoning",
};
const API_NAMES = { auto: "API chosen automatically", chat: "Chat Completions", responses: "Responses", messages: "Messages" };

/** One request parameter and its value in a few words; empty where it is not set. */
export function parameterText(name, value) {
  if (value === undefined || value === null || value === "") return "";
  if (name === "api") return API_NAMES[value] ?? value;
  const shown = typeof value === "boolean" ? (value ? "on" : "off") : typeof value === "object" ? JSON.stringify(value) : value;
  return `${PARAMETER_NAMES[name] ?? name} ${shown}`.trim();
}

/** The request parameters that are set in a member's settings, in a few words each. */
export const parameterTexts = (settings) =>
  Object.entries(PARAMETERS).flatMap(([name, unset]) => (settings[name] === unset ? [] : [parameterText(name, settings[name])].filter(Boolean)));

/** The model that all members share, or empty. */
export function sharedModel(members) {
  const names = new Set(members.map(modelName));
  return names.size === 1 ? [...names][0] : "";
}

/** Another member: as the last one, in the mode that it does not have. */
export function nextMember(members) {
  const last = members.at(-1);
  return { ...last, label: "", mode: last.mode === "plain" ? "sandbox" : last.mode };
}

/**
 * The request that starts a comparison. `key` is the key of the settings, which is sent only with
 * members of `keyUrl`, its endpoint; a member's own key comes first.
 */
export function requestBody({ task, inputs = "", members, repetitions, expected = null, key = "", keyUrl = "" }) {
  return {
    task,
    inputs,
    members: members.map((member) => memberRequest(member, key, keyUrl)),
    repetitions,
    ...(expected ? { expected: expectedRequest(expected, key, keyUrl) } : {}),
  };
}

/** One member of a request; see `requestBody`. */
export function memberRequest(member, key, keyUrl) {
  const { label, mode, model, baseUrl, apiKey, prompt, maxSteps, network } = member;
  const builtin = isBuiltin(member);
  return withoutEmpty({
    label,
    mode,
    baseUrl: builtin ? "" : baseUrl,
    apiKey: builtin ? "" : apiKey || (baseUrl === keyUrl ? key : ""),
    model: builtin ? BUILTIN : model,
    prompt,
    maxSteps,
    ...(builtin ? {} : parametersOf(member, (name) => name)),
    network,
  });
}

function expectedRequest({ kind, answer, tolerance, judge }, key, keyUrl) {
  const request = { kind, answer };
  if (kind === "number" && tolerance) request.tolerance = tolerance;
  if (kind === "judge") request.judge = judgeRequest(judge, key, keyUrl);
  return request;
}

/** A judge of a request; its key as for a member. */
export const judgeRequest = (judge, key, keyUrl) => withoutEmpty({ ...judge, apiKey: judge.apiKey || (judge.baseUrl === keyUrl ? key : "") });

const MEANT_IF_EMPTY = ["baseUrl", "network"]; // no endpoint, and no host

/** Without what is not set. */
const withoutEmpty = (values) =>
  Object.fromEntries(Object.entries(values).filter(([name, value]) => MEANT_IF_EMPTY.includes(name) || (value !== null && value !== "")));
