// A form beside a call: one field, a button that submits it, and Cancel.

import { h } from "../core/dom.js";

const MAX_ROWS = 12;

/**
 * Return the form's `element` and its `problem`, a hidden paragraph for what went wrong.
 *
 * Ctrl+Enter submits and Escape cancels. `onSubmit` gets the field's text.
 */
export function createForm({ label, field, submit, onSubmit, onCancel }) {
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const element = h(
    "form",
    { class: "choices owner-only" },
    h("label", {}, label, field),
    h("button", { type: "submit", class: "primary" }, submit),
    h("button", { onclick: onCancel }, "Cancel"),
    problem,
  );
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    onSubmit(field.value);
  });
  element.addEventListener("keydown", (event) => {
    if (event.key === "Escape") onCancel();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) element.requestSubmit();
    else return;
    event.preventDefault();
    event.stopPropagation(); // Escape would stop the run, Ctrl+Enter send a message
  });
  return { element, problem };
}

/** Return a field for a text of several lines. */
export function createTextArea(text) {
  const rows = Math.min(MAX_ROWS, Math.max(2, text.split("\n").length));
  const field = h("textarea", { rows: String(rows), spellcheck: "false", autocapitalize: "off", dir: "auto" });
  field.value = text;
  return field;
}
