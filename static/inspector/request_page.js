// The request of a step: how it is known, its parameters, messages and tools.

import { h } from "../core/dom.js";
import { firstLine, formatBytes, formatNumber } from "../core/format.js";
import { Section } from "./sections.js";

const FIDELITY = { exact: "Exact", rebuilt: "Rebuilt", given: "Not sent" };
const ROLES = { system: "System prompt", user: "User", assistant: "Model", tool: "Tool result" };
const ITEM_ROLES = { reasoning: "assistant", function_call: "assistant", function_call_output: "tool" }; // of Responses
const OPEN_MESSAGES = 2; // the last ones, which are new in the step

const CONVERSATION = ["messages", "input", "instructions", "system", "tools"];

/** Return the messages of a body in any of the APIs, the system prompt first. */
function conversation({ messages, input, instructions, system }) {
  const prompt = instructions ?? system;
  return [...(prompt ? [{ role: "system", content: prompt }] : []), ...(messages ?? input ?? [])];
}

const FOLDED = /\[([0-9a-f]{64}\.(?:png|jpg)): ([\d,]+ bytes)\]/g; // what stands for the bytes of a picture

/** Return the page's elements and sections; `outputUrl(name)` is the address of a picture. */
export function requestPage(request, outputUrl) {
  const { body } = request;
  const messages = conversation(body).map((message, index, { length }) => messageSection(message, index, index >= length - OPEN_MESSAGES, outputUrl));
  const tools = (body.tools ?? []).map(toolSection);
  const parameters = Object.entries(body).filter(([name]) => !CONVERSATION.includes(name));
  const elements = [
    fidelityLine(request),
    factList(request),
    heading("Parameters", parameters.length),
    parameters.length
      ? h("dl", { class: "facts" }, ...parameters.map(([name, value]) => fact(name, JSON.stringify(value))))
      : h("p", { class: "note" }, request.fidelity === "given" ? "The model took none from the run." : "They are not recorded."),
    request.hidden.length ? h("p", { class: "note" }, `Shown to the run's owner only: ${request.hidden.join(", ")}.`) : null,
    heading("Messages", messages.length),
    ...messages.map(({ element }) => element),
    heading("Tools", tools.length),
    ...tools.map(({ element }) => element),
    tools.length ? null : h("p", { class: "note" }, toolsNote(request)),
  ];
  return { elements: elements.filter(Boolean), sections: [...messages, ...tools] };
}

function fidelityLine({ fidelity, note }) {
  return h("p", { class: `fidelity ${fidelity}` }, h("b", {}, FIDELITY[fidelity] ?? fidelity), h("span", {}, note));
}

function factList({ at, url, has_query, has_key, size, sha256, response, api, left_out: leftOut }) {
  const facts = [];
  if (url) facts.push(fact("Address", `POST ${url}${has_query ? "?… (its query is not recorded)" : ""}`));
  if (has_key) facts.push(fact("Key", `sent as “${api === "messages" ? "x-api-key: …" : "Authorization: Bearer …"}”; not recorded`));
  if (leftOut?.length) facts.push(fact("Not sent", leftOut.join(", ")));
  if (at) facts.push(fact("Sent", new Date(at * 1000).toLocaleString()));
  if (size) facts.push(fact("Size", `${formatBytes(size)} (${formatNumber(size)} bytes)`));
  if (sha256) facts.push(fact("SHA-256", sha256));
  if (response?.status) facts.push(fact("Answered with", `status ${response.status}`));
  return facts.length ? h("dl", { class: "facts" }, ...facts) : null;
}

export const fact = (name, value) => h("div", {}, h("dt", { dir: "auto" }, name), h("dd", { dir: "auto" }, value));

export const heading = (name, count) => h("h3", {}, name, count === undefined ? null : h("small", { class: "num" }, ` ${formatNumber(count)}`));

function toolsNote({ fidelity, tool_call_style: style }) {
  if (style === "text") return "They are described in the system prompt: Tool calls is set to “Read from the text”.";
  return fidelity === "rebuilt" && !style ? "They are not recorded." : "None were sent.";
}

function messageSection(message, index, open, outputUrl) {
  const { role = ITEM_ROLES[message.type], content = message.output, tool_calls: calls = itemCalls(message), ...rest } = message;
  const texts = [];
  for (const field of ["reasoning_content", "reasoning"]) if (rest[field]) texts.push({ title: `Reasoning (${field})`, text: String(rest[field]) });
  for (const field of ["reasoning_details", "summary", "encrypted_content"])
    if (rest[field]?.length) texts.push({ title: field, text: JSON.stringify(rest[field], null, 2) });
  const text = typeof content === "string" ? content : content === null || content === undefined ? "" : JSON.stringify(content, null, 2);
  if (text) texts.push({ title: "", text });
  for (const call of calls ?? []) texts.push({ title: `Call of ${call.function?.name} · ${call.id}`, text: prettyJson(call.function?.arguments ?? "") });
  const names = (calls ?? []).map((call) => call.function?.name).join(", ");
  const note = firstLine(text || names, 80);
  const pictures = [...text.matchAll(FOLDED)].map(([, name, size], at) => ({ name: `Picture ${at + 1}, ${size}`, url: outputUrl(name) }));
  return new Section({ title: `${index + 1}. ${ROLES[role] ?? role}`, note, texts, open, pictures });
}

function itemCalls({ type, call_id: id, name, arguments: text }) {
  return type === "function_call" ? [{ id, function: { name, arguments: text } }] : undefined;
}

function toolSection({ function: named, ...flat }) {
  const tool = named ?? flat;
  return new Section({
    title: tool?.name ?? "tool",
    note: firstLine(tool?.description ?? "", 80),
    texts: [
      { title: "", text: tool?.description ?? "" },
      { title: "Parameters", text: JSON.stringify(tool?.parameters ?? tool?.input_schema ?? {}, null, 2) },
    ],
  });
}

function prettyJson(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
