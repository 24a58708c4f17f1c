// The members' columns side by side, or one at a time as tabs where the page is narrow.

import { h } from "../core/dom.js";
import { MemberColumn } from "./column.js";
import { inOrder } from "./outcome.js";

const NARROW = matchMedia("(max-width: 900px)");

export class Columns {
  /** `onChoose()`: another repetition is to be followed; `onStop(index)`: a member is to stop. */
  constructor({ onChoose, onStop }) {
    this.onChoose = onChoose;
    this.onStop = onStop;
    this.columns = [];
    this.selected = 0;
    this.heads = h("div", { class: "heads" });
    this.body = h("div", { class: "member-columns" });
    this.element = h("section", { class: "members", "aria-label": "Timelines" }, this.heads, this.body);
    this.body.addEventListener("scroll", () => (this.heads.scrollLeft = this.body.scrollLeft), { passive: true });
    this.heads.addEventListener("scroll", () => (this.body.scrollLeft = this.heads.scrollLeft), { passive: true });
    this.heads.addEventListener("keydown", (event) => this.onKey(event));
    this.onWidth = () => this.arrange();
    NARROW.addEventListener("change", this.onWidth);
    this.clock = setInterval(() => document.hidden || this.columns.forEach((column) => column.tick()), 1000);
  }

  show(comparison) {
    if (!this.columns.length) this.build(comparison);
    for (const column of this.columns) column.show(comparison.members[column.index], comparison);
  }

  build(comparison) {
    const { onChoose, onStop } = this;
    this.columns = inOrder(comparison).map((member) => new MemberColumn(member, { baseline: member.index === comparison.baseline, onChoose, onStop }));
    this.element.dataset.members = this.columns.length;
    this.heads.append(...this.columns.map(({ head }) => head));
    this.body.append(...this.columns.map(({ element }) => element));
    this.columns.forEach(({ title }, at) => title.addEventListener("click", () => this.select(at)));
    this.arrange();
  }

  /** The runs whose events are needed: those of visible columns. */
  get followed() {
    const visible = NARROW.matches ? this.columns.slice(this.selected, this.selected + 1) : this.columns;
    return visible.map(({ run }) => run?.id).filter(Boolean);
  }

  /** The runs that the columns show, as { run, label }. */
  get shown() {
    return this.columns.filter(({ run }) => run).map(({ run, member }) => ({ run: run.id, label: member.label }));
  }

  /** The run that the user chose for a member, or null. */
  chosen({ index }) {
    return this.columns.find((column) => column.index === index)?.chosen ?? null;
  }

  receive(messages) {
    for (const column of this.columns) column.receive(messages);
  }

  select(at) {
    if (!NARROW.matches) return this.columns[at].unfold(!this.columns[at].whole);
    this.selected = at;
    this.arrange();
    return this.onChoose();
  }

  /** Set the roles: tabs and their panels where narrow, else headed columns. */
  arrange() {
    const narrow = NARROW.matches;
    this.element.classList.toggle("tabs", narrow);
    setRole(this.heads, narrow && "tablist");
    this.heads.setAttribute("aria-label", "Members");
    this.columns.forEach(({ title, head, element, tools }, at) => {
      const shown = !narrow || at === this.selected;
      setRole(title, narrow && "tab");
      setRole(element, narrow && "tabpanel");
      head.classList.toggle("selected", narrow && shown);
      title.tabIndex = shown ? 0 : -1;
      title.title = narrow ? "" : "Unfold or fold this run";
      if (narrow) title.setAttribute("aria-selected", String(shown));
      else title.removeAttribute("aria-selected");
      if (narrow) title.setAttribute("aria-controls", element.id);
      else title.removeAttribute("aria-controls");
      element.hidden = !shown;
      if (narrow) element.prepend(tools);
      else head.append(tools);
    });
  }

  onKey(event) {
    const at = this.columns.findIndex(({ title }) => title === event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const next = (to + this.columns.length) % this.columns.length;
    if (NARROW.matches) this.select(next);
    this.columns[next].title.focus();
  }

  close() {
    clearInterval(this.clock);
    NARROW.removeEventListener("change", this.onWidth);
    for (const column of this.columns) column.close();
  }
}

function setRole(element, role) {
  if (role) element.setAttribute("role", role);
  else element.removeAttribute("role");
}
