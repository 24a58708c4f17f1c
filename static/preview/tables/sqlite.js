// SQLite preview: table list, rows of the selected table in a grid, column declarations.

import { h } from "../../core/dom.js";
import { formatCount, formatNumber, plural } from "../../core/format.js";
import { onTabKeys, showNotes, tab } from "../parts.js";
import { Grid } from "./grid.js";

export const open = (file, first) => new Database(file, first);

class Database {
  constructor(file, first) {
    this.file = file;
    this.tables = h("div", { class: "tables", role: "tablist", "aria-orientation": "vertical", "aria-label": "Tables" });
    this.notes = h("p", { class: "notes", role: "note" });
    this.schema = h("details", { class: "schema" });
    this.rowsElement = h("div", { class: "rows" });
    this.element = h("div", { class: "database" }, this.notes, this.tables, h("div", { class: "table-view" }, this.schema, this.rowsElement));
    onTabKeys(this.tables, { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }, (by) => {
      const next = this.allTables[this.allTables.findIndex(({ name }) => name === this.name) + by];
      if (next) this.openTable(next.name);
    });
    this.load(first);
  }

  close() {
    this.grid?.close();
  }

  async update(first) {
    const reload = this.name !== undefined && first.tables.some(({ name }) => name === this.name) && first.table !== this.name;
    this.load(reload ? { ...first, ...(await this.rowsOf(this.name)) } : first);
  }

  load(first) {
    this.allTables = first.tables;
    showNotes(this.notes, first.notes);
    this.tables.hidden = !first.tables.length;
    if (first.tables.length) this.showTable(first);
    const views = this.allTables.filter(({ kind }) => kind === "view").length;
    this.file.setDetails(plural(this.allTables.length - views, "table") + (views ? `, ${plural(views, "view")}` : ""));
  }

  rowsOf(name) {
    return this.file.ask({ table: name }).catch((error) => ({ table: name, error: error.message }));
  }

  showTable(view) {
    this.name = view.table;
    const table = this.allTables.find(({ name }) => name === view.table);
    this.showTabs();
    this.showSchema(table);
    if (view.error) {
      this.grid?.close();
      this.grid = null;
      return void this.rowsElement.replaceChildren(h("p", { class: "message" }, view.error));
    }
    if (this.grid) this.grid.reset(view);
    else this.grid = new Grid(view, (options) => this.file.ask({ table: this.name, ...options }), this.file.name);
    this.rowsElement.replaceChildren(this.grid.element);
    this.showSize(view);
    if (view.total_is_estimate) this.count(view);
  }

  showSize({ total, total_is_estimate: estimated, displayed_rows: displayed, columns }) {
    const limit = total > displayed ? `; first ${formatNumber(displayed)} shown` : "";
    this.grid.footer.describe(`${estimated ? "about " : ""}${plural(total, "row")} × ${plural(columns, "column")}${limit}`);
  }

  async count(view) {
    const { name } = this;
    const { rows } = await this.file.ask({ table: name, count: 1 }).catch(() => ({}));
    if (!rows || rows[1] || name !== this.name) return;
    this.showSize({ ...view, total: rows[0], total_is_estimate: false });
    this.allTables.find((table) => table.name === name).rows = rows;
    this.showTabs();
  }

  showTabs() {
    const focused = this.tables.contains(document.activeElement);
    this.tables.replaceChildren(
      ...this.allTables.map(({ name, kind, rows }) => {
        const size = rows ? `${rows[1] ? "about " : ""}${formatCount(rows[0])}` : kind === "table" ? "" : kind;
        return tab(name === this.name, () => this.openTable(name), { title: name }, h("b", {}, name), h("small", { class: "num" }, size));
      }),
    );
    if (focused) this.tables.querySelector('[aria-selected="true"]')?.focus();
  }

  async openTable(name) {
    if (name === this.name) return;
    const request = (this.request = this.rowsOf(name));
    const view = await request;
    if (request === this.request) this.showTable(view);
  }

  showSchema({ columns, sql, kind, indexes }) {
    const rows = columns.map(([name, type, roles]) =>
      h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, type), h("td", {}, ...roles.map((role) => h("i", {}, role)))),
    );
    const counts = `${plural(columns.length, "column")}${indexes ? `, ${plural(indexes, "index", "indexes")}` : ""}`;
    this.schema.replaceChildren(
      h("summary", {}, kind === "table" ? "Schema" : `Schema of this ${kind}`, h("small", {}, counts)),
      h("div", {}, h("table", {}, h("tbody", {}, ...rows)), sql ? h("pre", { tabindex: "0" }, sql) : ""),
    );
  }
}
