// What this browser remembers of its person: settings and what was sent. Never a key.

import { emit } from "./session.js";

const SETTINGS = "studio-settings";
const SENT = "studio-sent";
const MOST_SENT = 50;
const BUILTIN = "builtin";
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
    // without storage nothing is remembered
  }
}

let defaults = [];
let endpoint = ""; // empty where the built-in model was chosen, too
let keysOrigin = ""; // where the entered key is for

/** Whether an endpoint is set: tasks then go to its model. */
export const connected = () => Boolean(endpoint);

function heed(fields, values) {
  const before = endpoint;
  const chosen = (wanted) => values[fields.findIndex(({ name }) => name === wanted)]?.trim() ?? "";
  endpoint = chosen("model") === BUILTIN ? "" : chosen("base_url");
  if (endpoint !== before) emit("endpoint");
}

/** The fields' values with those that were chosen here before; `fields` say what they take. */
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

/** Keep what differs from the operator's own settings, so that theirs may change. */
export function remember(fields, values) {
  heed(fields, values);
  const chosen = values.flatMap((value, at) => (
    same(value, defaults[at]) || holdsSecret(fields[at], value) ? [] : [[fields[at].name, value]]));
  write(SETTINGS, Object.fromEntries(chosen));
}

/** Leaves the key as long as the endpoint is of the place that it was entered for; else none. */
export function bind(_, [url, key]) {
  const origin = URL.canParse(url ?? "") ? new URL(url).origin : "";
  const elsewhere = Boolean(key && keysOrigin && origin !== keysOrigin);
  keysOrigin = key && !elsewhere ? origin : "";
  if (elsewhere) emit("notice", { text: "The key was entered for another endpoint, and was forgotten. Enter this one's." });
  return elsewhere ? "" : { __type__: "update" }; // what has been typed meanwhile stays
}

/** The operator's own settings, and an empty key. */
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

/** The texts that were sent from here, the last one last. */
export const sent = () => read(SENT, []).filter((text) => typeof text === "string");

export function keepSent(text) {
  if (!text || text.length > MOST_CHARACTERS) return;
  write(SENT, [...sent().filter((other) => other !== text), text].slice(-MOST_SENT));
}
