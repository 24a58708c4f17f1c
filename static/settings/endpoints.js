// The endpoints that the user has named, and what fills the form: one of them, a local server, pasted text.

import { h } from "../core/dom.js";
import { apiUrl, emit, on, reported } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { formatNumber } from "../core/format.js";
import { readStored, writeStored } from "../core/local_storage.js";
import { currentSettings } from "../core/preferences.js";
import { parsePastedEndpoint } from "./pasted_endpoint.js";

const ENDPOINTS = "endpoints"; // name in local storage
const MAX_ENDPOINTS = 20;
const MAX_NAME = 60;
const FIELD = "#endpoint textarea";
const KEY = "#key input";

/** Keys by endpoint, in memory only. */
const keys = new Map();

let wanted = { baseUrl: "", apiKey: "", model: "", api: "auto" };

const isEndpoint = (value) => typeof value?.name === "string" && typeof value.baseUrl === "string" && typeof value.model === "string";

/** The named endpoints: `name`, `baseUrl`, `model`, `api`. Their keys are not stored. */
export const namedEndpoints = () => readStored(ENDPOINTS, []).filter(isEndpoint).slice(0, MAX_ENDPOINTS);

/** The key that was entered for a named endpoint since the page was loaded, or "". */
export const keyOfEndpoint = (baseUrl) => keys.get(baseUrl) ?? "";

/** Return the values that Gradio puts into the fields of endpoint, key, model and API. */
export const filledEndpoint = () => [wanted.baseUrl, wanted.apiKey, wanted.model || null, wanted.api || "auto"];

const fieldValue = (selector) => /** @type {HTMLInputElement | null} */ (document.querySelector(selector))?.value ?? "";

/** Put an endpoint into the form. */
function fill({ baseUrl = "", apiKey = "", model = "", api = "auto" }) {
  wanted = { baseUrl, apiKey, model, api };
  emit("endpoint-filled", baseUrl);
  document.getElementById("fill-endpoint").click();
}

/** Fill the form from pasted text; what the text does not name stays, the key only at the same endpoint. */
function onPaste(event) {
  const found = parsePastedEndpoint(event.clipboardData?.getData("text") ?? "");
  if (!found) return;
  event.preventDefault();
  const settings = currentSettings();
  const before = (settings.base_url ?? "").trim();
  const baseUrl = found.baseUrl || before;
  const apiKey = found.apiKey || (baseUrl === before ? fieldValue(KEY) : "");
  fill({ baseUrl, apiKey, model: found.model || (baseUrl === before ? (settings.model ?? "") : ""), api: baseUrl === before ? settings.api : "auto" });
  const parts = [found.baseUrl && "endpoint", found.apiKey && "key", found.model && "model"].filter(Boolean);
  emit("endpoint-note", `Taken from the pasted text: ${parts.join(", ")}.`);
}

/** Mount the list of named endpoints and the buttons beside it. */
export function mountEndpoints(element) {
  const place = element.querySelector(".endpoints");
  const note = h("p", { class: "note", role: "status" });
  const list = h("select", { "aria-label": "Saved in this browser", onchange: () => choose(list.value) });
  const servers = h("ul", { class: "local-servers", hidden: true });
  const remove = h("button", { class: "quiet", onclick: () => forget(list.value) }, "Forget");
  const find = h("button", { class: "quiet find-local", onclick: () => reported(findLocal()) }, "Find local servers");
  const say = (text) => (note.textContent = text);

  const show = (name = "") => {
    const named = namedEndpoints();
    list.replaceChildren(
      h("option", { value: "" }, named.length ? "Choose a named endpoint…" : "No named endpoints"),
      ...named.map((each) => h("option", { value: each.name }, each.name)),
    );
    list.value = name;
    list.disabled = !named.length;
    remove.hidden = !name;
  };
  const choose = (name) => {
    show(name);
    const chosen = namedEndpoints().find((each) => each.name === name);
    if (chosen) fill({ ...chosen, apiKey: keyOfEndpoint(chosen.baseUrl) });
  };
  const store = (endpoints) => writeStored(ENDPOINTS, endpoints.slice(-MAX_ENDPOINTS));
  const save = () => {
    const { base_url: url, model, api } = currentSettings();
    const baseUrl = (url ?? "").trim();
    if (!baseUrl) return say("Enter an endpoint first.");
    if (/[@?]/.test(baseUrl)) return say("An address with a password or a query is not stored.");
    const named = namedEndpoints().filter((each) => each.baseUrl !== baseUrl || each.model !== (model ?? ""));
    const name = newName([model, hostOf(baseUrl)].filter(Boolean).join(" at ") || baseUrl, named);
    const key = fieldValue(KEY).trim();
    if (key) keys.set(baseUrl, key);
    store([...named, { name, baseUrl, model: model ?? "", api: api ?? "auto" }]);
    show(name);
    return say(key ? "Saved. The key is kept until the page is closed." : "Saved.");
  };
  const forget = (name) => {
    const named = namedEndpoints();
    const { baseUrl } = named.find((each) => each.name === name) ?? {};
    const left = named.filter((each) => each.name !== name);
    store(left);
    if (!left.some((each) => each.baseUrl === baseUrl)) keys.delete(baseUrl);
    show();
    say("Forgotten.");
  };
  const findLocal = async () => {
    say("Looking for servers on the studio’s machine…");
    servers.hidden = true;
    try {
      const { servers: found } = await fetchJson(apiUrl("models/local"), { method: "POST", repeatable: true });
      say(found.length ? "" : "None answers at the usual ports of Ollama, LM Studio, vLLM and llama.cpp.");
      servers.hidden = !found.length;
      servers.replaceChildren(...found.map(serverRow));
    } catch (error) {
      say(error.message);
    }
  };
  const serverRow = ({ name, base_url: baseUrl, models, count }) =>
    h(
      "li",
      {},
      h("button", { class: "quiet", onclick: () => fill({ baseUrl, model: models.length === 1 ? models[0] : "" }) }, name),
      " ",
      h("small", { dir: "auto" }, models.slice(0, 3).join(", "), count > 3 ? ` and ${formatNumber(count - 3)} more` : ""),
    );

  place.append(h("div", { class: "endpoint-line" }, list, h("button", { class: "quiet", onclick: save }, "Save"), remove, find), servers, note);
  on("endpoint-note", say);
  document.addEventListener("paste", (event) => /** @type {HTMLElement} */ (event.target).matches?.(FIELD) && onPaste(event), true);
  show();
}

/** A name that no other endpoint has: two paths at one host, or two long names, would have the same. */
function newName(wished, named) {
  const taken = new Set(named.map(({ name }) => name));
  let name = wished.slice(0, MAX_NAME);
  for (let number = 2; taken.has(name); number++) name = `${wished.slice(0, MAX_NAME - 5)} (${number})`;
  return name;
}

const hostOf = (url) => (URL.canParse(url) ? new URL(url).host : "");
