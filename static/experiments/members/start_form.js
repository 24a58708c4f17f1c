// What the forms that start a comparison and an evaluation share: members, status, and the button.

import { h } from "../../core/dom.js";
import { apiUrl } from "../../core/event_stream.js";
import { fetchJson } from "../../core/loading/fetch.js";
import { currentSettings, settingsKey } from "../../core/preferences.js";
import { showView } from "../../core/view.js";
import { MemberEditor } from "./editor.js";
import { memberRequest } from "./member.js";

/** The endpoint of the settings. */
export const settingsUrl = () => (currentSettings().base_url ?? "").trim();

/** The key of the settings, for their endpoint alone. */
export const keyOf = (baseUrl) => (baseUrl === settingsUrl() ? settingsKey(baseUrl) : "");

/** Subclasses implement `update()`, `missing()`, `request()` and `onStarted()`. */
export class StartForm {
  /** `least` is the number of members that there are at least. */
  constructor(kind, least) {
    this.kind = kind;
    this.starting = false;
    this.editor = new MemberEditor({ least, changed: () => this.update() });
    this.status = h("p", { class: "panel-status", role: "status" });
    this.startButton = h("button", { class: "plain start", onclick: () => this.start() }, `Start ${kind}`);
  }

  /** What keeps it from being started; empty if nothing does. */
  missing() {
    return "";
  }

  /** The request besides the members; may send files first. */
  async request() {
    return {};
  }

  update() {}

  /** Whether to start it, once everything is known. */
  async confirm(_request) {
    return true;
  }

  /** The server has taken the request. */
  onStarted(_request) {}

  setStatus(text, bad = false) {
    this.status.textContent = text;
    this.status.classList.toggle("bad", bad);
  }

  /** Ask the server to start it, and show it. */
  async start() {
    if (this.starting || this.startButton.disabled) return;
    const missing = this.missing();
    if (missing) return this.setStatus(missing, true);
    this.starting = this.startButton.disabled = true;
    this.setStatus("Starting…");
    try {
      const members = this.editor.members.map((member) => memberRequest(member, keyOf));
      const request = { ...(await this.request()), members };
      if (!(await this.confirm(request))) return;
      const { id } = await fetchJson(apiUrl(`${this.kind}s`), { method: "POST", body: JSON.stringify(request) });
      this.onStarted(request);
      await showView(this.kind, id);
    } catch (error) {
      this.setStatus(error.message, true);
    } finally {
      this.starting = this.startButton.disabled = false;
    }
  }
}
