// Preview of files without another kind: type and hex view; holds only the visible bytes.

import { h } from "../../core/dom.js";
import { formatBytes, formatNumber } from "../../core/format.js";
import { fetchWithRetry } from "../../core/loading/fetch.js";
import { oncePerFrame } from "../parts.js";

const WIDTH = 16;
const LINE_HEIGHT = 20; // row height in pixels
const MAX_HEIGHT = 8_000_000; // pixels; browsers limit the height of elements
const IDLE_MS = 250; // ms of idle time before strings are searched
const CHUNK_SIZE = 8192;
const MAX_CHUNKS = 64; // held
const MAX_REQUESTED = 4; // at once
const SETTLE_MS = 60; // ms after the last movement, before chunks are requested

/** Reads a file of any size with range requests. */
class RangeReader {
  constructor(file, { head, size }, onChunk) {
    this.file = file;
    this.size = size;
    this.onChunk = onChunk;
    this.head = Uint8Array.from(head.match(/../g) ?? [], (pair) => parseInt(pair, 16));
    this.chunks = new Map(); // by index; null while it loads
    this.wanted = new Set();
  }

  /** Return up to `length` bytes from an offset; null if not loaded yet (starts loading). */
  at(offset, length) {
    const end = Math.min(offset + length, this.size);
    if (end <= this.head.length) return this.head.subarray(offset, end);
    const index = Math.floor(offset / CHUNK_SIZE);
    const chunk = this.chunks.get(index);
    if (chunk) return chunk.subarray(offset - index * CHUNK_SIZE, end - index * CHUNK_SIZE);
    if (chunk === null) return null;
    this.wanted.add(index);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), SETTLE_MS);
    return null;
  }

  /** Load the chunks wanted last: those are visible. */
  load() {
    for (const index of [...this.wanted].slice(-MAX_REQUESTED)) {
      this.chunks.set(index, null);
      this.fetch(index).catch(() => this.chunks.delete(index));
    }
    this.wanted.clear();
  }

  async fetch(index) {
    const first = index * CHUNK_SIZE;
    const last = Math.min(first + CHUNK_SIZE, this.size) - 1;
    const response = await fetchWithRetry(this.file.address("files", {}), { headers: { Range: `bytes=${first}-${last}` } });
    if (response.status !== 206) throw new Error(`The server answered ${response.status}.`);
    this.chunks.set(index, new Uint8Array(await response.arrayBuffer()));
    for (const oldest of [...this.chunks.keys()].slice(0, -MAX_CHUNKS)) this.chunks.delete(oldest);
    this.onChunk();
  }
}

class HexView {
  constructor(file, first) {
    this.file = file;
    this.top = 0;
    this.draw = oncePerFrame(() => this.closed || this.paint());
    this.description = h("p", { class: "file-type" });
    this.properties = h("dl");
    this.offsetField = h("input", { type: "text", size: 12, placeholder: "offset, 0x… or %", "aria-label": "Go to offset", spellcheck: "false" });
    this.offsetForm = h("form", { class: "go-to-offset" }, this.offsetField, h("button", { type: "submit", class: "quiet" }, "Go"));
    this.offsetForm.addEventListener("submit", (event) => {
      event.preventDefault();
      this.goTo(this.offsetField.value.trim());
    });
    this.stringList = h("div", { class: "list" });
    this.strings = h("details", { class: "strings" }, h("summary", {}, "Strings"), this.stringList);
    this.strings.addEventListener("toggle", () => this.strings.open && this.loadStrings());
    this.body = h("tbody");
    this.table = h("table", { class: "hex" }, this.body);
    this.spacer = h("div", { class: "spacer" });
    this.scroller = h(
      "div",
      { class: "scroller", tabindex: "0", role: "region", "aria-label": "Hex view" },
      h("div", { class: "sticky" }, this.table),
      this.spacer,
    );
    this.scroller.addEventListener("scroll", () => this.onScroll());
    this.scroller.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    this.scroller.addEventListener("keydown", (event) => this.onKey(event));
    this.element = h(
      "div",
      { class: "hex-view" },
      h("div", { class: "about" }, h("div", { class: "description" }, this.description, this.properties), this.offsetForm),
      this.strings,
      this.scroller,
    );
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.scroller);
    this.update(first);
  }

  update(first) {
    this.first = first;
    this.file.setDetails("");
    this.reader = new RangeReader(this.file, first, () => this.draw());
    this.rows = Math.ceil(first.size / WIDTH);
    this.description.textContent = first.size ? first.description : "This file is empty.";
    this.properties.replaceChildren(...first.properties.flatMap(([label, value]) => [h("dt", {}, label), h("dd", {}, value)]));
    for (const each of [this.offsetForm, this.strings, this.scroller]) each.hidden = !first.size;
    this.spacer.style.height = `${Math.min(this.rows * LINE_HEIGHT, MAX_HEIGHT)}px`;
    this.table.setAttribute("aria-rowcount", this.rows);
    this.move(this.top);
  }

  close() {
    this.closed = true;
    this.observer.disconnect();
    clearTimeout(this.rest);
  }

  get visibleRows() {
    return Math.max(1, Math.floor(this.scroller.clientHeight / LINE_HEIGHT));
  }

  /** Rows covered by the full range of the scroll bar. */
  get range() {
    return Math.max(0, this.rows - this.visibleRows);
  }

  get scaled() {
    return this.rows * LINE_HEIGHT > MAX_HEIGHT;
  }

  onScroll() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    if (Math.abs(scrollTop - (this.ownScrollTop ?? -1)) < 1) return;
    this.ownScrollTop = null;
    const scrollRange = Math.max(1, scrollHeight - clientHeight);
    this.top = this.scaled ? Math.round((scrollTop / scrollRange) * this.range) : Math.floor(scrollTop / LINE_HEIGHT);
    this.draw();
  }

  onWheel(event) {
    if (!this.scaled || event.ctrlKey) return;
    event.preventDefault();
    this.move(this.top + Math.sign(event.deltaY) * Math.max(1, Math.round(Math.abs(event.deltaY) / LINE_HEIGHT)));
  }

  onKey(event) {
    const by = { ArrowUp: -1, ArrowDown: 1, PageUp: 1 - this.visibleRows, PageDown: this.visibleRows - 1, Home: -this.rows, End: this.rows }[event.key];
    if (by === undefined || event.altKey) return;
    event.preventDefault();
    this.move(this.top + by);
  }

  move(top) {
    this.top = Math.max(0, Math.min(this.range, top));
    const { scrollHeight, clientHeight } = this.scroller;
    const scrollRange = Math.max(0, scrollHeight - clientHeight);
    this.scroller.scrollTop = this.scaled ? (this.range ? (this.top / this.range) * scrollRange : 0) : this.top * LINE_HEIGHT;
    this.ownScrollTop = this.scroller.scrollTop;
    this.draw();
  }

  goTo(text) {
    const part = /^(\d+(?:\.\d+)?)\s*%$/.exec(text);
    const plain = text.replace(/[\s,_]/g, "");
    const offset = part ? Math.floor((this.first.size * Number(part[1])) / 100) : /^(0x[0-9a-f]+|\d+)$/i.test(plain) ? Number(plain) : NaN;
    const valid = Number.isFinite(offset) && offset < this.first.size;
    this.offsetField.setCustomValidity(valid ? "" : `Enter an offset below ${formatNumber(this.first.size)}.`);
    this.offsetField.reportValidity();
    if (valid) this.show(offset);
  }

  show(offset) {
    this.marked = offset;
    this.move(Math.floor(offset / WIDTH));
  }

  paint() {
    const last = Math.min(this.rows, this.top + this.visibleRows + 1);
    const rows = [];
    for (let row = this.top; row < last; row++) rows.push(this.row(row * WIDTH));
    this.body.replaceChildren(...rows);
    clearTimeout(this.rest);
    if (this.strings.open) this.rest = setTimeout(() => this.loadStrings(), IDLE_MS);
  }

  row(at) {
    const bytes = this.reader.at(at, WIDTH);
    const hex = bytes ? [...bytes].map((byte) => byte.toString(16).padStart(2, "0")) : ["…"];
    const text = bytes ? [...bytes].map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("") : "";
    const marked = this.marked !== undefined && Math.floor(this.marked / WIDTH) * WIDTH === at;
    return h(
      "tr",
      { "aria-rowindex": at / WIDTH + 1, class: marked ? "marked" : null },
      h("th", { scope: "row", title: formatNumber(at) }, at.toString(16).padStart(8, "0")),
      h("td", {}, hex.slice(0, 8).join(" "), h("i", {}, hex.length > 8 ? ` ${hex.slice(8).join(" ")}` : "")),
      h("td", {}, text),
    );
  }

  /** Load the embedded strings from here on. */
  async loadStrings() {
    const offset = this.top * WIDTH;
    if (this.loadedStrings === `${offset} ${this.file.version}`) return;
    this.loadedStrings = `${offset} ${this.file.version}`;
    try {
      const { strings } = await this.file.ask({ as: "hex", offset });
      if (offset !== this.top * WIDTH) return;
      const found = strings.map(([at, text]) =>
        h("button", { onclick: () => this.show(at) }, h("small", {}, at.toString(16).padStart(8, "0")), h("span", {}, text)),
      );
      this.stringList.replaceChildren(...(found.length ? found : [h("p", {}, `No strings in the next ${formatBytes(65536)}.`)]));
    } catch (error) {
      this.stringList.replaceChildren(h("p", {}, error.message));
    }
  }
}

export const open = (file, first) => new HexView(file, first);
