// Below a grid: the full text of a cell, and the selection with its sum and a copy button.

import { copyText, h, iconButton, showOutcome } from "../../core/dom.js";
import { formatBytes, formatNumber, plural } from "../../core/format.js";

const numberFormat = new Intl.NumberFormat("en", { maximumSignificantDigits: 8 });

export class CellViewer {
  constructor(grid) {
    this.grid = grid;
    this.name = h("b");
    this.size = h("small", { class: "num" });
    this.text = h("pre", { tabindex: "0" });
    const copyButton = h("button", { class: "quiet", onclick: () => copyText(this.text.textContent, copyButton) }, "Copy");
    const closeButton = iconButton("close", "Close cell", () => this.close());
    this.element = h(
      "section",
      { class: "cell-viewer", "aria-label": "Cell", hidden: true },
      h("header", {}, this.name, this.size, copyButton, closeButton),
      this.text,
    );
    this.element.addEventListener("keydown", (event) => event.key === "Escape" && (event.preventDefault(), event.stopPropagation(), this.close()));
  }

  open() {
    this.element.hidden = false;
    this.update();
    this.grid.scrollTo(this.grid.selection.at.row, this.grid.selection.at.column);
  }

  /** Close the viewer; return whether it was open. */
  close() {
    if (this.element.hidden) return false;
    this.element.hidden = true;
    this.grid.body.focus();
    return true;
  }

  /** Show the current cell. */
  async update() {
    const { row, column } = this.grid.selection.at;
    if (this.element.hidden || row < 0) return;
    const cells = this.grid.row(row);
    this.name.textContent = `${this.grid.names[column] || this.grid.types[column] || `Column ${column + 1}`}, row ${cells?.[0] ?? row + 1}`;
    const value = cells?.[column + 1];
    if (cells && (value === null || typeof value !== "object")) return void this.showValue(value);
    const request = (this.request = this.grid.ask({ cell: `${row},${column}`, ...this.grid.order() }));
    const { text, size, blob } = await request.catch((error) => ({ text: error.message }));
    if (request !== this.request) return;
    this.showValue(text);
    if (size > text.length && !blob) this.size.textContent = `first ${formatNumber(text.length)} of ${formatNumber(size)} characters`;
    else this.size.textContent = blob ? formatBytes(size) : plural(size ?? 0, "character");
  }

  showValue(value) {
    this.request = null;
    const text = value === null || value === undefined ? "" : String(value);
    this.text.textContent = text;
    this.size.textContent = value === null ? "NULL" : value === undefined ? "missing" : plural(text.length, "character");
  }
}

/** The line below a grid. `showMessage(text)` shows a message, `describe(…elements)` the description. */
export function createFooter(grid) {
  const description = h("span", { class: "description" });
  const message = h("span", { class: "message", role: "status" });
  const summary = h("span", { class: "num", "aria-live": "polite" });
  const copyButton = h("button", { class: "quiet", onclick: () => copyText(grid.selection.text(), copyButton) }, "Copy");
  const element = h("div", { class: "footer" }, description, message, summary, copyButton);
  return {
    element,
    describe: (...elements) => description.replaceChildren(...elements),
    showMessage: (text) => (message.textContent = text || ""),
    copy: (text) => (text ? copyText(text, copyButton) : showOutcome(copyButton, "Copied")),
    updateSelection() {
      copyButton.hidden = !grid.displayedRows;
      summary.textContent = grid.selection.several ? selectionSummary(grid) : "";
    },
  };
}

function selectionSummary(grid) {
  const { top, bottom, left, right } = grid.selection.area;
  const size = `${plural(bottom - top + 1, "row")} × ${plural(right - left + 1, "column")}`;
  if ((bottom - top + 1) * (right - left + 1) > 100_000) return size;
  const numbers = [];
  for (let row = top; row <= bottom; row++) {
    const cells = grid.row(row);
    if (!cells) return size;
    for (const value of cells.slice(left + 1, right + 2)) {
      const n = typeof value === "number" ? value : typeof value === "string" && value.trim() ? Number(value) : NaN;
      if (Number.isFinite(n)) numbers.push(n);
    }
  }
  if (numbers.length < 2) return size;
  const sum = numbers.reduce((a, b) => a + b, 0);
  return `${size} · sum ${numberFormat.format(sum)} · mean ${numberFormat.format(sum / numbers.length)}`;
}
