// The current cell and the selected area of a grid, by mouse and keyboard.

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export class GridSelection {
  constructor(grid) {
    this.grid = grid;
    this.at = { row: 0, column: 0 };
    this.from = { row: 0, column: 0 };
    this.marked = [];
    grid.body.addEventListener("keydown", (event) => this.onKey(event));
    grid.body.addEventListener("pointerdown", (event) => this.onPointerDown(event));
    grid.body.addEventListener("pointermove", (event) => this.dragging && this.onDrag(event));
    grid.body.addEventListener("pointerup", () => (this.dragging = false));
    grid.body.addEventListener("pointercancel", () => (this.dragging = false));
    grid.body.addEventListener("dblclick", (event) => cellPosition(event) && grid.viewer.open());
    grid.body.addEventListener("copy", (event) => this.onCopy(event));
  }

  /** Clear the selection, unless the table is the `same`. */
  reset(same) {
    const { displayedRows, names } = this.grid;
    if (!same) this.at = this.from = { row: 0, column: 0 };
    const clamp = ({ row, column }) => ({ row: Math.min(row, Math.max(displayedRows - 1, 0)), column: Math.min(column, Math.max(names.length - 1, 0)) });
    this.at = clamp(this.at);
    this.from = clamp(this.from);
  }

  /** The selected area, from top left to bottom right. */
  get area() {
    const { at, from } = this;
    return {
      top: Math.max(0, Math.min(at.row, from.row)),
      bottom: Math.max(at.row, from.row),
      left: Math.min(at.column, from.column),
      right: Math.max(at.column, from.column),
    };
  }

  get several() {
    const { at, from } = this;
    return at.row !== from.row || at.column !== from.column;
  }

  show() {
    for (const cell of this.marked) {
      cell.classList.remove("selected", "active");
      cell.removeAttribute("aria-selected");
    }
    const { grid, at, area } = this;
    const cells = [];
    for (const [row, element] of grid.drawn) {
      if (row < area.top || row > area.bottom || at.row < 0) continue;
      for (const cell of element.children) {
        const column = Number(cell.dataset.column ?? -1);
        if (column >= area.left && column <= area.right) cells.push(cell);
      }
    }
    for (const cell of cells) {
      cell.classList.toggle("selected", this.several);
      cell.setAttribute("aria-selected", "true");
    }
    const active = document.getElementById(grid.cellId(at.row, at.column));
    active?.classList.add("active");
    this.marked = active ? [...cells, active] : cells;
    if (active) grid.body.setAttribute("aria-activedescendant", active.id);
    else grid.body.removeAttribute("aria-activedescendant");
    grid.footer.updateSelection();
  }

  moveTo(row, column, { extend = false } = {}) {
    const { displayedRows, names } = this.grid;
    if (!names.length) return;
    this.at = { row: Math.max(extend ? 0 : -1, Math.min(row, displayedRows - 1)), column: Math.max(0, Math.min(column, names.length - 1)) };
    if (!extend) this.from = this.at;
    this.grid.scrollTo(this.at.row, this.at.column);
    this.show();
    this.grid.viewer.update();
  }

  onPointerDown(event) {
    const row = event.target.closest(".row-number[data-row]");
    const position = cellPosition(event);
    if (event.button !== 0 || (!row && !position)) return;
    if (row) return this.selectRow(Number(row.dataset.row), event.shiftKey);
    if (position.row < 0) {
      this.at = this.from = position;
      return void this.grid.sortBy(position.column);
    }
    this.dragging = event.pointerType === "mouse";
    this.moveTo(position.row, position.column, { extend: event.shiftKey });
  }

  onDrag(event) {
    const position = cellPosition(event);
    if (!event.buttons) this.dragging = false;
    else if (position && position.row >= 0 && (position.row !== this.at.row || position.column !== this.at.column))
      this.moveTo(position.row, position.column, { extend: true });
  }

  selectRow(row, extend) {
    this.from = { row: extend ? this.from.row : row, column: 0 };
    this.at = { row, column: this.grid.names.length - 1 };
    this.show();
  }

  selectAll() {
    const { displayedRows, names } = this.grid;
    this.from = { row: 0, column: 0 };
    this.at = { row: displayedRows - 1, column: names.length - 1 };
    this.show();
  }

  onKey(event) {
    if (event.altKey && this.resizeColumn(event.key)) return void event.preventDefault();
    if (event.altKey || !this.handleKey(event)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Return whether a key was handled. */
  handleKey({ key, ctrlKey, metaKey, shiftKey }) {
    const { grid, at } = this;
    const modifier = ctrlKey || metaKey;
    const [row, column] = [grid.displayedRows - 1, grid.names.length - 1]; // the last ones
    const [down, right] = STEPS[key] ?? [0, 0];
    const byStep = [at.row + (modifier ? row + 1 : 1) * down, at.column + (modifier ? column + 1 : 1) * right];
    const byKey = {
      PageUp: [Math.max(0, at.row - grid.visibleRowCount), at.column],
      PageDown: [at.row + grid.visibleRowCount, at.column],
      Home: [at.row, 0],
      End: [at.row, column],
    };
    const to = down || right ? byStep : modifier ? { Home: [0, 0], End: [row, column] }[key] : byKey[key];
    if (to) this.moveTo(modifier ? Math.max(0, to[0]) : to[0], to[1], { extend: shiftKey });
    else if (modifier && key.toLowerCase() === "a") this.selectAll();
    else if (modifier) return false;
    else if (key === "Escape") return grid.viewer.close();
    else if (key !== "Enter") return false;
    else if (at.row < 0) grid.sortBy(at.column);
    else grid.viewer.open();
    return true;
  }

  resizeColumn(key) {
    const by = { ArrowLeft: -20, ArrowRight: 20 }[key];
    if (by) this.grid.setWidth(this.at.column, this.grid.widths[this.at.column] + by);
    return Boolean(by);
  }

  /** The selection as tab-separated text; missing or truncated cells come from the server. */
  text() {
    const { top, bottom, left, right } = this.area;
    const lines = [];
    for (let row = top; row <= bottom; row++) {
      const cells = this.grid.row(row)?.slice(left + 1, right + 2);
      if (!cells || cells.some((value) => value !== null && typeof value === "object")) return this.fetchText();
      lines.push(cells.map(tabSeparated).join("\t"));
    }
    return lines.join("\n");
  }

  async fetchText() {
    const { top, bottom, left, right } = this.area;
    const { text } = await this.grid.ask({ area: [top, left, bottom, right].join(), ...this.grid.order() });
    return text;
  }

  onCopy(event) {
    if (getSelection().toString()) return;
    const text = this.text();
    event.preventDefault();
    if (typeof text === "string") event.clipboardData.setData("text/plain", text);
    this.grid.footer.copy(typeof text === "string" ? null : text);
  }
}

function cellPosition(event) {
  const cell = event.target.closest?.("[data-column]");
  return cell && { row: Number(cell.dataset.row), column: Number(cell.dataset.column) };
}

function tabSeparated(value) {
  const text = value === null ? "" : String(value);
  return /[\t\n\r"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
