// The pages of a PDF as a list; renders those near the viewport and reserves space for the others.

import { h } from "../../core/dom.js";
import { PdfPage } from "./page.js";

const GAP = 12;
const FULL_SCALE = 96 / 72; // pixels per point at 100 %
const MAX_AUTOMATIC = 1.25;
const [MIN_ZOOM, MAX_ZOOM] = [0.1, 5];
const MAX_HEIGHT = 3e7; // pixels; browsers limit the height of elements
const MAX_REQUESTS = 2;
const SETTLE_MS = 120; // ms after the last movement

export class PdfPages {
  /** `onMove()` is called when the current page or the scale changes. */
  constructor(file, onMove) {
    this.file = file;
    this.onMove = onMove;
    this.sizes = [];
    this.count = 0;
    this.mode = "auto";
    this.zoom = 1;
    this.tops = [];
    this.pages = new Map();
    this.busy = 0;
    this.matches = new Map();
    this.content = h("div", { class: "page-canvas" });
    this.element = h("div", { class: "page-list", tabindex: "0", role: "document", "aria-label": `Pages of ${file.name}` }, this.content);
    this.element.addEventListener("scroll", () => this.onScroll(), { passive: true });
    this.observer = new ResizeObserver(() => this.layout());
    this.observer.observe(this.element);
  }

  /** Take a new or changed document; keep the scroll position. */
  show({ pages, sizes }) {
    for (const { marking } of this.pages.values()) marking?.end(); // its marks are of another page
    this.count = pages;
    this.sizes = [...sizes];
    this.matches = new Map();
    for (const [at, page] of this.pages) if (at >= pages) this.removePage(at, page);
    this.layout();
    this.loadSizes();
  }

  /** Load the page sizes missing from the first response. */
  async loadSizes() {
    const request = (this.request = Symbol("measure"));
    while (this.sizes.length < this.count && request === this.request) {
      const { sizes } = await this.file.ask({ as: "pdf", sizes: this.sizes.length }).catch(() => ({ sizes: [] }));
      if (request !== this.request || !sizes.length) return;
      this.sizes.push(...sizes);
      this.layout();
    }
  }

  size(at) {
    return this.sizes[at] ?? this.sizes.at(-1) ?? [595, 842];
  }

  /** The most common width of the first pages, so that a few large ones do not shrink the others. */
  get commonWidth() {
    const counts = new Map();
    for (const [width] of this.sizes.slice(0, 500)) counts.set(width, (counts.get(width) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 595;
  }

  scaleOf(at) {
    const [width, height] = this.size(at);
    const available = Math.max(40, this.element.clientWidth - 2 * GAP);
    const fit = available / width;
    if (this.mode === "page") return Math.min(fit, Math.max(40, this.element.clientHeight - 2 * GAP) / height);
    if (this.mode === "zoom") return this.zoom * FULL_SCALE;
    const common = available / this.commonWidth;
    return Math.min(fit, this.mode === "auto" ? Math.min(common, MAX_AUTOMATIC * FULL_SCALE) : common);
  }

  /** Recompute the layout and keep the scroll position. */
  layout(anchor = this.anchor()) {
    if (!this.element.clientWidth) return;
    let top = GAP;
    this.tops = [];
    this.maxWidth = 0;
    for (let at = 0; at < this.count; at++) {
      const scale = this.scaleOf(at);
      this.tops.push(top);
      top += this.size(at)[1] * scale + GAP;
      this.maxWidth = Math.max(this.maxWidth, this.size(at)[0] * scale);
    }
    this.tops.push(top);
    this.content.style.height = `${Math.min(top, MAX_HEIGHT)}px`;
    this.content.style.width = `${Math.max(this.element.clientWidth, this.maxWidth + 2 * GAP)}px`;
    for (const [at, page] of this.pages) this.placePage(at, page);
    if (anchor) this.restore(anchor);
    this.onScroll();
  }

  placePage(at, page) {
    const scale = this.scaleOf(at);
    const [width, height] = this.size(at).map((side) => side * scale);
    const available = Math.max(this.element.clientWidth, this.maxWidth + 2 * GAP);
    const [left, top] = [Math.max(GAP, (available - width) / 2), this.tops[at]];
    page.layout({ left: Math.round(left), top: Math.round(top), width: Math.round(width), height: Math.round(height), scale });
  }

  /** The page at a point of the viewport, and the relative position on it. */
  anchor(x = this.element.clientWidth / 2, y = 0) {
    if (!this.tops.length) return null;
    const at = this.pageAt(this.element.scrollTop + y);
    const scale = this.scaleOf(at);
    const height = this.size(at)[1] * scale;
    const middle = Math.max(this.element.clientWidth, this.maxWidth + 2 * GAP) / 2;
    return { at, x, y, dy: (this.element.scrollTop + y - this.tops[at]) / height, dx: (this.element.scrollLeft + x - middle) / scale };
  }

  restore({ at, x, y, dy, dx }) {
    const page = Math.min(at, this.count - 1);
    const scale = this.scaleOf(page);
    const middle = Math.max(this.element.clientWidth, this.maxWidth + 2 * GAP) / 2;
    this.element.scrollTop = this.tops[page] + dy * this.size(page)[1] * scale - y;
    this.element.scrollLeft = dx * scale + middle - x;
  }

  pageAt(top) {
    let [low, high] = [0, this.count - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle] <= top) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }

  /** The current page: the one at a third of the viewport height. */
  get current() {
    return this.pageAt(this.element.scrollTop + this.element.clientHeight / 3);
  }

  get percent() {
    return (this.scaleOf(this.current) / FULL_SCALE) * 100;
  }

  /** Let the user mark places on the current page; `bar` is where the tools go. */
  mark(bar) {
    if ([...this.pages.values()].some(({ marking }) => marking)) return;
    this.pages.get(this.current)?.mark(bar);
  }

  goTo(at, dy = 0) {
    const page = Math.max(0, Math.min(this.count - 1, at));
    this.element.scrollTop = this.tops[page] + dy * this.scaleOf(page) - (dy ? this.element.clientHeight / 3 : GAP / 2);
    this.onScroll();
  }

  setMode(mode) {
    this.mode = mode;
    this.layout();
  }

  /** Set the zoom and keep a point of the viewport in place. */
  setZoom(zoom, x, y) {
    const tallest = Math.max(...this.sizes.map(([, height]) => height)) * this.count * FULL_SCALE;
    const anchor = this.anchor(x, y ?? this.element.clientHeight / 3);
    this.mode = "zoom";
    this.zoom = Math.max(MIN_ZOOM, Math.min(MAX_ZOOM, MAX_HEIGHT / tallest, zoom));
    this.layout(anchor);
  }

  onScroll() {
    const { scrollTop, clientHeight } = this.element;
    const [first, last] = [this.pageAt(scrollTop - clientHeight), this.pageAt(scrollTop + 2 * clientHeight)];
    for (const [at, page] of this.pages) if (at < first - 2 || at > last + 2) this.removePage(at, page);
    for (let at = first; at <= last && at < this.count; at++) if (!this.pages.has(at)) this.addPage(at);
    this.onMove();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.onSettled(), SETTLE_MS);
  }

  addPage(at) {
    const page = new PdfPage(this, at);
    this.pages.set(at, page);
    this.placePage(at, page);
    const next = [...this.pages.keys()].filter((other) => other > at).sort((a, b) => a - b)[0];
    this.content.insertBefore(page.element, this.pages.get(next)?.element ?? null);
    this.showMatches(at);
  }

  /** Remove a page element, unless it contains selected text or is being marked. */
  removePage(at, page) {
    const selection = getSelection();
    if (page.marking || (!selection.isCollapsed && selection.containsNode(page.element, true))) return;
    page.remove();
    this.pages.delete(at);
  }

  onSettled() {
    const box = this.element.getBoundingClientRect();
    for (const at of this.nearestPages().slice(0, 6)) {
      const page = this.pages.get(at);
      page.loadText();
      if (page.sharp) page.drawDetail(box);
    }
    this.draw();
  }

  /** The rendered pages, nearest to the viewport first. */
  nearestPages() {
    const current = this.current;
    return [...this.pages.keys()].sort((a, b) => Math.abs(a - current) - Math.abs(b - current));
  }

  /** Request the images of the nearest pages, a few at once. */
  async draw() {
    while (this.busy < MAX_REQUESTS && !this.closed) {
      const page = this.nearestPages()
        .map((at) => this.pages.get(at))
        .find((each) => !each.sharp && !each.drawing);
      if (!page) return;
      this.busy += 1;
      page.drawing = true;
      page.draw().finally(() => {
        this.busy -= 1;
        page.drawing = false;
        if (page.sharp) page.drawDetail(this.element.getBoundingClientRect());
        this.draw();
      });
    }
  }

  /** Set the matches by page, as stored by `PdfSearch`: `[{ at, boxes }]`. */
  setMatches(matches, current) {
    this.matches = matches;
    this.currentMatch = current;
    for (const at of this.pages.keys()) this.showMatches(at);
  }

  showMatches(at) {
    const matches = this.matches.get(at) ?? [];
    this.pages.get(at).highlight(matches, matches.indexOf(this.currentMatch));
  }

  close() {
    this.closed = true;
    this.request = null;
    clearTimeout(this.timer);
    this.observer.disconnect();
    for (const page of this.pages.values()) page.remove();
  }
}
