// The prompts and settings of a run in one place.

import { h } from "../core/dom.js";
import { decodePath, formatNumber } from "../core/format.js";
import { fact, heading } from "./request_page.js";
import { Section } from "./sections.js";

const LIMITS = {
  steps: "Steps",
  conversation_tokens: "Tokens of the conversation",
  turn_tokens: "Tokens of an answer",
  seconds: "Seconds of a round",
  money: "Cost",
};
const OPTIONS = { tool_call_style: "Style of tool calls", send_reasoning: "Reasoning is sent back" };
const MODES = { sandbox: "in a sandbox", plain: "plain: without a sandbox" };
const NETWORKS = { open: "open", none: "none", packages: "package registries only", hosts: "listed hosts only" };

/** Return the page's elements and sections. */
export function runPage({ rounds, endpoints, parameters, tools }) {
  const sections = [];
  const elements = [
    heading("Run"),
    h("dl", { class: "facts" }, ...runFacts(rounds[0], endpoints, tools)),
    heading("Parameters of the requests"),
    parameterList(parameters),
  ];
  rounds.forEach((round, index) => {
    if (rounds.length > 1) elements.push(heading(`Round ${index + 1}`));
    else elements.push(heading("Limits"));
    elements.push(h("dl", { class: "facts" }, rounds.length > 1 ? fact("Model", round.model) : null, ...limitFacts(round.limits)));
    const texts = index
      ? [["Message", round.text]]
      : [
          ["System prompt", round.system],
          ["Earlier messages", (round.history ?? []).map(({ role, text }) => `${role}: ${text}`).join("\n\n")],
          ["User message", round.user],
        ];
    for (const [title, text] of texts) {
      if (!text) continue;
      sections.push(new Section({ title, texts: [{ title: "", text }], open: !index }));
      elements.push(sections.at(-1).element);
    }
  });
  return { elements, sections };
}

function parameterList(parameters) {
  if (!parameters) return h("p", { class: "note" }, "No requests are recorded: an earlier version recorded this run, or the model ran on this machine.");
  return h("dl", { class: "facts" }, ...Object.entries(parameters).map(([name, value]) => fact(OPTIONS[name] ?? name, JSON.stringify(value))));
}

function* runFacts(run, endpoints, tools) {
  yield fact("Model", run.model);
  yield fact("Mode", MODES[run.mode] ?? run.mode);
  if (run.prompt) yield fact("Prompt", run.prompt);
  for (const url of endpoints) yield fact("Endpoint", url);
  if (run.mode !== "plain") yield fact("Network", [NETWORKS[run.network] ?? run.network, ...run.hosts].join(", "));
  if (tools) yield fact("Tools", tools.join(", ") || "none");
  if (run.inputs.length) yield fact("Inputs", run.inputs.map((path) => decodePath(path)).join(", "));
}

function* limitFacts(limits) {
  if (!Object.keys(limits).length) yield fact("Limits", "not recorded");
  const { summarise, ...numbers } = limits;
  if (summarise) yield fact("Older steps", "summarised near the context limit");
  for (const [name, value] of Object.entries(numbers)) yield fact(LIMITS[name] ?? name, value === null ? "none" : formatNumber(value));
}
