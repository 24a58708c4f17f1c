// Search in a text that is only partly loaded: the server searches, part by part.

import { h, icon } from "../../core/dom.js";
import { number } from "../../core/format.js";

const PAUSE = 200; // ms after the last keystroke
const MOST = 10_000; // matches; refine more frequent words
const MARKS = 2000; // highlights on the page

export class Search {
  constructor(reader) {
    Object.assign(this, { reader, places: [], words: "", round: 0, now: -1 });
    const tool = (name, label, act) =>
      h("button", { type: "button", class: "quiet sign", "aria-label": label, title: label, onclick: act }, icon(name));
    this.field = h("input", { type: "search", "aria-label": "Find in this file", placeholder: "Find in this file", autocomplete: "off", spellcheck: "false" });
    this.case = h("button", { type: "button", class: "quiet case", "aria-pressed": "false", "aria-label": "Match case", title: "Match case", onclick: () => this.toggle() }, "Aa");
    this.tally = h("span", { class: "tally num", role: "status" });
    this.element = h("div", { class: "search", role: "search", hidden: true }, icon("find"), this.field, this.tally, this.case,
      tool("above", "Previous match", () => this.move(-1)), tool("below", "Next match", () => this.move(1)),
      tool("close", "Close find", () => this.close(true)));
    this.field.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.look(), PAUSE);
    });
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (event.key === "Escape") this.close(true);
    else if (event.key === "Enter" && event.target === this.field) this.move(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation(); // Escape would stop the run
  }

  toggle() {
    this.case.setAttribute("aria-pressed", String(this.case.ariaPressed !== "true"));
    this.look();
  }

  open() {
    this.element.hidden = false;
    const chosen = String(getSelection()).trim();
    if (chosen && chosen.length < 100 && !chosen.includes("\n")) this.field.value = chosen;
    this.field.select();
    this.field.focus();
    if (this.field.value) this.look();
  }

  close(back = false) {
    clearTimeout(this.timer);
    this.round++;
    this.element.hidden = true;
    this.words = "";
    this.places = [];
    mark(null, []);
    if (back) this.reader.element.focus();
  }

  /** Search from the view to the end of the file, then the part before. */
  async look() {
    const round = ++this.round;
    this.words = this.field.value;
    Object.assign(this, { places: [], now: -1, upto: 0, more: false, done: !this.words });
    this.say();
    this.paint();
    if (!this.words) return;
    const { size, mark: begin } = this.reader;
    const here = this.reader.top().offset;
    try {
      for (const [start, stop] of [[here, size], [begin, here]]) {
        for await (const found of this.through(start, stop, round)) {
          if (this.now < 0 && found.length) await this.go(this.places.indexOf(found[0]));
          this.say();
        }
      }
    } catch (error) {
      if (round === this.round) this.tally.textContent = error.message;
      return;
    }
    if (round !== this.round) return;
    this.done = true;
    this.say();
  }

  async *through(start, stop, round) {
    const before = this.upto;
    while (start < stop && round === this.round) {
      const { places, upto } = await this.reader.ask({ find: this.words, case: this.case.ariaPressed === "true" ? 1 : 0, start, stop });
      if (round !== this.round || this.reader.closed) return;
      const current = this.places[this.now];
      this.places = [...this.places, ...places].sort((a, b) => a - b);
      if (this.now >= 0) this.now = this.places.indexOf(current);
      this.upto = before + upto - start;
      this.more = this.places.length >= MOST;
      yield places;
      if (upto <= start || this.more) return;
      start = upto;
    }
  }

  say() {
    const { length } = this.places;
    const part = this.reader.size ? Math.floor((100 * this.upto) / this.reader.size) : 100;
    const looked = this.done || this.more ? "" : ` · ${part}% searched`;
    const of = `${number(length)}${this.more ? "+" : ""}`;
    if (!this.words) this.tally.textContent = "";
    else if (length) this.tally.textContent = `${number(this.now + 1)} of ${of}${looked}`;
    else this.tally.textContent = this.done ? "No matches" : `searching${looked}`;
    this.tally.classList.toggle("none", Boolean(this.words) && this.done && !length);
  }

  async move(by) {
    clearTimeout(this.timer);
    if (this.field.value !== this.words) return this.look();
    const { length } = this.places;
    if (length) await this.go((this.now + by + length) % length);
    return this.say();
  }

  async go(now) {
    this.now = now;
    const offset = this.places[now];
    const row = await this.reader.to(offset);
    this.paint();
    const range = row && this.rangeAt(row, offset);
    if (!range) return;
    const [box, view] = [range.getBoundingClientRect(), this.reader.element.getBoundingClientRect()];
    if (box.right > view.right || box.left < view.left) this.reader.element.scrollLeft += box.left - view.left - view.width / 2;
    if (box.top < view.top || box.bottom > view.bottom) this.reader.element.scrollTop += box.top - view.top - view.height / 3;
    mark(range, this.marks);
  }

  /** The range of a match: the match at an offset is the n-th of its row. */
  rangeAt(row, offset) {
    const page = this.reader.pages.find((each) => each.element === row.parentElement);
    const begin = page.offsets[[...page.element.children].indexOf(row)];
    const before = this.places.filter((place) => place >= begin && place < offset).length;
    return this.ranges(row)[before];
  }

  ranges(root) {
    const found = [];
    const sensitive = this.case.ariaPressed === "true";
    const fold = (text) => {
      const lowered = text.toLowerCase();
      return sensitive || lowered.length !== text.length ? text : lowered;
    };
    const words = fold(this.words);
    const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const parts = [];
    let text = "";
    while (nodes.nextNode()) {
      if (nodes.currentNode.parentElement.classList.contains("unseen")) continue;
      parts.push([text.length, nodes.currentNode]);
      text += nodes.currentNode.data;
    }
    text = fold(text);
    const place = (offset) => parts.findLast(([start]) => start <= offset);
    for (let at = text.indexOf(words); at >= 0 && found.length < MARKS; at = text.indexOf(words, at + words.length)) {
      const range = new Range();
      const [[start, first], [end, last]] = [place(at), place(at + words.length - 1)];
      range.setStart(first, at - start);
      range.setEnd(last, at + words.length - end);
      found.push(range);
    }
    return found;
  }

  /** Highlight the matches in the loaded pages. */
  paint() {
    if (this.element.hidden) return;
    this.marks = [];
    if (this.words) {
      for (const page of this.reader.pages) {
        for (const row of page.element.children) {
          if (this.marks.length < MARKS) this.marks.push(...this.ranges(row));
        }
      }
    }
    const offset = this.places[this.now];
    const row = offset === undefined ? null : this.reader.rowAt(offset);
    mark(row && this.rangeAt(row, offset), this.marks);
  }
}

function mark(now, all) {
  if (!globalThis.CSS?.highlights) return;
  CSS.highlights.set("in-file", new Highlight(...all));
  const current = new Highlight(...(now ? [now] : []));
  current.priority = 1;
  CSS.highlights.set("in-file-now", current);
}
