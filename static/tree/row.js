// One row of the tree, created once and updated in place.

import { h, icon } from "../core/dom.js";
import { fileKind } from "../core/format.js";
import { shortAge, entrySize, markText, pastText, splitName, visibleName } from "./labels.js";

/** A row that is not loaded. */
export function createPlaceholder() {
  return h("div", { class: "row blank", "aria-hidden": "true" }, h("span", { class: "name" }));
}

export class TreeRow {
  constructor(entry) {
    const { kind } = entry;
    this.kind = kind;
    this.path = entry.path;
    this.caret = kind === "folder" ? icon("caret") : h("span", { class: "svg-icon" });
    this.name = h("bdi", { class: "name", title: entry.name }, ...nameElements(entry.name));
    this.aside = h("bdi", { class: "aside" });
    this.mark = h("span", { class: "new" });
    this.size = h("small", { class: "num size" });
    this.age = h("small", { class: "num age" });
    const menuButton = h("button", { class: "quiet row-menu", tabindex: "-1", "aria-hidden": "true", title: "Actions" }, "⋯");
    this.element = h(
      "div",
      { class: `row ${kind}`, role: "treeitem", tabindex: "-1", draggable: "true", "aria-label": entry.name },
      this.caret,
      icon(iconName(entry)),
      this.name,
      this.aside,
      this.mark,
      this.size,
      this.age,
      menuButton,
    );
    this.element.dataset.path = entry.path;
    this.attributeValues = {};
  }

  /** `state`: place, level, count, index, selected, current, cut, open, folder, mark, unreadBelow, now. */
  update(entry, state) {
    this.entry = entry;
    const folder = entry.kind === "folder";
    const past = state.shownStep !== null;
    const age = entry.kind === "file" && !past ? shortAge(state.now - entry.modified) : "";
    const size = entrySize(entry, state.open ? state.folder : null);
    const mark = past ? pastText(entry, state.shownStep) : folder ? (state.unreadBelow && !state.open ? `${state.unreadBelow} new` : "") : markText(state.mark);
    this.attributes({
      "aria-level": state.level,
      "aria-setsize": state.count,
      "aria-posinset": state.index + 1,
      "aria-selected": state.selected,
      "aria-expanded": folder && !state.flat ? state.open : null,
      "aria-current": state.current ? "true" : null,
      "aria-label": [entry.name, details(entry), mark, size, age && `modified ${age === "now" ? "just now" : `${age} ago`}`].filter(Boolean).join(", "),
      style: `--level:${state.level};--place:${state.place}`,
    });
    this.text(this.aside, details(entry));
    this.text(this.mark, mark);
    this.text(this.size, size);
    this.text(this.age, age);
    this.mark.classList.toggle("unread", past ? !entry.later && entry.step === state.shownStep : folder || Boolean(state.mark?.unread));
    this.element.classList.toggle("later", Boolean(entry.later));
    this.element.classList.toggle("cut", state.cut);
  }

  attributes(values) {
    for (const [name, value] of Object.entries(values)) {
      const text = value === null ? null : String(value);
      if (this.attributeValues[name] === text) continue;
      this.attributeValues[name] = text;
      if (text === null) this.element.removeAttribute(name);
      else this.element.setAttribute(name, text);
    }
  }

  text(place, text) {
    if (place.textContent === text) return;
    if (place === this.aside) place.replaceChildren(...visibleName(text));
    else place.textContent = text;
  }
}

function nameElements(name) {
  const [head, tail] = splitName(name);
  return tail ? [h("span", { class: "head" }, ...visibleName(head)), h("span", { class: "tail" }, ...visibleName(tail))] : visibleName(name);
}

const iconName = ({ kind, name }) => (kind === "folder" ? "folder" : kind === "link" ? "link" : fileKind(name));

/** The target of a link, or the location of a file found by a filter. */
const details = (entry) => [entry.target ? `→ ${entry.target}` : "", entry.location ? `in ${entry.location}` : ""].filter(Boolean).join(" ");
