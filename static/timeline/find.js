// Search in a run: the server searches all of it, the page steps through the matches.

import { h, icon } from "../core/dom.js";
import { plural } from "../core/format.js";
import { ask, runApi, session } from "../core/session.js";

const PAUSE = 200; // ms after the last keystroke
const MOST = 500; // highlights per match location

export class Find {
  /** `goTo(place)` scrolls to a location and returns its element. */
  constructor(box, thread, goTo) {
    Object.assign(this, { box, thread, goTo, found: [], words: "", now: 0 });
    const tool = (name, label, act) =>
      h("button", { type: "button", class: "quiet", "aria-label": label, title: label, onclick: act }, icon(name));
    this.field = h("input", { type: "search", "aria-label": "Find in run", placeholder: "Find in run", autocomplete: "off", spellcheck: "false" });
    this.tally = h("span", { class: "tally num", role: "status" });
    this.line = h("span", { class: "line" });
    box.append(icon("find"), this.field, this.tally,
      tool("above", "Previous match", () => this.move(-1)), tool("below", "Next match", () => this.move(1)),
      tool("close", "Close find", () => this.close(true)), this.line);
    this.field.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.look(), PAUSE);
    });
    box.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || !session.begun) return;
      if (event.target.closest?.("input, textarea, select, [contenteditable], [role=dialog]")) return;
      event.preventDefault();
      this.open();
    });
  }

  key(event) {
    if (event.key === "Escape") this.close(true);
    else if (event.key === "Enter" && event.target === this.field) this.move(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation(); // Escape would stop the run, Ctrl+Enter begin one
  }

  open() {
    this.box.hidden = false;
    this.field.select();
    this.field.focus();
    if (this.field.value) this.look();
  }

  close(back = false) {
    clearTimeout(this.timer);
    this.box.hidden = true;
    this.words = "";
    this.found = [];
    this.marks?.clear();
    if (back) this.thread.focus();
  }

  /** Search for the current text and show the first match. */
  async look() {
    this.now = 0;
    if (await this.fetch()) await this.show();
  }

  async move(by) {
    clearTimeout(this.timer);
    if (this.field.value !== this.words) return this.look();
    if (session.alive && !(await this.fetch())) return undefined; // new events may contain matches
    const { length } = this.found;
    if (length) this.now = (this.now + by + length) % length;
    return this.show();
  }

  /** Fetch the matches of the current text; return whether they are up to date. */
  async fetch() {
    const words = this.field.value;
    this.words = words;
    try {
      const { found } = words ? await ask(runApi(`find?q=${encodeURIComponent(words)}`)) : { found: [] };
      if (words !== this.words) return false;
      this.found = found;
    } catch {
      this.tally.textContent = "Search failed";
      return false;
    }
    return true;
  }

  async show() {
    const { found, now, words } = this;
    this.marks?.clear();
    this.tally.textContent = !words ? "" : found.length ? `${now + 1} of ${plural(found.length, "match", "matches")}` : "No matches";
    this.tally.classList.toggle("none", Boolean(words) && !found.length);
    this.line.textContent = found.length ? `${where(found[now])}: ${found[now].line}` : "";
    for (const each of this.thread.children) this.mark(each);
    if (!found.length) return;
    const element = await this.goTo(found[now]);
    if (element && this.words === words) this.point(element);
  }

  /** Highlight the matches in an element added to the page. */
  mark(element) {
    if (!this.words || this.box.hidden) return;
    this.marks ??= new Marks("found");
    for (const range of ranges(element, this.words)) this.marks.add(range);
  }

  /** Scroll to the first match in a location. */
  point(element) {
    const all = [...ranges(element, this.words)].map(live);
    const holder = (range) => range.startContainer.parentElement;
    const shown = all.filter((each) => holder(each).closest("details:not([open])") || each.getClientRects().length);
    const range = shown.find((each) => !holder(each).closest("summary")) ?? shown[0];
    if (!range) return;
    const folded = holder(range).closest("summary") ? null : holder(range).closest("details");
    if (folded) folded.open = true;
    const text = holder(range).closest("pre");
    if (text) text.scrollTop += range.getBoundingClientRect().top - text.getBoundingClientRect().top - 40;
    const [seen, view] = [range.getBoundingClientRect(), this.thread.getBoundingClientRect()];
    if (seen.top < view.top || seen.bottom > view.bottom) this.thread.scrollTop += seen.top - view.top - 80;
  }
}

/** Highlighted ranges, if the browser supports the CSS Custom Highlight API. */
class Marks {
  constructor(name) {
    if (!globalThis.CSS?.highlights) return;
    this.all = new Highlight();
    CSS.highlights.set(name, this.all);
  }

  add(range) {
    this.all?.add(range);
  }

  clear() {
    this.all?.clear();
  }
}

function where({ part, step }) {
  if (part === "step") return `step ${step}`;
  return part === "asked" ? "task" : "answer";
}

/** Find matches in an element's text, also across text nodes. */
function* ranges(root, words) {
  const nodes = [];
  let text = "";
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    nodes.push([text.length, walker.currentNode]);
    text += walker.currentNode.data;
  }
  const pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"), "giu");
  let at = 0;
  let count = 0;
  const place = (offset) => {
    while (at + 1 < nodes.length && nodes[at + 1][0] <= offset) at++;
    return [nodes[at][1], offset - nodes[at][0]];
  };
  for (const match of text.matchAll(pattern)) {
    const [startContainer, startOffset] = place(match.index);
    const [endContainer, last] = place(match.index + match[0].length - 1);
    yield new StaticRange({ startContainer, startOffset, endContainer, endOffset: last + 1 });
    if (++count >= MOST) return;
  }
}

/** A Range, which has a position on the screen, from a StaticRange. */
function live({ startContainer, startOffset, endContainer, endOffset }) {
  const range = new Range();
  range.setStart(startContainer, startOffset);
  range.setEnd(endContainer, endOffset);
  return range;
}
