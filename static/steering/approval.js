// The part of a tool card in which the user decides on a call that waits.

import { h } from "../core/dom.js";
import { plural } from "../core/format.js";
import { withHiddenMarked } from "../core/text/hidden_characters.js";
import { createForm, createTextArea } from "./form.js";
import { decide } from "./requests.js";
import { whyOf } from "./rules.js";

const FIELDS = "input, textarea, select, [contenteditable], [role=dialog]";
const DECISIONS = { allowed: "allowed this call.", edited: "edited this call before it was executed.", denied: "denied this call." };

const WHOLLY = { threshold: 1 };
const SHOWN_AS_TEXT = new Set(["file_text", "old_str", "new_str"]); // parameters of the editor that its card shows

/** @type {Set<Approval>} approvals on the page whose call may still wait */
const open = new Set();
/** @type {Element | null} what got the focus after a decision: from there it goes to the next call that waits */
let left = null;

export class Approval {
  /** `card` is the tool card, `event` its `approval_requested`. */
  constructor(card, event) {
    this.card = card;
    this.run = card.run;
    this.event = event;
    this.reviewed = null;
    this.element = h("div", { class: "approval", role: "group", "aria-label": "Approval", tabindex: "-1" });
    this.original = isBash(event) ? event.arguments.command : JSON.stringify(event.arguments, null, 2);
    this.parameters = isBash(event) ? null : createParameters(event);
    this.unseen = new Set(); // ends of what is to be approved that were not in view yet
    open.add(this);
    this.update();
  }

  /** Call it once the card has the element: Allow is possible when the end of what will run was in view. */
  watchEnds() {
    const observer = new IntersectionObserver((entries) => {
      for (const { intersectionRatio, target } of entries) {
        if (intersectionRatio < 1) continue;
        observer.unobserve(target);
        this.unseen.delete(target);
      }
      this.#showExtent();
    }, WHOLLY);
    for (const shown of [this.card.pre, this.parameters]) {
      if (!shown) continue;
      const end = shown.appendChild(h("span", { class: "end-of-text" }));
      this.unseen.add(end);
      observer.observe(end);
    }
    this.#showExtent();
    this.#takeFocus(); // it is in the page now
  }

  #takeFocus() {
    if (this.isActive && left && document.activeElement === left) this.element.focus();
  }

  #showExtent() {
    const allow = /** @type {HTMLButtonElement | null} */ (this.element.querySelector("button.primary"));
    if (!allow) return;
    const lines = this.original.split("\n").length;
    allow.disabled = this.unseen.size > 0;
    const extent = `${plural(lines, "line")}, ${plural(this.original.length, "character")}`;
    this.extent.textContent = this.unseen.size ? `${extent}: scroll to the end to allow it` : extent;
  }

  /** Allow the call, or first show the end of what is to be approved. */
  allow() {
    const [end] = this.unseen;
    return end ? end.scrollIntoView({ block: "nearest" }) : this.send("allow");
  }

  /** Whether the run waits for this decision now, and this user may make it. */
  get isActive() {
    return !this.reviewed && this.isWaiting && this.run.canEdit && !this.run.moment;
  }

  get isWaiting() {
    return this.run.steering?.waiting?.call_id === this.event.call_id;
  }

  /** Show what is possible now; what the user is entering stays. */
  update() {
    if (this.reviewed || (this.isActive && this.element.querySelector("button"))) return;
    const why = h("p", { class: "why" }, `Waits for ${this.run.canEdit ? "your" : "the owner’s"} approval: ${whyOf(this.event.reasons)}.`);
    const hadFocus = this.element.contains(document.activeElement);
    this.element.replaceChildren(...[this.parameters, why, this.isActive ? this.#choices() : null].filter((each) => each !== null));
    if (hadFocus) this.#leave();
    this.#showExtent();
    this.#takeFocus();
  }

  #choices() {
    const choice = (name, key, onclick, kind = "") =>
      h("button", { class: kind, "aria-keyshortcuts": key, onclick }, `${name} `, h("kbd", { "aria-hidden": "true" }, key));
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    this.extent = h("span", { class: "extent", role: "status" });
    return h(
      "div",
      { class: "choices owner-only" },
      choice("Allow", "a", () => this.allow(), "primary"),
      choice("Edit…", "e", () => this.edit()),
      choice("Deny…", "d", () => this.deny()),
      this.extent,
      this.problem,
    );
  }

  /** Offer a field instead of the choices. */
  #form(label, field, submit, onSubmit) {
    const cancel = () => {
      this.element.querySelector("form")?.remove();
      this.element.querySelector(".choices").hidden = false;
      this.element.querySelector(".choices button").focus();
    };
    const form = createForm({ label, field, submit, onSubmit, onCancel: cancel });
    this.problem = form.problem;
    this.element.querySelector(".choices").hidden = true;
    this.element.append(form.element);
    field.focus();
  }

  edit() {
    const field = createTextArea(this.original);
    const label = isBash(this.event) ? "Command" : "Parameters (JSON)";
    this.#form(label, field, "Execute", (text) => this.sendEdited(text));
  }

  sendEdited(text) {
    if (isBash(this.event)) return this.send("edit", { arguments: { command: text } });
    try {
      return this.send("edit", { arguments: JSON.parse(text) });
    } catch (error) {
      return this.#report(`This is not JSON: ${error.message}`);
    }
  }

  deny() {
    const field = h("input", { type: "text", placeholder: "The model gets it as the call’s result", autocomplete: "off", dir: "auto" });
    this.#form("Reason", field, "Deny", (reason) => this.send("deny", { reason }));
  }

  async send(decision, rest) {
    if (this.sending) return; // a second click
    this.sending = true;
    try {
      await decide(this.run, this.event.call_id, decision, rest);
    } catch (error) {
      this.#report(error.message);
    }
    this.sending = false;
  }

  #report(text) {
    this.problem.hidden = false;
    this.problem.textContent = text;
  }

  /** Show what was decided: its `call_reviewed`. */
  review(event) {
    open.delete(this);
    const hadFocus = this.element.contains(document.activeElement);
    this.reviewed = event.decision;
    const decision = `${this.run.canEdit ? "You" : "The owner"} ${DECISIONS[event.decision]}`;
    const reason = event.reason ? h("q", { dir: "auto" }, event.reason) : null;
    this.element.replaceChildren(h("p", { class: "why" }, decision, reason ? " " : "", reason));
    if (event.decision === "edited") {
      const original = h("pre", { tabindex: "0", "aria-label": "The call as the model made it" }, withHiddenMarked(this.original));
      this.element.append(h("details", { class: "original" }, h("summary", {}, "The call as the model made it"), original));
    }
    if (hadFocus) this.#leave();
  }

  /** The focus stays at the call, and goes on to the next one that waits. */
  #leave() {
    this.card.summary.focus();
    left = this.card.summary;
  }

  /** The round ended before a decision. */
  cancel() {
    open.delete(this);
    if (!this.reviewed) this.element.remove();
  }
}

/** All parameters that the card does not show as the program; null if there are none. */
function createParameters({ arguments: given }) {
  const lines = Object.entries(given)
    .filter(([name]) => !SHOWN_AS_TEXT.has(name))
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value, null, 2)}`);
  return lines.length ? h("pre", { class: "parameters", tabindex: "0", "aria-label": "Parameters" }, withHiddenMarked(lines.join("\n"))) : null;
}

const isBash = ({ name }) => name === "execute_bash";

/** Show, whenever what waits has changed, what is possible now. */
export function mountApproval(run) {
  for (const name of ["steering", "permissions", "moment"])
    run.on(name, () => {
      for (const approval of open) {
        if (approval.element.isConnected || approval.isWaiting) approval.update();
        else open.delete(approval); // its step was shown anew
      }
    });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector("dialog[open]")) return;
    const target = /** @type {Element} */ (event.target);
    // The file tree and previews have keys of their own.
    if (target.closest?.(FIELDS) || !(target === document.body || target.closest?.(".timeline"))) return;
    const active = [...open].find((each) => each.isActive && each.element.isConnected);
    const act = active && { a: () => active.allow(), e: () => active.edit(), d: () => active.deny() }[event.key];
    if (!act || active.element.querySelector("form")) return;
    event.preventDefault();
    left = document.activeElement;
    act();
  });
}
