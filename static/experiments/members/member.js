// The members of an experiment that is being put together, by the names of the API, and the requests for them.

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

/** The request parameters of a member, and how its prompt has PDFs: their names and what they are where they are not set. */
export const PARAMETERS = {
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
  images: "auto",
  pdfs: "auto",
};

/** What a member has where the settings say nothing. */
const UNSET = { baseUrl: "", model: "", prompt: "general", maxSteps: null, network: "open", hosts: "", ...PARAMETERS };

/** A judge before anything of it is entered. */
export const emptyJudge = (given) => ({ model: "", baseUrl: "", prompt: "", apiKey: "", temperature: null, maxTokens: null, right: "", wrong: "", ...given });

/** The name of a member's value in the settings. */
export const settingName = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * The first members: the connected model without a sandbox and with one. `settings` are the values
 * of the settings' fields, `defaults` the operator's: a limit that is not changed there is not set.
 */
export function firstMembers(settings, defaults) {
  const member = Object.fromEntries(Object.keys(UNSET).map((name) => [name, settings[settingName(name)] ?? UNSET[name]]));
  Object.assign(member, { baseUrl: member.baseUrl.trim(), model: member.model.trim() });
  if (member.maxSteps === defaults.max_steps) member.maxSteps = null;
  return ["plain", "sandbox"].map((mode) => ({ label: "", mode, apiKey: "", ...member, ...(mode === "sandbox" && { pdfs: PARAMETERS.pdfs }) }));
}

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
  images: "pictures",
  pdfs: "PDFs as",
};
const API_NAMES = { auto: "API chosen automatically", chat: "Chat Completions", responses: "Responses", messages: "Messages" };

/** One request parameter and its value in a few words; empty where it is not set. */
function parameterText(name, value) {
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

/** A member as the server takes it; `keyOf(baseUrl)` returns the key of the settings, if they have that endpoint. */
export function memberRequest(member, keyOf) {
  if (!isBuiltin(member)) return { ...member, apiKey: member.apiKey || keyOf(member.baseUrl) };
  const { label, mode, prompt, maxSteps, network, hosts } = member;
  return { label, mode, prompt, maxSteps, network, hosts, baseUrl: "", model: BUILTIN };
}

/** A judge as the server takes it; its key as for a member. */
export const judgeRequest = (judge, keyOf) => ({ ...judge, apiKey: judge.apiKey || keyOf(judge.baseUrl) });

/** An expected answer as the server takes it, with what belongs to its check; null if none is known. */
export function expectedRequest({ kind, answer, tolerance, judge }, keyOf) {
  if (!kind || !answer) return null;
  return { kind, answer, ...(kind === "number" && tolerance && { tolerance }), ...(kind === "judge" && { judge: judgeRequest(judge, keyOf) }) };
}
