// Grid of rows and columns; renders the visible part and loads rows on demand.

import { h } from "../../core/dom.js";
import { formatBytes, formatNumber, plural } from "../../core/format.js";
import { oncePerFrame } from "../parts.js";
import { GridSelection } from "./selection.js";
import { createFooter, CellViewer } from "./cell_viewer.js";

const ROW_HEIGHT = 27;
const HEADER_HEIGHT = 46;
const MIN_WIDTH = 64;
const MAX_WIDTH = 380;
const OVERSCAN = 6; // rows rendered beyond the edge
const IDLE_MS = 60; // ms of idle time before rows are requested
let grids = 0;

/** A scrollable table. `ask(options)` requests data: `start` with `sort` and `descending`, `cell`, `area` or `statistics`; `first` describes the columns. */
export class Grid {
  constructor(first, ask, label) {
    this.ask = ask;
    this.id = `grid${++grids}`;
    this.drawn = new Map();
    this.scheduleDraw = oncePerFrame(() => this.draw());
    this.content = h("div", { class: "content", role: "presentation" });
    this.head = h("div", { class: "row head", role: "row", "aria-rowindex": "1" });
    this.body = h("div", { class: "grid-body", role: "grid", tabindex: "0", "aria-label": label, "aria-multiselectable": "true" }, this.content);
    this.viewer = new CellViewer(this);
    this.footer = createFooter(this);
    this.element = h("div", { class: "grid" }, this.body, this.viewer.element, this.footer.element);
    this.selection = new GridSelection(this);
    this.body.addEventListener("scroll", () => this.scheduleDraw(), { passive: true });
    this.watch = new ResizeObserver(() => this.scheduleDraw());
    this.watch.observe(this.body);
    this.reset(first);
  }

  /** Load a table; keep position, widths and order if the columns are the same. */
  reset(first) {
    const same = this.names?.join("\n") === first.names.join("\n");
    const { names, kinds, types, displayed_rows: displayedRows, page_rows: pageRows } = first;
    this.first = first;
    this.names = names;
    this.kinds = kinds;
    this.types = types;
    this.displayedRows = displayedRows;
    this.pageRows = pageRows;
    this.irregularRows = {};
    this.statistics = [];
    this.pages = new Map();
    this.numbers = 22 + 8 * String(first.rows.at(-1)?.[0] ?? 1).length + (displayedRows > pageRows ? 8 : 0);
    if (!same) {
      this.sort = null;
      this.widths = names.map((_, at) => this.widthOf(at, first.rows));
    }
    if (!this.sort) this.storePage(first);
    this.layout();
    this.body.setAttribute("aria-rowcount", displayedRows + 1);
    this.body.setAttribute("aria-colcount", names.length + 1);
    this.element.classList.toggle("empty", !displayedRows);
    this.selection.reset(same);
    this.viewer.close();
    this.draw(true);
  }

  close() {
    this.watch.disconnect();
    clearTimeout(this.timer);
    this.scheduleDraw.cancel();
  }

  layout() {
    this.lefts = [this.numbers];
    for (const width of this.widths) this.lefts.push(this.lefts.at(-1) + width);
    this.content.style.width = `${this.lefts.at(-1)}px`;
    this.content.style.height = `${HEADER_HEIGHT + this.displayedRows * ROW_HEIGHT}px`;
  }

  /** A row's cells, its number first; undefined if not loaded. */
  row(at) {
    return this.pages.get(Math.floor(at / this.pageRows))?.[at % this.pageRows];
  }

  storePage({ start, rows, irregular_rows: irregularRows }) {
    this.pages.set(Math.floor(start / this.pageRows), rows);
    Object.assign(this.irregularRows, irregularRows);
  }

  order() {
    return this.sort ? { sort: this.sort.at, descending: this.sort.descending ? 1 : 0 } : {};
  }

  /** The visible rows and columns, and a few beyond. */
  visibleRange() {
    const { scrollTop, scrollLeft, clientHeight, clientWidth } = this.body;
    const top = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - OVERSCAN);
    const bottom = Math.min(this.displayedRows, Math.ceil((scrollTop + clientHeight - HEADER_HEIGHT) / ROW_HEIGHT) + OVERSCAN);
    let left = 0;
    while (left < this.names.length - 1 && this.lefts[left + 1] < scrollLeft + this.numbers) left++;
    let right = left;
    while (right < this.names.length && this.lefts[right] < scrollLeft + clientWidth) right++;
    return { top, bottom, left: Math.max(0, left - 1), right: Math.min(this.names.length, right + 1) };
  }

  draw(all = false) {
    const range = this.visibleRange();
    if (all || range.left !== this.drawnRange?.left || range.right !== this.drawnRange?.right) {
      this.drawn.clear();
      this.drawHead(range);
      this.content.replaceChildren(this.head);
    }
    this.drawnRange = range;
    for (const [at, element] of this.drawn) {
      if (at >= range.top && at < range.bottom && element.complete) continue;
      element.remove();
      this.drawn.delete(at);
    }
    for (let at = range.top; at < range.bottom; at++) if (!this.drawn.has(at)) this.drawRow(at, range);
    this.selection.show();
    this.requestMissing(range);
  }

  drawRow(at, { left, right }) {
    const cells = this.row(at);
    const irregular = cells && this.irregularRows[cells[0]];
    const number = h(
      "div",
      {
        class: `row-number${irregular ? " irregular" : ""}`,
        role: "rowheader",
        "aria-colindex": 1,
        title: irregular || null,
        "data-row": at,
        style: `width: ${this.numbers}px`,
      },
      cells ? String(cells[0]) : "",
    );
    const shown = [number];
    for (let column = left; column < right; column++) {
      const [kind, text] = cells ? cellText(cells, column, this.kinds[column]) : ["", ""];
      shown.push(h("div", { class: `cell ${kind}`, role: "gridcell", ...this.cellAttributes(at, column) }, text));
    }
    const place = `top: ${HEADER_HEIGHT + at * ROW_HEIGHT}px`;
    const element = h("div", { class: `row${cells ? "" : " loading"}`, role: "row", "aria-rowindex": at + 2, style: place }, ...shown);
    element.complete = Boolean(cells);
    this.drawn.set(at, element);
    this.content.append(element);
  }

  cellAttributes(row, column) {
    const style = `left: ${this.lefts[column]}px; width: ${this.widths[column]}px`;
    return { "aria-colindex": column + 2, id: this.cellId(row, column), "data-row": row, "data-column": column, style };
  }

  drawHead({ left, right }) {
    const cells = [h("div", { class: "row-number", role: "columnheader", "aria-label": "Row", style: `width: ${this.numbers}px` })];
    for (let at = left; at < right; at++) cells.push(this.headCell(at));
    this.head.replaceChildren(...cells);
  }

  headCell(at) {
    const sorted = this.sort?.at === at ? (this.sort.descending ? "descending" : "ascending") : null;
    const arrow = sorted ? h("i", { "aria-hidden": "true" }, this.sort.descending ? "↓" : "↑") : null;
    const handle = h("span", {
      class: "handle",
      title: "Drag to resize",
      onpointerdown: (event) => this.startResize(event, at),
      ondblclick: () => this.fitColumn(at),
    });
    const name = this.names[at] || this.types[at] || `${at + 1}`;
    return h(
      "div",
      {
        class: `cell ${this.kinds[at]}${this.names[at] ? "" : " unnamed"}`,
        role: "columnheader",
        "aria-sort": sorted,
        title: [name, this.types[at], this.columnSummary(at), "Click to sort"].filter(Boolean).join("\n"),
        ...this.cellAttributes(-1, at),
      },
      h("b", {}, name, arrow),
      h("small", {}, this.columnSummary(at) || (this.names[at] && this.types[at]) || this.kinds[at]),
      handle,
    );
  }

  columnSummary(at) {
    const { min, max, distinct, empty } = this.statistics[at] ?? {};
    if (distinct === undefined) return "";
    if (distinct === 0) return "empty";
    const range = min === undefined ? `${plural(distinct, "value")}` : min === max ? min : `${min} – ${max}`;
    return empty ? `${range}, ${formatNumber(empty)} empty` : range;
  }

  cellId(row, column) {
    return `${this.id}-${row}-${column}`;
  }

  /** Request the visible rows that are missing, once scrolling pauses. */
  requestMissing({ top, bottom }) {
    clearTimeout(this.timer);
    const missing = [...new Set([top, bottom - 1].map((at) => Math.floor(at / this.pageRows)))].filter((page) => page >= 0 && !this.pages.has(page));
    if (missing.length && bottom > top) this.timer = setTimeout(() => missing.forEach((page) => this.fetch(page)), IDLE_MS);
  }

  async fetch(page) {
    const { pages } = this;
    if (pages.has(page)) return;
    pages.set(page, null);
    try {
      const answer = await this.ask({ start: page * this.pageRows, ...this.order() });
      if (pages === this.pages) this.storePage(answer);
    } catch (error) {
      pages.delete(page);
      this.footer.showMessage(error.message);
      return;
    }
    if (pages === this.pages) this.scheduleDraw();
  }

  /** Sort by a column: ascending, then descending, then the file's order. */
  sortBy(at) {
    const before = this.sort?.at === at ? this.sort : null;
    this.sort = before?.descending ? null : { at, descending: Boolean(before) };
    this.pages = new Map();
    this.body.scrollTop = 0;
    const { total, total_is_estimate: estimated } = this.first;
    const isPartial = this.sort && (estimated || total > this.displayedRows);
    this.footer.showMessage(isPartial ? `Sorted within the first ${plural(this.displayedRows, "row")}.` : "");
    this.draw(true);
  }

  async describe() {
    const { statistics } = await this.ask({ statistics: 1 });
    this.statistics = statistics;
    this.drawHead(this.drawnRange);
    this.selection.show();
  }

  startResize(event, at) {
    event.preventDefault();
    event.stopPropagation();
    const from = event.clientX - this.widths[at];
    const handle = event.target;
    handle.setPointerCapture(event.pointerId);
    handle.onpointermove = (move) => this.setWidth(at, move.clientX - from, false);
    handle.onpointerup = handle.onpointercancel = () => {
      handle.onpointermove = null;
      this.draw(true);
    };
  }

  setWidth(at, width, all = true) {
    this.widths[at] = Math.max(32, Math.min(width, 2000));
    this.layout();
    if (all) return this.draw(true);
    for (const cell of this.content.querySelectorAll("[data-column]")) {
      const column = Number(cell.dataset.column);
      cell.style.left = `${this.lefts[column]}px`;
      cell.style.width = `${this.widths[column]}px`;
    }
  }

  fitColumn(at) {
    this.setWidth(at, this.widthOf(at, [...this.pages.values()].flat().filter(Boolean), 900, 1));
  }

  /** A column's width that fits its name, its type and a share of the values in rows. */
  widthOf(at, rows, maxWidth = MAX_WIDTH, share = 0.95) {
    const lengths = rows.map((row) => valueWidth(row[at + 1])).sort((a, b) => a - b);
    const length = lengths[Math.min(lengths.length - 1, Math.floor(lengths.length * share))] ?? 0;
    const head = Math.max(Math.min(displayWidth(this.names[at]) + 2, 30), Math.min((this.types[at] ?? "").length, 18));
    return Math.max(MIN_WIDTH, Math.min(maxWidth, 22 + 7.6 * Math.max(length, head)));
  }

  /** Scroll to a cell. */
  scrollTo(row, column) {
    const { body } = this;
    const top = row * ROW_HEIGHT;
    if (row >= 0 && top < body.scrollTop) body.scrollTop = top;
    else if (row >= 0 && top + ROW_HEIGHT + HEADER_HEIGHT > body.scrollTop + body.clientHeight)
      body.scrollTop = top + ROW_HEIGHT + HEADER_HEIGHT - body.clientHeight;
    const [left, right] = [this.lefts[column] - this.numbers, this.lefts[column + 1]];
    if (left < body.scrollLeft) body.scrollLeft = left;
    else if (right > body.scrollLeft + body.clientWidth) body.scrollLeft = Math.min(left, right - body.clientWidth);
    this.draw();
  }

  get visibleRowCount() {
    return Math.max(1, Math.floor((this.body.clientHeight - HEADER_HEIGHT) / ROW_HEIGHT) - 1);
  }
}

/** Return the class and text of a cell. */
function cellText(cells, column, kind) {
  const value = cells[column + 1];
  if (value === undefined) return ["missing", ""];
  if (value === null) return ["null", "NULL"];
  if (typeof value === "number") return ["right", String(value)];
  if (typeof value === "string") return [kind === "number" ? "right" : "", singleLine(value)];
  return "blob" in value ? ["blob", `${formatBytes(value.blob)} of binary data`] : ["", `${singleLine(value.text)}…`];
}

const singleLine = (text) =>
  text
    .replace(/\r\n?|\n/g, "↵")
    .replaceAll("\0", "␀")
    .slice(0, 300);

const valueWidth = (value) => (value === null ? 4 : typeof value === "object" ? (value.text?.length ?? 14) : displayWidth(String(value ?? "")));
const displayWidth = (text) => text.length + (text.match(/[\u2e80-\uffff]/g)?.length ?? 0);
