// The members of a comparison or an evaluation that is being put together: chips, and the form of one.

import { builtinAvailable } from "../../core/instance.js";
import { h, icon } from "../../core/dom.js";
import { currentSettings, defaultSettings } from "../../core/preferences.js";
import { memberForm } from "./form.js";
import { firstMembers, MAX_MEMBERS, memberTitle, nextMember } from "./member.js";

export class MemberEditor {
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
    this.members.push(nextMember(this.members));
    this.edit(this.members.at(-1));
  }

  remove(member) {
    this.members = this.members.filter((other) => other !== member);
    this.edit(this.edited === member ? null : this.edited);
  }
}
