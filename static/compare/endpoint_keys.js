// The API keys with which a comparison or an evaluation is continued; the server does not store them.

import { h } from "../core/dom.js";
import { settingsKey } from "../core/preferences.js";

export class EndpointKeys {
  constructor() {
    this.typed = new Map();
    this.members = [];
    this.judgeUrl = "";
    this.endpoints = "";
    this.fields = h("div", { class: "fields" });
    this.element = h(
      "details",
      { class: "endpoint-keys owner-only", hidden: true },
      h("summary", {}, "API keys of other endpoints"),
      h("p", { class: "dim" }, "The server does not store keys. Before you continue, enter those of endpoints that are not in your settings."),
      this.fields,
    );
  }

  /** Show a field for each endpoint that is not the settings', while there is something to continue. */
  show(members, judgeUrl, visible) {
    this.members = members;
    this.judgeUrl = judgeUrl ?? "";
    const urls = [...new Set([...members.map(({ settings }) => settings.baseUrl), this.judgeUrl])].filter((url) => url && !settingsKey(url));
    this.element.hidden = !visible || !urls.length;
    if (this.endpoints === urls.join(" ")) return;
    this.endpoints = urls.join(" ");
    this.fields.replaceChildren(...urls.map((url) => h("label", { class: "field" }, h("span", { dir: "ltr" }, url), this.input(url))));
  }

  input(url) {
    const oninput = ({ target }) => this.typed.set(url, target.value.trim());
    return h("input", { type: "password", autocomplete: "off", spellcheck: "false", placeholder: "API key", value: this.typed.get(url) ?? "", oninput });
  }

  keyOf(url) {
    return this.typed.get(url) || settingsKey(url ?? "");
  }

  /** The keys as the server takes them, of members and the judge. */
  request() {
    const members = this.members.map(({ index, settings }) => ({ index, apiKey: this.keyOf(settings.baseUrl) })).filter(({ apiKey }) => apiKey);
    const judgeApiKey = this.judgeUrl ? this.keyOf(this.judgeUrl) : "";
    return { ...(members.length ? { members } : {}), ...(judgeApiKey ? { judgeApiKey } : {}) };
  }
}
