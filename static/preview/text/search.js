// Search in a text that is only partly loaded: the server searches, part by part.

import { h, icon } from "../../core/dom.js";
import { formatNumber } from "../../core/format.js";

const TYPING_MS = 200; // ms after the last keystroke
const MAX_MATCHES = 10_000; // matches; refine more frequent words
const MAX_HIGHLIGHTS = 2000; // highlights on the page

export class TextSearch {
  constructor(reader) {
    Object.assign(this, { reader, matches: [], query: "", round: 0, current: -1 });
    const tool = (name, label, act) =>
      h("button", { type: "button", class: "quiet icon-button", "aria-label": label, title: label, onclick: act }, icon(name));
    this.field = h("input", { type: "search", "aria-label": "Find in this file", placeholder: "Find in this file", autocomplete: "off", spellcheck: "false" });
    this.case = h("button", { type: "button", class: "quiet match-case", "aria-pressed": "false", "aria-label": "Match case", title: "Match case", onclick: () => this.toggle() }, "Aa");
    this.status = h("span", { class: "match-count num", role: "status" });
    this.element = h("div", { class: "search", role: "search", hidden: true }, icon("find"), this.field, this.status, this.case,
      tool("up", "Previous match", () => this.move(-1)), tool("down", "Next match", () => this.move(1)),
      tool("close", "Close find", () => this.close(true)));
    this.field.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.search(), TYPING_MS);
    });
    this.element.addEventListener("keydown", (event) => this.onKey(event));
  }

  onKey(event) {
    if (event.key === "Escape") this.close(true);
    else if (event.key === "Enter" && event.target === this.field) this.move(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation(); // Escape would stop the run
  }

  toggle() {
    this.case.setAttribute("aria-pressed", String(this.case.ariaPressed !== "true"));
    this.search();
  }

  open() {
    this.element.hidden = false;
    const chosen = String(getSelection()).trim();
    if (chosen && chosen.length < 100 && !chosen.includes("\n")) this.field.value = chosen;
    this.field.select();
    this.field.focus();
    if (this.field.value) this.search();
  }

  close(back = false) {
    clearTimeout(this.timer);
    this.round++;
    this.element.hidden = true;
    this.query = "";
    this.matches = [];
    highlight(null, []);
    if (back) this.reader.element.focus();
  }

  /** Search from the view to the end of the file, then the part before. */
  async search() {
    const round = ++this.round;
    this.query = this.field.value;
    Object.assign(this, { matches: [], current: -1, upto: 0, more: false, done: !this.query });
    this.showStatus();
    this.highlightPages();
    if (!this.query) return;
    const { size, mark: begin } = this.reader;
    const here = this.reader.top().offset;
    try {
      for (const [start, stop] of [[here, size], [begin, here]]) {
        for await (const found of this.searchPart(start, stop, round)) {
          if (this.current < 0 && found.length) await this.showMatch(this.matches.indexOf(found[0]));
          this.showStatus();
        }
      }
    } catch (error) {
      if (round === this.round) this.status.textContent = error.message;
      return;
    }
    if (round !== this.round) return;
    this.done = true;
    this.showStatus();
  }

  async *searchPart(start, stop, round) {
    const before = this.upto;
    while (start < stop && round === this.round) {
      const { places, upto } = await this.reader.ask({ find: this.query, case: this.case.ariaPressed === "true" ? 1 : 0, start, stop });
      if (round !== this.round || this.reader.closed) return;
      const current = this.matches[this.current];
      this.matches = [...this.matches, ...places].sort((a, b) => a - b);
      if (this.current >= 0) this.current = this.matches.indexOf(current);
      this.upto = before + upto - start;
      this.more = this.matches.length >= MAX_MATCHES;
      yield places;
      if (upto <= start || this.more) return;
      start = upto;
    }
  }

  showStatus() {
    const { length } = this.matches;
    const part = this.reader.size ? Math.floor((100 * this.upto) / this.reader.size) : 100;
    const looked = this.done || this.more ? "" : ` · ${part}% searched`;
    const of = `${formatNumber(length)}${this.more ? "+" : ""}`;
    if (!this.query) this.status.textContent = "";
    else if (length) this.status.textContent = `${formatNumber(this.current + 1)} of ${of}${looked}`;
    else this.status.textContent = this.done ? "No matches" : `searching${looked}`;
    this.status.classList.toggle("no-matches", Boolean(this.query) && this.done && !length);
  }

  async move(by) {
    clearTimeout(this.timer);
    if (this.field.value !== this.query) return this.search();
    const { length } = this.matches;
    if (length) await this.showMatch((this.current + by + length) % length);
    return this.showStatus();
  }

  async showMatch(now) {
    this.current = now;
    const offset = this.matches[now];
    const row = await this.reader.scrollTo(offset);
    this.highlightPages();
    const range = row && this.rangeAt(row, offset);
    if (!range) return;
    const [box, view] = [range.getBoundingClientRect(), this.reader.element.getBoundingClientRect()];
    if (box.right > view.right || box.left < view.left) this.reader.element.scrollLeft += box.left - view.left - view.width / 2;
    if (box.top < view.top || box.bottom > view.bottom) this.reader.element.scrollTop += box.top - view.top - view.height / 3;
    highlight(range, this.highlights);
  }

  /** The range of a match: the match at an offset is the n-th of its row. */
  rangeAt(row, offset) {
    const page = this.reader.pages.find((each) => each.element === row.parentElement);
    const begin = page.offsets[[...page.element.children].indexOf(row)];
    const before = this.matches.filter((place) => place >= begin && place < offset).length;
    return this.ranges(row)[before];
  }

  ranges(root) {
    const found = [];
    const sensitive = this.case.ariaPressed === "true";
    const fold = (text) => {
      const lowered = text.toLowerCase();
      return sensitive || lowered.length !== text.length ? text : lowered;
    };
    const words = fold(this.query);
    const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const parts = [];
    let text = "";
    while (nodes.nextNode()) {
      if (nodes.currentNode.parentElement.classList.contains("invisible")) continue;
      parts.push([text.length, nodes.currentNode]);
      text += nodes.currentNode.data;
    }
    text = fold(text);
    const place = (offset) => parts.findLast(([start]) => start <= offset);
    for (let at = text.indexOf(words); at >= 0 && found.length < MAX_HIGHLIGHTS; at = text.indexOf(words, at + words.length)) {
      const range = new Range();
      const [[start, first], [end, last]] = [place(at), place(at + words.length - 1)];
      range.setStart(first, at - start);
      range.setEnd(last, at + words.length - end);
      found.push(range);
    }
    return found;
  }

  /** Highlight the matches in the loaded pages. */
  highlightPages() {
    if (this.element.hidden) return;
    this.highlights = [];
    if (this.query) {
      for (const page of this.reader.pages) {
        for (const row of page.element.children) {
          if (this.highlights.length < MAX_HIGHLIGHTS) this.highlights.push(...this.ranges(row));
        }
      }
    }
    const offset = this.matches[this.current];
    const row = offset === undefined ? null : this.reader.rowAt(offset);
    highlight(row && this.rangeAt(row, offset), this.highlights);
  }
}

function highlight(now, all) {
  if (!globalThis.CSS?.highlights) return;
  CSS.highlights.set("in-file", new Highlight(...all));
  const current = new Highlight(...(now ? [now] : []));
  current.priority = 1;
  CSS.highlights.set("in-file-now", current);
}
