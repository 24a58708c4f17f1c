// What the forms that start a comparison and an evaluation share: members as chips, status, and the button.

import { builtinAvailable } from "../../core/instance.js";
import { h, icon } from "../../core/dom.js";
import { apiUrl } from "../../core/event_stream.js";
import { fetchJson } from "../../core/loading/fetch.js";
import { currentSettings, defaultSettings, settingsKey } from "../../core/preferences.js";
import { showView } from "../../core/view.js";
import { memberForm, setStatus } from "./form.js";
import { firstMembers, MAX_MEMBERS, memberRequest, memberTitle, nextMember } from "./member.js";

/** The endpoint of the settings. */
export const settingsUrl = () => (currentSettings().base_url ?? "").trim();

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

  /** Ask the server to start it, and show it. */
  async send(request) {
    const { id } = await fetchJson(apiUrl(`${this.kind}s`), { method: "POST", body: JSON.stringify(request) });
    this.onStarted(request);
    await showView(this.kind, id);
  }

  /** The server has taken the request. */
  onStarted(_request) {}

  setStatus(text, bad = false) {
    setStatus(this.status, text, bad);
  }

  /** Check what was entered, and send it. */
  async start() {
    if (this.starting || this.startButton.disabled) return;
    const missing = this.missing();
    if (missing) return this.setStatus(missing, true);
    this.starting = this.startButton.disabled = true;
    this.setStatus("Starting…");
    try {
      const members = this.editor.members.map((member) => memberRequest(member, settingsKey));
      const request = { ...(await this.request()), members };
      if (!(await this.confirm(request))) return;
      await this.send(request);
    } catch (error) {
      this.setStatus(error.message, true);
    } finally {
      this.starting = this.startButton.disabled = false;
    }
  }
}

/** The members that are being put together: chips, and the form of one. */
class MemberEditor {
  /** `changed(members)` is called after each change; there are at least `least` members. */
  constructor({ least, changed }) {
    this.least = least;
    this.changed = changed;
    this.members = [];
    this.edited = null;
    this.chips = h("div", { class: "member-chips", role: "list", "aria-label": "Members" });
    this.form = h("div", { class: "form-place" });
  }

  /** Begin with the connected model, without a sandbox and with one. */
  reset() {
    this.members = firstMembers(currentSettings(), defaultSettings());
    this.edited = null;
    this.form.replaceChildren();
    this.draw();
  }

  draw() {
    const { members } = this;
    const addButton = h("button", { class: "quiet add-member", disabled: members.length >= MAX_MEMBERS, onclick: () => this.add() }, "+ Add member");
    if (addButton.disabled) addButton.title = `At most ${MAX_MEMBERS} members`;
    this.chips.replaceChildren(...members.map((member) => h("span", { role: "listitem" }, this.chip(member))), h("span", { role: "listitem" }, addButton));
    this.changed(members);
  }

  chip(member) {
    const title = this.titleOf(member);
    const editing = this.edited === member;
    return h(
      "span",
      { class: `chip member ${editing ? "editing" : ""}` },
      h("button", { class: "name", "aria-expanded": String(editing), "aria-label": `Edit ${title}`, onclick: () => this.edit(editing ? null : member) }, title),
      h(
        "button",
        {
          class: "quiet",
          "aria-label": `Remove ${title}`,
          title: "Remove",
          disabled: this.members.length <= this.least,
          onclick: () => this.remove(member),
        },
        icon("close"),
      ),
    );
  }

  /** What a member is called; those that are called the same are numbered. */
  titleOf(member) {
    const title = memberTitle(member, this.members);
    const same = this.members.filter((other) => memberTitle(other, this.members) === title);
    return same.length > 1 ? `${title} ${same.indexOf(member) + 1}` : title;
  }

  edit(member) {
    this.edited = member;
    this.draw();
    this.form.replaceChildren();
    if (member) this.form.append(memberForm(member, { builtin: builtinAvailable, changed: () => this.draw() }));
    if (member) this.form.querySelector("select")?.focus();
    else this.chips.querySelector("button")?.focus();
  }

  add() {
    const [first] = firstMembers(currentSettings(), defaultSettings());
    this.members.push(this.members.length ? nextMember(this.members) : first);
    this.edit(this.members.at(-1));
  }

  remove(member) {
    this.members = this.members.filter((other) => other !== member);
    this.edit(this.edited === member ? null : this.edited);
  }
}
