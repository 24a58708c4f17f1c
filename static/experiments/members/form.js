// The fields of one member, of the expected answer, and of a judge.

import { h } from "../../core/dom.js";
import { settingField } from "../../core/preferences.js";
import { keyOfEndpoint, namedEndpoints } from "../../settings/endpoints.js";
import { BUILTIN, CHECKS, isBuiltin, PARAMETERS, settingName } from "./member.js";

const NAMED = "named:"; // in front of an endpoint's name

/** A labelled field. */
export const field = (label, input, { wide = false } = {}) => h("label", { class: `field ${wide ? "wide" : ""}` }, h("span", {}, label), input);

/** Set the text of a form's status line; `bad` marks an error. */
export function setStatus(status, text, bad = false) {
  status.textContent = text;
  status.classList.toggle("bad", bad);
}

/** A function that returns setters of an object's values; `changed()` is called after each change. */
export const setterOf = (object, changed) => (name) => (value) => {
  object[name] = value;
  changed();
};

const text = (value, set, attributes = {}) =>
  h("input", { type: "text", value, autocomplete: "off", spellcheck: "false", oninput: ({ target }) => set(target.value.trim()), ...attributes });

export const number = (value, set, attributes = {}) =>
  h("input", {
    type: "number",
    value: value ?? "",
    oninput: ({ target }) => set(target.value === "" || !target.validity.valid ? null : target.valueAsNumber),
    ...attributes,
  });

function lines(rows, value, set, placeholder) {
  const area = h("textarea", { rows, placeholder, oninput: ({ target }) => set(target.value.trim()) });
  area.value = value;
  return area;
}

/** A choice; `options` are [label, value], the first of them for a value that is not set. */
function choice(value, options, set) {
  const select = h("select", { onchange: ({ target }) => set(target.value) }, ...options.map(([label, name]) => h("option", { value: name }, label)));
  select.value = value;
  return select;
}

/** The field of a member's value that the settings have as well, described by theirs. */
function settingOf(member, name, set) {
  const { label, choices, minimum, maximum, step } = settingField(settingName(name));
  const value = member[name];
  const placeholder = name === "maxSteps" ? "as usual" : "endpoint default";
  if (choices) return field(label, choice(value, choices, set));
  if (step) return field(label, number(value, set, { min: minimum, max: maximum, step, placeholder }));
  if (typeof value === "boolean") {
    const options = [
      ["Yes", "true"],
      ["No", "false"],
    ];
    return field(
      label,
      choice(String(value), options, (chosen) => set(chosen === "true")),
    );
  }
  return field(label, text(value, set, { placeholder: '{"top_k": 20}' }));
}

/** The form of a member; `changed()` is called after each change. */
export function memberForm(member, { builtin, changed }) {
  const set = setterOf(member, changed);
  const setting = (name) => settingOf(member, name, set(name));
  const endpoint = h("div", { class: "fields endpoint" });
  const fields = Object.keys(PARAMETERS).map((name) => [name, setting(name)]);
  const pdfs = Object.fromEntries(fields).pdfs;
  const chooseMode = (value) => {
    pdfs.hidden = value !== "plain"; // with a sandbox the model opens them itself
    set("mode")(value);
  };
  const parameters = h("details", { class: "parameters" }, h("summary", {}, "Advanced"), h("div", { class: "fields" }, ...fields.map(([, each]) => each)));
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
  const models = [["An endpoint’s", "endpoint"], ...(builtin ? [["Built-in", BUILTIN]] : []), ...namedEndpoints().map(({ name }) => [name, NAMED + name])];
  showEndpoint();
  pdfs.hidden = member.mode !== "plain";
  return h(
    "div",
    { class: "member-form", role: "group", "aria-label": "Member" },
    h(
      "div",
      { class: "fields" },
      settingOf(member, "mode", chooseMode),
      models.length > 1 ? field("Model", choice(isBuiltin(member) ? BUILTIN : "endpoint", models, chooseModel)) : null,
      setting("prompt"),
      setting("maxSteps"),
      field("Label", text(member.label, set("label"), { maxlength: 80, placeholder: "automatic" })),
    ),
    endpoint,
    parameters,
  );
}

/** The fields of the expected answer; `expected` is changed in place, its `kind` is empty for none. */
export function expectedFields(expected, changed) {
  const details = h("div", { class: "fields" });
  const set = setterOf(expected, changed);
  const show = () => {
    const { kind } = expected;
    details.hidden = !kind;
    details.replaceChildren(
      field("Answer", lines(1, expected.answer, set("answer"), kind === "choice" ? "A" : ""), { wide: true }),
      ...(kind === "number" ? [field("Tolerance", number(expected.tolerance, set("tolerance"), { min: 0, step: "any", placeholder: "0" }))] : []),
      ...(kind === "judge" ? judgeFields(expected.judge, changed) : []),
    );
  };
  const choose = (kind) => {
    expected.kind = kind;
    show();
    changed();
  };
  show();
  const kinds = [["not known", ""], ...Object.entries(CHECKS).map(([kind, title]) => [title, kind])];
  return h("div", { class: "expected" }, field("Expected answer", choice(expected.kind, kinds, choose)), details);
}

/** The fields of a judge, which is changed in place. */
export function judgeFields(judge, changed) {
  const set = setterOf(judge, changed);
  return [
    field("Judge’s model", text(judge.model, set("model"))),
    field("Judge’s endpoint", text(judge.baseUrl, set("baseUrl"), { type: "url", placeholder: "https://…/v1" })),
    field("Judge’s API key", text(judge.apiKey, set("apiKey"), { type: "password", placeholder: "as in the settings" })),
    field("Judge’s prompt", lines(2, judge.prompt, set("prompt"), "the usual one; {task}, {expected} and {answer} are filled in"), { wide: true }),
  ];
}

/** The settings of a judge that has more than its usual ones: sampling, and words that its own prompt asks for. */
export function judgeSettings(judge, changed) {
  const set = setterOf(judge, changed);
  const usual = { placeholder: "as usual" };
  return [
    field("Judge’s temperature", number(judge.temperature, set("temperature"), { ...usual, min: 0, max: 2, step: 0.1 })),
    field("Judge’s tokens, at most", number(judge.maxTokens, set("maxTokens"), { ...usual, min: 1, step: 1 })),
    field("Judge’s word for right", text(judge.right, set("right"), { placeholder: "RIGHT", maxlength: 80 })),
    field("Judge’s word for wrong", text(judge.wrong, set("wrong"), { placeholder: "WRONG", maxlength: 80 })),
  ];
}
