// Preview of CSV, workbooks and Parquet: a grid with sheets and the row count of a long file.

import { h } from "../../core/dom.js";
import { number, plural } from "../../core/format.js";
import { dressed, Grid } from "./grid.js";

const roughly = new Intl.NumberFormat("en", { notation: "compact", compactDisplay: "long", maximumSignificantDigits: 2 });
const MANY = 200_000; // cells; larger tables get no statistics
const DESCRIBED = 8e6; // bytes; reading a larger workbook again takes too long

export async function open(file, first) {
  await dressed();
  return new Table(file, first);
}

class Table {
  constructor(file, first) {
    Object.assign(this, { file, options: {} });
    this.tabs = h("div", { class: "sheets", role: "tablist", "aria-label": "Sheets" });
    this.says = h("p", { class: "notes", role: "note" });
    this.grid = new Grid(first, (options) => file.ask({ ...this.options, ...options }), file.name);
    this.grid.onSort = () => (this.first.total > this.first.held ? `Sorted within the first ${number(this.first.held)} rows.` : "");
    this.element = h("div", { class: "table" }, this.tabs, this.says, this.grid.element);
    this.tabs.addEventListener("keydown", (event) => this.key(event));
    this.take(first);
  }

  close() {
    this.closed = true;
    this.grid.close();
  }

  /** The file changed: load the same sheet with the same options. */
  async update(first) {
    const view = Object.keys(this.options).length ? await this.file.ask(this.options) : first;
    this.grid.reset(view);
    this.take(view);
  }

  async choose(options) {
    this.options = { ...this.options, ...options };
    const view = await this.file.ask(this.options);
    this.grid.reset(view);
    this.grid.body.scrollTo(0, 0);
    this.take(view);
  }

  take(first) {
    this.first = first;
    this.counted = null;
    this.says.textContent = first.notes.join(" ");
    this.says.hidden = !first.notes.length;
    this.showTabs(first);
    const { header } = first;
    const toggle = header === null ? null : h("label", {},
      h("input", { type: "checkbox", checked: header, onchange: ({ target }) => this.choose({ header: target.checked ? 1 : 0 }) }), "First row is a header");
    this.grid.foot.note(...[first.form, toggle].filter(Boolean));
    this.tell();
    if (first.held && first.held * first.names.length <= MANY && (first.form !== "workbook" || this.file.entry?.size < DESCRIBED)) this.grid.describe().catch(() => {});
    if (first.about) this.count();
  }

  tell(progress = "") {
    const { total, about, held, columns } = this.first;
    if (!total && !columns) return this.file.tell("empty");
    const rows = about ? `about ${roughly.format(total)} rows${progress}` : plural(total, "row");
    const part = total > held || about ? `; first ${number(held)} shown` : "";
    this.file.tell(`${rows} × ${plural(columns, "column")}${part}`);
  }

  /** Count the rows of a long file, a part per request. */
  async count() {
    const { first, file } = this;
    let so = {};
    while (!so.done) {
      so = await file.ask({ ...this.options, count: 1, ...(so.at ? { at: so.at, rows: so.rows, inside: so.inside ? 1 : 0 } : {}) }).catch(() => null);
      if (!so || this.closed || first !== this.first) return;
      if (!so.done && file.entry) this.tell(`, counting: ${Math.floor((100 * so.at) / file.entry.size)}%`);
    }
    Object.assign(first, { total: so.rows, about: false });
    this.tell();
  }

  showTabs({ sheets, sheet }) {
    this.tabs.hidden = sheets.length < 2;
    this.tabs.replaceChildren(...sheets.map((name, at) => h("button", {
      type: "button", role: "tab", "aria-selected": String(at === sheet), tabindex: at === sheet ? "0" : "-1", onclick: () => this.turn(at),
    }, name)));
  }

  async turn(sheet) {
    const { header, ...rest } = this.options;
    this.options = rest;
    await this.choose({ sheet });
    this.tabs.children[sheet]?.focus();
  }

  key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const at = this.first.sheet + by;
    if (!by) return;
    event.preventDefault();
    if (at >= 0 && at < this.first.sheets.length) this.turn(at);
  }
}
