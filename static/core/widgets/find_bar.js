// The find bar: a search field, the number of matches, and buttons for the previous and the next match.

import { h, icon, iconButton } from "../dom.js";

const TYPING_MS = 200; // ms after the last keystroke

/** Subclasses implement `search()`, `move(by)`, which steps through the matches, and `clear()`. */
export class FindBar {
  /** `label` names what is searched; closing focuses `back`; with `matchCase` there is a button for it. */
  constructor(label, { back, matchCase = false, element = h("div", { class: "search", role: "search", hidden: true }) }) {
    this.element = element;
    this.back = back;
    this.field = h("input", { type: "search", "aria-label": label, placeholder: label, autocomplete: "off", spellcheck: "false" });
    this.status = h("span", { class: "match-count num", role: "status" });
    this.case = h("button", { class: "quiet match-case", "aria-pressed": "false", "aria-label": "Match case", title: "Match case" }, "Aa");
    this.case.addEventListener("click", () => {
      this.case.setAttribute("aria-pressed", String(!this.matchesCase));
      this.search();
    });
    element.append(
      icon("find"),
      this.field,
      this.status,
      ...(matchCase ? [this.case] : []),
      iconButton("up", "Previous match", () => this.move(-1)),
      iconButton("down", "Next match", () => this.move(1)),
      iconButton("close", "Close find", () => this.close(true)),
    );
    this.field.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.search(), TYPING_MS);
    });
    element.addEventListener("keydown", (event) => this.onKey(event));
  }

  get matchesCase() {
    return this.case.ariaPressed === "true";
  }

  search() {}

  move(_by) {}

  clear() {}

  onKey(event) {
    if (event.key === "Escape") this.close(true);
    else if (event.key === "Enter" && event.target === this.field) this.move(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation(); // Escape would stop the run, Ctrl+Enter begin one
  }

  /** Show the bar and search for `text`, by default for what is in the field. */
  open(text = this.field.value) {
    this.element.hidden = false;
    this.field.value = text;
    this.field.select();
    this.field.focus();
    if (text) this.search();
  }

  /** Open the bar with the selected words, if there are any. */
  openWithSelection() {
    const selected = String(getSelection()).trim();
    this.open(selected.length < 100 && !selected.includes("\n") ? selected || undefined : undefined);
  }

  /** Hide the bar; `back` returns the focus. */
  close(back = false) {
    clearTimeout(this.timer);
    this.element.hidden = true;
    this.clear();
    if (back) this.back.focus({ preventScroll: true });
  }
}
