// Preview of files without another kind: type and hex view; holds only the visible bytes.

import { h } from "../../core/dom.js";
import { bytes, number } from "../../core/format.js";
import { Pieces } from "./range_reader.js";

const WIDTH = 16;
const LINE = 20; // row height in pixels
const TALLEST = 8_000_000; // pixels; browsers limit the height of elements
const WAIT = 250; // ms of idle time before strings are searched

class Bytes {
  constructor(file, first) {
    this.file = file;
    this.top = 0;
    this.what = h("p", { class: "what" });
    this.facts = h("dl");
    this.place = h("input", { type: "text", size: 12, placeholder: "offset, 0x… or %", "aria-label": "Go to offset", spellcheck: "false" });
    this.go = h("form", { class: "go" }, this.place, h("button", { class: "quiet" }, "Go"));
    this.go.addEventListener("submit", (event) => {
      event.preventDefault();
      this.goTo(this.place.value.trim());
    });
    this.words = h("div", { class: "list" });
    this.aside = h("details", { class: "words" }, h("summary", {}, "Strings"), this.words);
    this.aside.addEventListener("toggle", () => this.aside.open && this.spell());
    this.body = h("tbody");
    this.table = h("table", { class: "hex" }, this.body);
    this.tall = h("div", { class: "tall" });
    this.scroller = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Hex view" }, h("div", { class: "held" }, this.table), this.tall);
    this.scroller.addEventListener("scroll", () => this.scrolled());
    this.scroller.addEventListener("wheel", (event) => this.wheeled(event), { passive: false });
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.element = h("div", { class: "bytes" },
      h("div", { class: "about" }, h("div", { class: "said" }, this.what, this.facts), this.go), this.aside, this.scroller);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.scroller);
    this.update(first);
  }

  update(first) {
    this.first = first;
    this.file.tell("");
    this.pieces = new Pieces(this.file, first, () => this.draw());
    this.rows = Math.ceil(first.size / WIDTH);
    this.what.textContent = first.size ? first.what : "This file is empty.";
    this.facts.replaceChildren(...first.facts.flatMap(([label, value]) => [h("dt", {}, label), h("dd", {}, value)]));
    for (const each of [this.go, this.aside, this.scroller]) each.hidden = !first.size;
    this.tall.style.height = `${Math.min(this.rows * LINE, TALLEST)}px`;
    this.table.setAttribute("aria-rowcount", this.rows);
    this.move(this.top);
  }

  close() {
    this.closed = true;
    this.observer.disconnect();
    clearTimeout(this.rest);
  }

  get fit() {
    return Math.max(1, Math.floor(this.scroller.clientHeight / LINE));
  }

  /** Rows covered by the full range of the scroll bar. */
  get range() {
    return Math.max(0, this.rows - this.fit);
  }

  get scaled() {
    return this.rows * LINE > TALLEST;
  }

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    if (Math.abs(scrollTop - (this.own ?? -1)) < 1) return;
    this.own = null;
    const way = Math.max(1, scrollHeight - clientHeight);
    this.top = this.scaled ? Math.round((scrollTop / way) * this.range) : Math.floor(scrollTop / LINE);
    this.draw();
  }

  wheeled(event) {
    if (!this.scaled || event.ctrlKey) return;
    event.preventDefault();
    this.move(this.top + Math.sign(event.deltaY) * Math.max(1, Math.round(Math.abs(event.deltaY) / LINE)));
  }

  key(event) {
    const by = { ArrowUp: -1, ArrowDown: 1, PageUp: 1 - this.fit, PageDown: this.fit - 1, Home: -this.rows, End: this.rows }[event.key];
    if (by === undefined || event.altKey) return;
    event.preventDefault();
    this.move(this.top + by);
  }

  move(top) {
    this.top = Math.max(0, Math.min(this.range, top));
    const { scrollHeight, clientHeight } = this.scroller;
    const way = Math.max(0, scrollHeight - clientHeight);
    this.scroller.scrollTop = this.scaled ? (this.range ? (this.top / this.range) * way : 0) : this.top * LINE;
    this.own = this.scroller.scrollTop;
    this.draw();
  }

  goTo(text) {
    const part = /^(\d+(?:\.\d+)?)\s*%$/.exec(text);
    const plain = text.replace(/[\s,_]/g, "");
    const offset = part ? Math.floor((this.first.size * part[1]) / 100) : /^(0x[0-9a-f]+|\d+)$/i.test(plain) ? Number(plain) : NaN;
    const known = Number.isFinite(offset) && offset < this.first.size;
    this.place.setCustomValidity(known ? "" : `Enter an offset below ${number(this.first.size)}.`);
    this.place.reportValidity();
    if (known) this.show(offset);
  }

  show(offset) {
    this.marked = offset;
    this.move(Math.floor(offset / WIDTH));
  }

  draw() {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      if (!this.closed) this.paint();
    });
  }

  paint() {
    const last = Math.min(this.rows, this.top + this.fit + 1);
    const rows = [];
    for (let row = this.top; row < last; row++) rows.push(this.row(row * WIDTH));
    this.body.replaceChildren(...rows);
    clearTimeout(this.rest);
    if (this.aside.open) this.rest = setTimeout(() => this.spell(), WAIT);
  }

  row(at) {
    const held = this.pieces.at(at, WIDTH);
    const hex = held ? [...held].map((byte) => byte.toString(16).padStart(2, "0")) : ["…"];
    const text = held ? [...held].map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("") : "";
    const marked = this.marked !== undefined && Math.floor(this.marked / WIDTH) * WIDTH === at;
    return h("tr", { "aria-rowindex": at / WIDTH + 1, class: marked ? "marked" : null },
      h("th", { scope: "row", title: number(at) }, at.toString(16).padStart(8, "0")),
      h("td", {}, hex.slice(0, 8).join(" "), h("i", {}, hex.length > 8 ? ` ${hex.slice(8).join(" ")}` : "")), h("td", {}, text));
  }

  /** Load the embedded strings from here on. */
  async spell() {
    const near = this.top * WIDTH;
    if (this.spelt === `${near} ${this.file.version}`) return;
    this.spelt = `${near} ${this.file.version}`;
    try {
      const { words } = await this.file.ask({ as: "bytes", near });
      if (near !== this.top * WIDTH) return;
      const found = words.map(([at, text]) => h("button", { type: "button", onclick: () => this.show(at) }, h("small", {}, at.toString(16).padStart(8, "0")), h("span", {}, text)));
      this.words.replaceChildren(...(found.length ? found : [h("p", {}, `No strings in the next ${bytes(65536)}.`)]));
    } catch (error) {
      this.words.replaceChildren(h("p", {}, error.message));
    }
  }
}

export const open = (file, first) => new Bytes(file, first);
