// The user's settings and sent texts in local storage. Never stores the API key.

import { setFieldValue } from "./dom.js";
import { emit, on } from "./event_stream.js";
import { readStored, writeStored } from "./local_storage.js";

const SETTINGS = "settings"; // names in local storage
const SENT_TEXTS = "sent";
const MAX_SENT = 50;
const BUILTIN = "builtin";
const ENDPOINT = "#endpoint textarea";
const KEY = "#key input";
const MAX_LENGTH = 20_000;

let defaults = [];
let fieldsShown = []; // descriptions of the settings' fields
let shown = []; // their values
let endpoint = ""; // also empty if the built-in model is selected
let model = ""; // of the endpoint; empty if it is to choose

/** Whether an endpoint is set, whose model then receives tasks. */
export const hasEndpoint = () => Boolean(endpoint);

/** What the connected model is called. */
export const connectedModel = () => model || "your model";

const byName = (values) => Object.fromEntries(fieldsShown.map(({ name }, at) => [name, values[at]]));

/** The values of the settings' fields by name; the API key is not among them. */
export const currentSettings = () => byName(shown);

/** The operator's defaults by name. */
export const defaultSettings = () => byName(defaults);

/** The entered API key if it is for this endpoint, "" being the operator's; else "". */
export function settingsKey(baseUrl) {
  const chosen = currentSettings().base_url?.trim() ?? "";
  const isSame = chosen === baseUrl || (!baseUrl && chosen === (defaultSettings().base_url ?? ""));
  return isSame ? (document.querySelector(KEY)?.value ?? "") : "";
}

/** The description of a field of the settings; its choices are [label, value]. */
export const settingField = (name) => fieldsShown.find((field) => field.name === name);

export const promptNames = () => settingField("prompt")?.choices.map(([, value]) => value) ?? ["general"];

function updateEndpoint(fields, values) {
  [fieldsShown, shown] = [fields, values];
  const before = [endpoint, model].join(" ");
  const settingOf = (field) => values[fields.findIndex(({ name }) => name === field)]?.trim() ?? "";
  endpoint = settingOf("model") === BUILTIN ? "" : settingOf("base_url");
  model = endpoint && settingOf("model");
  if ([endpoint, model].join(" ") !== before) emit("endpoint");
  emit("settings");
}

/** Return the fields' values, with those chosen earlier in this browser; `fields` describe the inputs. */
export function restoreSettings(fields, values) {
  defaults = values;
  const { steps, ...stored } = readStored(SETTINGS, {});
  stored.max_steps ??= steps; // its name in earlier versions
  const restored = values.map((value, at) => {
    const storedValue = stored[fields[at].name];
    return accepts(fields[at], storedValue) ? storedValue : value;
  });
  updateEndpoint(fields, restored);
  return restored;
}

/** Store only differences from the operator's defaults, so that those may change. */
export function saveSettings(fields, values) {
  updateEndpoint(fields, values);
  const changed = values.flatMap((value, at) => (equal(value, defaults[at]) || hasSecret(fields[at], value) ? [] : [[fields[at].name, value]]));
  writeStored(SETTINGS, Object.fromEntries(changed));
}

/** Forget the key if the endpoint's origin is no longer the key's. Reads the input elements, because the values that Gradio passes are older. */
export function clearKeyWithEndpoint(settings) {
  const field = (selector) => settings.querySelector(selector);
  const currentOrigin = () => originOf(field(ENDPOINT).value);
  let keyOrigin = ""; // the origin for which the key was entered
  on("endpoint-filled", (baseUrl) => (keyOrigin = originOf(baseUrl))); // the key that is filled in is this endpoint's
  settings.addEventListener("input", ({ target }) => {
    if (target.matches(KEY)) keyOrigin = target.value ? currentOrigin() : "";
  });
  settings.addEventListener("focusout", ({ target }) => {
    const key = field(KEY);
    if (!target.matches(ENDPOINT) || !key.value) return;
    if (keyOrigin && currentOrigin() !== keyOrigin) {
      setFieldValue(key, "");
      emit("notice", { text: "Key cleared because the endpoint changed. Enter the key for this endpoint." });
    } else keyOrigin = currentOrigin();
  });
}

const originOf = (url) => (URL.canParse(url) ? new URL(url).origin : "");

/** Restore the operator's defaults and an empty key. */
export function resetSettings() {
  writeStored(SETTINGS, {});
  return [...defaults, ""];
}

const equal = (one, other) => (one ?? "") === (other ?? "");

const hasSecret = ({ name }, value) => name === "base_url" && /[@?]/.test(value);

function accepts({ choices, minimum, maximum }, value) {
  if (value === undefined || typeof value === "object") return false;
  if (choices) return choices.some(([, known]) => known === value);
  if (minimum === undefined) return true;
  return typeof value === "number" && value >= minimum && value <= (maximum ?? Infinity);
}

/** The texts sent from this browser, oldest first. */
export const sentTexts = () => readStored(SENT_TEXTS, []).filter((text) => typeof text === "string");

export function saveSentText(text) {
  if (!text || text.length > MAX_LENGTH) return;
  writeStored(SENT_TEXTS, [...sentTexts().filter((other) => other !== text), text].slice(-MAX_SENT));
}
