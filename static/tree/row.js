// One row of the tree, created once and updated in place.

import { h, icon } from "../core/dom.js";
import { kindOf } from "../core/format.js";
import { age, extent, markText, nameEnds, nameParts } from "./labels.js";

/** A row that is not loaded. */
export function blank() {
  return h("div", { class: "row blank", "aria-hidden": "true" }, h("span", { class: "name" }));
}

export class Row {
  constructor(entry) {
    const { kind } = entry;
    this.kind = kind;
    this.path = entry.path;
    this.caret = kind === "folder" ? icon("caret") : h("span", { class: "ic" });
    this.name = h("bdi", { class: "name", title: entry.name }, ...cuttable(entry.name));
    this.aside = h("bdi", { class: "aside" });
    this.mark = h("span", { class: "new" });
    this.size = h("small", { class: "num size" });
    this.age = h("small", { class: "num age" });
    const more = h("button", { type: "button", class: "quiet dots", tabindex: "-1", "aria-hidden": "true", title: "Actions" }, "⋯");
    this.element = h("div", { class: `row ${kind}`, role: "treeitem", tabindex: "-1", draggable: "true", "aria-label": entry.name },
      this.caret, icon(sign(entry)), this.name, this.aside, this.mark, this.size, this.age, more);
    this.element.dataset.path = entry.path;
    this.said = {};
  }

  /** `state`: place, level, count, index, selected, current, cut, open, folder, mark, fresh, now. */
  update(entry, state) {
    this.entry = entry;
    const folder = entry.kind === "folder";
    const aged = entry.kind === "file" ? age(state.now - entry.changed) : "";
    const size = extent(entry, state.open ? state.folder : null);
    const mark = folder ? (state.fresh && !state.open ? `${state.fresh} new` : "") : markText(state.mark);
    this.attributes({
      "aria-level": state.level, "aria-setsize": state.count, "aria-posinset": state.index + 1,
      "aria-selected": state.selected, "aria-expanded": folder && !state.flat ? state.open : null,
      "aria-current": state.current ? "true" : null,
      "aria-description": [aside(entry), mark, size, aged && `modified ${aged === "now" ? "just now" : `${aged} ago`}`].filter(Boolean).join(", "),
      style: `--level:${state.level};--place:${state.place}`,
    });
    this.text(this.aside, aside(entry));
    this.text(this.mark, mark);
    this.text(this.size, size);
    this.text(this.age, aged);
    this.mark.classList.toggle("unseen", folder || Boolean(state.mark?.unseen));
    this.element.classList.toggle("cut", state.cut);
  }

  attributes(wanted) {
    for (const [name, value] of Object.entries(wanted)) {
      const text = value === null ? null : String(value);
      if (this.said[name] === text) continue;
      this.said[name] = text;
      if (text === null) this.element.removeAttribute(name);
      else this.element.setAttribute(name, text);
    }
  }

  text(place, text) {
    if (place.textContent === text) return;
    if (place === this.aside) place.replaceChildren(...nameParts(text));
    else place.textContent = text;
  }
}

function cuttable(name) {
  const [head, tail] = nameEnds(name);
  return tail ? [h("span", { class: "head" }, ...nameParts(head)), h("span", { class: "tail" }, ...nameParts(tail))] : nameParts(name);
}

const sign = ({ kind, name }) => (kind === "folder" ? "folder" : kind === "link" ? "link" : kindOf(name));

/** The target of a link, or the location of a file found by a filter. */
const aside = (entry) => [entry.to ? `→ ${entry.to}` : "", entry.in ? `in ${entry.in}` : ""].filter(Boolean).join(" ");
