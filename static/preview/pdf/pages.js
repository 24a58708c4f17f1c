// The pages of a PDF as a list; renders those near the viewport and reserves space for the others.

import { h } from "../../core/dom.js";
import { Sheet } from "./page.js";

const GAP = 12;
const FULL = 96 / 72; // pixels per point at 100 %
const AUTOMATIC = 1.25;
const [LEAST, MOST] = [0.1, 5];
const TALLEST = 3e7; // pixels; browsers limit the height of elements
const AT_ONCE = 2;
const SETTLED = 120; // ms after the last movement

export class Paper {
  /** `onMove()` is called when the current page or the scale changes. */
  constructor(file, onMove) {
    Object.assign(this, { file, onMove, sizes: [], pages: 0, mode: "auto", zoom: 1, tops: [], sheets: new Map(), busy: 0, found: new Map() });
    this.roll = h("div", { class: "roll" });
    this.element = h("div", { class: "paper", tabindex: "0", role: "document", "aria-label": `Pages of ${file.name}` }, this.roll);
    this.element.addEventListener("scroll", () => this.moved(), { passive: true });
    this.observer = new ResizeObserver(() => this.relay());
    this.observer.observe(this.element);
  }

  /** Take a new or changed document; keep the scroll position. */
  take({ pages, sizes }) {
    Object.assign(this, { pages, sizes: [...sizes], found: new Map() });
    for (const [at, sheet] of this.sheets) if (at >= pages) this.drop(at, sheet);
    this.relay();
    this.measure();
  }

  /** Load the page sizes missing from the first response. */
  async measure() {
    const round = (this.round = Symbol("measure"));
    while (this.sizes.length < this.pages && round === this.round) {
      const { sizes } = await this.file.ask({ as: "pdf", sizes: this.sizes.length }).catch(() => ({ sizes: [] }));
      if (round !== this.round || !sizes.length) return;
      this.sizes.push(...sizes);
      this.relay();
    }
  }

  size(at) {
    return this.sizes[at] ?? this.sizes.at(-1) ?? [595, 842];
  }

  /** The most common width of the first pages, so that a few large ones do not shrink the others. */
  get usual() {
    const counts = new Map();
    for (const [width] of this.sizes.slice(0, 500)) counts.set(width, (counts.get(width) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 595;
  }

  scaleOf(at) {
    const [width, height] = this.size(at);
    const room = Math.max(40, this.element.clientWidth - 2 * GAP);
    const fit = room / width;
    if (this.mode === "page") return Math.min(fit, Math.max(40, this.element.clientHeight - 2 * GAP) / height);
    if (this.mode === "zoom") return this.zoom * FULL;
    const usual = room / this.usual;
    return Math.min(fit, this.mode === "auto" ? Math.min(usual, AUTOMATIC * FULL) : usual);
  }

  /** Recompute the layout and keep the scroll position. */
  relay(anchor = this.anchor()) {
    if (!this.element.clientWidth) return;
    let top = GAP;
    this.tops = [];
    this.widest = 0;
    for (let at = 0; at < this.pages; at++) {
      const scale = this.scaleOf(at);
      this.tops.push(top);
      top += this.size(at)[1] * scale + GAP;
      this.widest = Math.max(this.widest, this.size(at)[0] * scale);
    }
    this.tops.push(top);
    this.roll.style.height = `${Math.min(top, TALLEST)}px`;
    this.roll.style.width = `${Math.max(this.element.clientWidth, this.widest + 2 * GAP)}px`;
    for (const [at, sheet] of this.sheets) this.place(at, sheet);
    if (anchor) this.restore(anchor);
    this.moved();
  }

  place(at, sheet) {
    const scale = this.scaleOf(at);
    const [width, height] = this.size(at).map((side) => side * scale);
    const room = Math.max(this.element.clientWidth, this.widest + 2 * GAP);
    const [left, top] = [Math.max(GAP, (room - width) / 2), this.tops[at]];
    sheet.lay({ left: Math.round(left), top: Math.round(top), width: Math.round(width), height: Math.round(height), scale });
  }

  /** The page at a point of the viewport, and the relative position on it. */
  anchor(x = this.element.clientWidth / 2, y = 0) {
    if (!this.tops.length) return null;
    const at = this.pageAt(this.element.scrollTop + y);
    const scale = this.scaleOf(at);
    const height = this.size(at)[1] * scale;
    const middle = Math.max(this.element.clientWidth, this.widest + 2 * GAP) / 2;
    return { at, x, y, down: (this.element.scrollTop + y - this.tops[at]) / height, across: (this.element.scrollLeft + x - middle) / scale };
  }

  restore({ at, x, y, down, across }) {
    const page = Math.min(at, this.pages - 1);
    const scale = this.scaleOf(page);
    const middle = Math.max(this.element.clientWidth, this.widest + 2 * GAP) / 2;
    this.element.scrollTop = this.tops[page] + down * this.size(page)[1] * scale - y;
    this.element.scrollLeft = across * scale + middle - x;
  }

  pageAt(top) {
    let [low, high] = [0, this.pages - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle] <= top) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }

  /** The current page: the one at a third of the viewport height. */
  get now() {
    return this.pageAt(this.element.scrollTop + this.element.clientHeight / 3);
  }

  get percent() {
    return (this.scaleOf(this.now) / FULL) * 100;
  }

  goTo(at, down = 0) {
    const page = Math.max(0, Math.min(this.pages - 1, at));
    this.element.scrollTop = this.tops[page] + down * this.scaleOf(page) - (down ? this.element.clientHeight / 3 : GAP / 2);
    this.moved();
  }

  setMode(mode) {
    this.mode = mode;
    this.relay();
  }

  /** Set the zoom and keep a point of the viewport in place. */
  setZoom(zoom, x, y) {
    const tallest = Math.max(...this.sizes.map(([, height]) => height)) * this.pages * FULL;
    const anchor = this.anchor(x, y ?? this.element.clientHeight / 3);
    Object.assign(this, { mode: "zoom", zoom: Math.max(LEAST, Math.min(MOST, TALLEST / tallest, zoom)) });
    this.relay(anchor);
  }

  moved() {
    const { scrollTop, clientHeight } = this.element;
    const [first, last] = [this.pageAt(scrollTop - clientHeight), this.pageAt(scrollTop + 2 * clientHeight)];
    for (const [at, sheet] of this.sheets) if (at < first - 2 || at > last + 2) this.drop(at, sheet);
    for (let at = first; at <= last && at < this.pages; at++) if (!this.sheets.has(at)) this.add(at);
    this.onMove();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.settle(), SETTLED);
  }

  add(at) {
    const sheet = new Sheet(this, at);
    this.sheets.set(at, sheet);
    this.place(at, sheet);
    const next = [...this.sheets.keys()].filter((other) => other > at).sort((a, b) => a - b)[0];
    this.roll.insertBefore(sheet.element, this.sheets.get(next)?.element ?? null);
    this.showMarks(at);
  }

  /** Remove a page element, unless it contains selected text. */
  drop(at, sheet) {
    const chosen = getSelection();
    if (!chosen.isCollapsed && chosen.containsNode(sheet.element, true)) return;
    sheet.element.remove();
    this.sheets.delete(at);
  }

  settle() {
    const box = this.element.getBoundingClientRect();
    for (const at of this.near().slice(0, 6)) {
      const sheet = this.sheets.get(at);
      sheet.write();
      if (sheet.sharp) sheet.drawPart(box);
    }
    this.draw();
  }

  /** The rendered pages, nearest to the viewport first. */
  near() {
    const now = this.now;
    return [...this.sheets.keys()].sort((a, b) => Math.abs(a - now) - Math.abs(b - now));
  }

  /** Request the images of the nearest pages, a few at once. */
  async draw() {
    while (this.busy < AT_ONCE && !this.closed) {
      const sheet = this.near().map((at) => this.sheets.get(at)).find((each) => !each.sharp && !each.drawing);
      if (!sheet) return;
      this.busy += 1;
      sheet.drawing = true;
      sheet.draw().finally(() => {
        this.busy -= 1;
        sheet.drawing = false;
        if (sheet.sharp) sheet.drawPart(this.element.getBoundingClientRect());
        this.draw();
      });
    }
  }

  /** Set the matches by page, as stored by `Find`: `[{ at, boxes }]`. */
  setFound(found, current) {
    Object.assign(this, { found, current });
    for (const at of this.sheets.keys()) this.showMarks(at);
  }

  showMarks(at) {
    const places = this.found.get(at) ?? [];
    this.sheets.get(at).mark(places, places.indexOf(this.current));
  }

  close() {
    this.closed = true;
    this.round = null;
    clearTimeout(this.timer);
    this.observer.disconnect();
  }
}
