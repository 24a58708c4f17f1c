// The part of a tool card in which the user edits what the model sees as the call's result.

import { h } from "../core/dom.js";
import { createForm, createTextArea } from "./form.js";
import { editObservation } from "./requests.js";

/** @type {WeakMap<Element, ObservationEdit>} by the tool card's element */
const edits = new WeakMap();
/** @type {Set<ObservationEdit>} those that offer an edit now */
const offered = new Set();

export class ObservationEdit {
  /** `card` is the tool card of an ended call, `original` what the tool returned. */
  constructor(card, original) {
    this.card = card;
    this.run = card.run;
    this.original = original;
    this.seen = original; // by the model
    this.element = h("div", { class: "approval observation-edit", role: "group", "aria-label": "What the model sees", hidden: true });
    card.element.dataset.call = card.id;
    edits.set(card.element, this);
    this.update();
  }

  /** Whether this user may edit it now. */
  get isEditable() {
    return Boolean(this.run.steering?.editable?.includes(this.card.id)) && this.run.canEdit && !this.run.moment;
  }

  /** Offer an edit while it is possible; what the user is entering stays until then. */
  update() {
    const editable = this.isEditable;
    if (editable === offered.has(this)) return;
    editable ? offered.add(this) : offered.delete(this);
    if (editable && !this.card.toggled) this.card.element.open = true; // as it was before a reload
    this.#show();
  }

  #show() {
    const isEdited = this.seen !== this.original;
    this.element.hidden = !isEdited && !this.isEditable;
    this.element.replaceChildren(...(isEdited ? this.#result() : []), ...(this.isEditable ? [this.#choice()] : []));
  }

  *#result() {
    yield h("p", { class: "why" }, `${this.run.canEdit ? "You" : "The owner"} edited this result. What the model sees:`);
    yield h("pre", { class: "seen", tabindex: "0", "aria-label": "Edited result" }, this.seen);
    const original = h("pre", { tabindex: "0", "aria-label": "What the tool returned" }, this.original);
    yield h("details", { class: "original" }, h("summary", {}, "What the tool returned"), original);
  }

  #choice() {
    const onclick = () => this.edit();
    return h("div", { class: "choices owner-only" }, h("button", { onclick }, "Edit what the model sees…"));
  }

  edit() {
    const field = createTextArea(this.seen);
    const onCancel = () => {
      this.#show();
      this.#focus();
    };
    const onSubmit = (text) => this.save(text, form.problem);
    const form = createForm({ label: "What the model sees", field, submit: "Save", onSubmit, onCancel });
    this.element.querySelector(".choices").replaceWith(form.element);
    field.focus();
  }

  async save(text, problem) {
    const unchanged = text === this.seen; // then no event follows
    try {
      await editObservation(this.run, this.card.id, text);
      if (unchanged) this.#show();
    } catch (error) {
      problem.hidden = false;
      problem.textContent = error.message;
    }
  }

  /** Show what the user made of it: its `observation_edited`. */
  apply(event) {
    const hadFocus = this.element.contains(document.activeElement);
    this.seen = event.observation;
    this.#show();
    if (hadFocus) this.#focus();
  }

  #focus() {
    const button = /** @type {HTMLElement | null} */ (this.element.querySelector(".choices button"));
    (button ?? this.card.summary).focus();
  }
}

/** Offer, whenever the run begins or ends to wait, what is possible now. */
export function mountObservationEdits(run) {
  for (const name of ["steering", "permissions", "moment"])
    run.on(name, () => {
      for (const edit of offered) edit.element.isConnected ? edit.update() : offered.delete(edit);
      for (const id of run.steering?.editable ?? [])
        for (const card of document.querySelectorAll(`.card[data-call="${CSS.escape(id)}"]`)) edits.get(card)?.update();
    });
}
