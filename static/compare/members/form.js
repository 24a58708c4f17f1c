// The fields of one member, and of the expected answer.

import { h } from "../../core/dom.js";
import { keyOfEndpoint, namedEndpoints } from "../../settings/endpoints.js";
import { BUILTIN, CHECKS, isBuiltin } from "./member.js";

const NAMED = "named:"; // in front of an endpoint's name

/** A labelled field. */
export function field(label, input, { wide = false } = {}) {
  return h("label", { class: `field ${wide ? "wide" : ""}` }, h("span", {}, label), input);
}

export const text = (value, set, attributes = {}) =>
  h("input", { type: "text", value, autocomplete: "off", spellcheck: "false", oninput: ({ target }) => set(target.value.trim()), ...attributes });

export const number = (value, set, attributes = {}) =>
  h("input", {
    type: "number",
    value: value ?? "",
    oninput: ({ target }) => set(target.value === "" || !target.validity.valid ? null : target.valueAsNumber),
    ...attributes,
  });

function choice(value, options, set) {
  const select = h("select", { onchange: ({ target }) => set(target.value) }, ...options.map(([name, label]) => h("option", { value: name }, label)));
  select.value = value;
  return select;
}

/** The form of a member; `changed()` is called after each change, `prompts` are the prompts' names. */
export function memberForm(member, { prompts, builtin, changed }) {
  const set = (name) => (value) => {
    member[name] = value;
    changed();
  };
  const endpoint = h("div", { class: "fields endpoint" });
  const parameters = parameterFields(member, set);
  const showEndpoint = () => {
    endpoint.hidden = parameters.hidden = isBuiltin(member);
    endpoint.replaceChildren(
      field("Endpoint", text(member.baseUrl, set("baseUrl"), { type: "url", placeholder: "https://…/v1", inputmode: "url" })),
      field("Model", text(member.model === BUILTIN ? "" : member.model, set("model"))),
      field("API key", text(member.apiKey, set("apiKey"), { type: "password", placeholder: "as in the settings", autocomplete: "off" })),
    );
  };
  const chooseModel = (value) => {
    const named = namedEndpoints().find(({ name }) => value === NAMED + name);
    if (value === BUILTIN) Object.assign(member, { model: BUILTIN });
    else if (named) Object.assign(member, { baseUrl: named.baseUrl, model: named.model, api: named.api ?? "auto", apiKey: keyOfEndpoint(named.baseUrl) });
    else Object.assign(member, { model: "", baseUrl: member.baseUrl || "https://" });
    showEndpoint();
    changed();
  };
  const models = [["endpoint", "An endpoint’s"], ...(builtin ? [[BUILTIN, "Built-in"]] : []), ...namedEndpoints().map(({ name }) => [NAMED + name, name])];
  showEndpoint();
  return h(
    "div",
    { class: "member-form", role: "group", "aria-label": "Member" },
    h(
      "div",
      { class: "fields" },
      field(
        "Mode",
        choice(
          member.mode,
          [
            ["sandbox", "With sandbox"],
            ["plain", "Without (documents in prompt)"],
          ],
          set("mode"),
        ),
      ),
      models.length > 1 ? field("Model", choice(isBuiltin(member) ? BUILTIN : "endpoint", models, chooseModel)) : null,
      field(
        "Prompt",
        choice(
          member.prompt,
          prompts.map((name) => [name, name]),
          set("prompt"),
        ),
      ),
      field("Maximum steps", number(member.maxSteps, set("maxSteps"), { min: 1, step: 1, placeholder: "as usual" })),
      field("Label", text(member.label, set("label"), { maxlength: 80, placeholder: "automatic" })),
    ),
    endpoint,
    parameters,
  );
}

const UNSET = ["", "endpoint default"];
const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const APIS = [
  ["auto", "Automatic"],
  ["chat", "Chat Completions"],
  ["responses", "Responses"],
  ["messages", "Messages"],
];
const named = (names) => [UNSET, ...names.map((name) => [name, name])];

/** The request parameters of a member, folded. */
function parameterFields(member, set) {
  const amount = (label, name, attributes) => field(label, number(member[name], set(name), { placeholder: UNSET[1], ...attributes }));
  const pick = (label, name, options) => field(label, choice(member[name], options, set(name)));
  return h(
    "details",
    { class: "parameters" },
    h("summary", {}, "Advanced"),
    h(
      "div",
      { class: "fields" },
      pick("API", "api", APIS),
      pick("Reasoning effort", "effort", named(EFFORTS)),
      pick("Thinking", "thinking", named(["on", "off"])),
      pick("Verbosity", "verbosity", named(["low", "medium", "high"])),
      amount("Seed", "seed", { min: 0, max: 2 ** 32 - 1, step: 1 }),
      amount("Temperature", "temperature", { min: 0, max: 2, step: "any" }),
      amount("Top p", "topP", { min: 0, max: 1, step: "any" }),
      amount("Maximum tokens of an answer", "maxTokens", { min: 1, step: 1 }),
      field("Additional fields (JSON)", text(member.extraBody, set("extraBody"), { placeholder: '{"top_k": 20}' }), { wide: true }),
    ),
  );
}

/** The fields of the expected answer; `expected` is changed in place, its `kind` is empty for none. */
export function expectedFields(expected, changed) {
  const details = h("div", { class: "fields" });
  const set =
    (name, of = expected) =>
    (value) => {
      of[name] = value;
      changed();
    };
  const show = () => {
    const { kind } = expected;
    const judge = (expected.judge ??= { model: "", baseUrl: "", prompt: "", apiKey: "" });
    const answer = h("textarea", { rows: 1, oninput: ({ target }) => set("answer")(target.value.trim()), placeholder: kind === "choice" ? "A" : "" });
    answer.value = expected.answer;
    details.hidden = !kind;
    details.replaceChildren(
      field("Answer", answer, { wide: true }),
      ...(kind === "number" ? [field("Tolerance", number(expected.tolerance, set("tolerance"), { min: 0, step: "any", placeholder: "0" }))] : []),
      ...(kind === "judge" ? [...judgeFields(judge, changed)] : []),
    );
  };
  const choose = (kind) => {
    expected.kind = kind;
    show();
    changed();
  };
  show();
  const kinds = [["", "not known"], ...Object.entries(CHECKS)];
  return h("div", { class: "expected" }, field("Expected answer", choice(expected.kind, kinds, choose)), details);
}

/** The fields of a judge, which is changed in place. */
export function judgeFields(judge, changed) {
  const set = (name) => (value) => {
    judge[name] = value;
    changed();
  };
  return [
    field("Judge’s model", text(judge.model, set("model"))),
    field("Judge’s endpoint", text(judge.baseUrl, set("baseUrl"), { type: "url", placeholder: "https://…/v1" })),
    field("Judge’s API key", text(judge.apiKey, set("apiKey"), { type: "password", placeholder: "as in the settings" })),
    field("Judge’s prompt", promptField(judge, set("prompt")), { wide: true }),
  ];
}

function promptField(judge, set) {
  const area = h("textarea", {
    rows: 2,
    placeholder: "the usual one; {task}, {expected} and {answer} are filled in",
    oninput: ({ target }) => set(target.value),
  });
  area.value = judge.prompt;
  return area;
}
