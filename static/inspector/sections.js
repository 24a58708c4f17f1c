// Foldable texts of the inspector, filled when they are opened, and a search in all of them.

import { h, icon } from "../core/dom.js";
import { formatNumber, plural } from "../core/format.js";
import { Highlights, matchRanges, toRange } from "../core/widgets/highlights.js";

const MAX_SHOWN = 60_000; // characters of one text; the rest is shown on request
const MAX_MATCHES = 1000;

/** A foldable part with one or more texts, each `{title, text}`; text is never interpreted. The `pictures` below them, each `{name, url}`, are folded. */
export class Section {
  constructor({ title, note = "", texts, open = false, level = "", pictures = [] }) {
    this.texts = texts;
    this.pictures = pictures;
    this.body = h("div", { class: "texts" });
    const characters = texts.reduce((sum, { text }) => sum + text.length, 0);
    this.element = h(
      "details",
      { class: `section ${level}` },
      h(
        "summary",
        {},
        icon("caret"),
        h("b", {}, title),
        note ? h("span", { class: "dim", dir: "auto" }, note) : null,
        h("small", { class: "num" }, plural(characters, "character")),
      ),
      this.body,
    );
    this.element.addEventListener("toggle", () => this.element.open && this.fill());
    if (open) this.open();
  }

  open() {
    this.fill();
    this.element.open = true;
  }

  fill() {
    if (this.filled) return;
    this.filled = true;
    this.shown = this.texts.map(({ title, text }) => {
      const node = document.createTextNode(text.slice(0, MAX_SHOWN));
      const pre = h("pre", { tabindex: "0", dir: "auto", "aria-label": title || "Text" }, node);
      const more =
        text.length > MAX_SHOWN
          ? h("button", { class: "plain", onclick: () => this.showAll(node, text, more) }, `Show all ${plural(text.length, "character")}`)
          : null;
      this.body.append(...[title ? h("h4", {}, title) : null, pre, more].filter(Boolean));
      return { node, pre, more, text };
    });
    this.body.append(...this.pictures.map(foldedPicture));
  }

  showAll(node, text, more) {
    node.data = text;
    more?.remove();
  }

  /** Whether the text occurs in the section; all of it is shown then. */
  reveal(query) {
    const wanted = query.toLocaleLowerCase();
    if (!this.texts.some(({ text }) => text.toLocaleLowerCase().includes(wanted))) return false;
    this.open();
    for (const { node, more, text } of this.shown)
      if (node.data.length < text.length && text.toLocaleLowerCase().includes(wanted)) this.showAll(node, text, more);
    return true;
  }
}

/** A picture that is loaded when it is opened. */
function foldedPicture({ name, url }) {
  const element = h("details", { class: "picture" }, h("summary", {}, icon("caret"), icon("image"), h("span", {}, name)));
  element.addEventListener("toggle", () => element.open && element.children.length < 2 && element.append(h("img", { src: url, alt: name })));
  return element;
}

/** Search in sections: opens those with matches and steps through them. */
export class SectionSearch {
  constructor(scroller) {
    this.scroller = scroller;
    this.sections = [];
    this.matches = [];
    this.current = 0;
    this.highlights = new Highlights("inspected");
    this.field = h("input", { type: "search", "aria-label": "Find in this request", placeholder: "Find", autocomplete: "off", spellcheck: "false" });
    this.status = h("span", { class: "match-count num", role: "status" });
    this.element = h("div", { class: "find-field", role: "search" }, icon("find"), this.field, this.status);
    this.field.addEventListener("input", () => this.search());
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.move(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape" && this.field.value) {
        this.field.value = "";
        this.search();
      } else return;
      event.preventDefault();
      event.stopPropagation(); // Escape would close the dialog
    });
  }

  setSections(sections) {
    this.sections = sections;
    this.search(false);
  }

  search(scroll = true) {
    const query = this.field.value;
    this.highlights.clear();
    this.matches = [];
    this.current = 0;
    if (!query) return void (this.status.textContent = "");
    for (const section of this.sections) if (this.matches.length < MAX_MATCHES && section.reveal(query)) this.collect(section, query);
    this.show(scroll);
    return undefined;
  }

  collect(section, query) {
    for (const { pre } of section.shown)
      for (const range of matchRanges(pre, query)) {
        if (this.matches.length >= MAX_MATCHES) return;
        this.highlights.add(range);
        this.matches.push(range);
      }
  }

  move(by) {
    const { length } = this.matches;
    if (length) this.current = (this.current + by + length) % length;
    this.show(true);
  }

  show(scroll) {
    const { length } = this.matches;
    const more = length >= MAX_MATCHES ? "+" : "";
    this.status.textContent = length ? `${formatNumber(this.current + 1)} of ${formatNumber(length)}${more}` : "No matches";
    if (!length || !scroll) return;
    const range = toRange(this.matches[this.current]);
    const pre = range.startContainer.parentElement;
    pre.scrollTop += range.getBoundingClientRect().top - pre.getBoundingClientRect().top - 40;
    const view = this.scroller.getBoundingClientRect();
    const { top, bottom } = range.getBoundingClientRect();
    if (top < view.top || bottom > view.bottom) this.scroller.scrollTop += top - view.top - 100;
  }
}
