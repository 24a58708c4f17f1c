// The user's settings and sent texts in local storage. Never stores the API key.

import { fill } from "./dom.js";
import { emit } from "./session.js";

const SETTINGS = "studio-settings";
const SENT = "studio-sent";
const MOST_SENT = 50;
const BUILTIN = "builtin";
const ENDPOINT = "#endpoint textarea";
const KEY = "#key input";
const MOST_CHARACTERS = 20_000;

function read(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function write(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // storage is unavailable
  }
}

let defaults = [];
let endpoint = ""; // also empty if the built-in model is selected

/** Whether an endpoint is set, whose model then receives tasks. */
export const connected = () => Boolean(endpoint);

function heed(fields, values) {
  const before = endpoint;
  const chosen = (wanted) => values[fields.findIndex(({ name }) => name === wanted)]?.trim() ?? "";
  endpoint = chosen("model") === BUILTIN ? "" : chosen("base_url");
  if (endpoint !== before) emit("endpoint");
}

/** Return the fields' values, with those chosen earlier in this browser; `fields` describe the inputs. */
export function recall(fields, values) {
  defaults = values;
  const known = read(SETTINGS, {});
  const recalled = values.map((value, at) => {
    const chosen = known[fields[at].name];
    return takes(fields[at], chosen) ? chosen : value;
  });
  heed(fields, recalled);
  return recalled;
}

/** Store only differences from the operator's defaults, so that those may change. */
export function remember(fields, values) {
  heed(fields, values);
  const chosen = values.flatMap((value, at) => (
    same(value, defaults[at]) || holdsSecret(fields[at], value) ? [] : [[fields[at].name, value]]));
  write(SETTINGS, Object.fromEntries(chosen));
}

/**
 * Forget the key if the endpoint changes to another origin than the key was entered for.
 * Reads the input elements, because the values that Gradio passes are older.
 */
export function guardKey(drawer) {
  const value = (selector) => drawer.querySelector(selector);
  const place = () => originOf(value(ENDPOINT).value);
  let entered = ""; // the origin for which the key was entered
  drawer.addEventListener("input", ({ target }) => {
    if (target.matches(KEY)) entered = target.value ? place() : "";
  });
  drawer.addEventListener("focusout", ({ target }) => {
    const key = value(KEY);
    if (!target.matches(ENDPOINT) || !key.value) return;
    if (entered && place() !== entered) {
      fill(key, "");
      emit("notice", { text: "Key cleared because the endpoint changed. Enter the key for this endpoint." });
    } else entered = place();
  });
}

const originOf = (url) => (URL.canParse(url) ? new URL(url).origin : "");

/** Restore the operator's defaults and an empty key. */
export function forget() {
  write(SETTINGS, {});
  return [...defaults, ""];
}

const same = (one, other) => (one ?? "") === (other ?? "");

const holdsSecret = ({ name }, value) => name === "base_url" && /[@?]/.test(value);

function takes({ choices, minimum, maximum }, value) {
  if (value === undefined || typeof value === "object") return false;
  if (choices) return choices.includes(value);
  if (minimum === undefined) return true;
  return typeof value === "number" && value >= minimum && value <= (maximum ?? Infinity);
}

/** The texts sent from this browser, oldest first. */
export const sent = () => read(SENT, []).filter((text) => typeof text === "string");

export function keepSent(text) {
  if (!text || text.length > MOST_CHARACTERS) return;
  write(SENT, [...sent().filter((other) => other !== text), text].slice(-MOST_SENT));
}
