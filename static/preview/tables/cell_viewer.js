// Below a grid: the full text of a cell, and the selection with its sum and a copy button.

import { copy, h, icon } from "../../core/dom.js";
import { bytes, number, plural } from "../../core/format.js";

const figure = new Intl.NumberFormat("en", { maximumSignificantDigits: 8 });

export class Viewer {
  constructor(grid) {
    this.grid = grid;
    this.name = h("b");
    this.size = h("small", { class: "num" });
    this.text = h("pre", { tabindex: "0" });
    const copying = h("button", { type: "button", class: "quiet", onclick: () => copy(this.text.textContent, copying) }, "Copy");
    const closing = h("button", { type: "button", class: "quiet sign", "aria-label": "Close cell", onclick: () => this.close() }, icon("close"));
    this.element = h("section", { class: "one", "aria-label": "Cell", hidden: true }, h("header", {}, this.name, this.size, copying, closing), this.text);
    this.element.addEventListener("keydown", (event) => event.key === "Escape" && (event.preventDefault(), event.stopPropagation(), this.close()));
  }

  open() {
    this.element.hidden = false;
    this.follow();
    this.grid.bring(this.grid.marking.at.row, this.grid.marking.at.column);
  }

  /** Close the viewer; return whether it was open. */
  close() {
    if (this.element.hidden) return false;
    this.element.hidden = true;
    this.grid.body.focus();
    return true;
  }

  /** Show the current cell. */
  async follow() {
    const { row, column } = this.grid.marking.at;
    if (this.element.hidden || row < 0) return;
    const cells = this.grid.row(row);
    this.name.textContent = `${this.grid.names[column] || this.grid.types[column] || `Column ${column + 1}`}, row ${cells?.[0] ?? row + 1}`;
    const value = cells?.[column + 1];
    if (cells && (value === null || typeof value !== "object")) return void this.put(value);
    const asked = (this.asked = this.grid.ask({ cell: `${row},${column}`, ...this.grid.order() }));
    const { text, size, blob } = await asked.catch((error) => ({ text: error.message }));
    if (asked !== this.asked) return;
    this.put(text);
    if (size > text.length && !blob) this.size.textContent = `first ${number(text.length)} of ${number(size)} characters`;
    else this.size.textContent = blob ? bytes(size) : plural(size ?? 0, "character");
  }

  put(value) {
    this.asked = null;
    const text = value === null || value === undefined ? "" : String(value);
    this.text.textContent = text;
    this.size.textContent = value === null ? "NULL" : value === undefined ? "missing" : plural(text.length, "character");
  }
}

/** The line below a grid. `say(text)` shows a message; `note(…elements)` the description. */
export function foot(grid) {
  const about = h("span", { class: "form" });
  const says = h("span", { class: "says-so", role: "status" });
  const chosen = h("span", { class: "num", "aria-live": "polite" });
  const copying = h("button", { type: "button", class: "quiet", onclick: () => copy(grid.marking.text(), copying) }, "Copy");
  const element = h("div", { class: "below" }, about, says, chosen, copying);
  return {
    element,
    note: (...elements) => about.replaceChildren(...elements),
    say: (text) => (says.textContent = text || ""),
    copy: (text) => (text ? copy(text, copying) : said(copying)),
    chosen() {
      copying.hidden = !grid.held;
      chosen.textContent = grid.marking.several ? summary(grid) : "";
    },
  };
}

function said(button) {
  button.dataset.says ??= button.textContent;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = button.dataset.says), 1200);
}

function summary(grid) {
  const { top, bottom, left, right } = grid.marking.area;
  const size = `${plural(bottom - top + 1, "row")} × ${plural(right - left + 1, "column")}`;
  if ((bottom - top + 1) * (right - left + 1) > 100_000) return size;
  const figures = [];
  for (let row = top; row <= bottom; row++) {
    const cells = grid.row(row);
    if (!cells) return size;
    for (const value of cells.slice(left + 1, right + 2)) {
      const n = typeof value === "number" ? value : typeof value === "string" && value.trim() ? Number(value) : NaN;
      if (Number.isFinite(n)) figures.push(n);
    }
  }
  if (figures.length < 2) return size;
  const sum = figures.reduce((a, b) => a + b, 0);
  return `${size} · sum ${figure.format(sum)} · mean ${figure.format(sum / figures.length)}`;
}
