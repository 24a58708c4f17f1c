// Preview of CSV, workbooks and Parquet: a grid with sheets and the row count of a long file.

import { h } from "../../core/dom.js";
import { formatNumber, plural } from "../../core/format.js";
import { encodingSelect } from "../text/encoding.js";
import { onTabKeys, showNotes, tab } from "../parts.js";
import { Grid } from "./grid.js";

const approximate = new Intl.NumberFormat("en", { notation: "compact", compactDisplay: "long", maximumSignificantDigits: 2 });
const MAX_DESCRIBED_CELLS = 200_000; // cells; larger tables get no statistics
const MAX_DESCRIBED_BYTES = 8e6; // bytes; reading a larger workbook again takes too long

export const open = (file, first) => new Table(file, first);

class Table {
  constructor(file, first) {
    this.file = file;
    this.options = {};
    this.tabs = h("div", { class: "sheets", role: "tablist", "aria-label": "Sheets" });
    this.notes = h("p", { class: "notes", role: "note" });
    this.grid = new Grid(first, (options) => file.ask({ ...this.options, ...options }), file.name);
    this.element = h("div", { class: "table" }, this.tabs, this.notes, this.grid.element);
    onTabKeys(this.tabs, { ArrowLeft: -1, ArrowRight: 1 }, (by) => {
      const at = this.first.sheet + by;
      if (at >= 0 && at < this.first.sheets.length) this.openSheet(at);
    });
    this.load(first);
  }

  close() {
    this.closed = true;
    this.grid.close();
  }

  /** The file changed: load the same sheet with the same options. */
  async update(first) {
    const view = Object.keys(this.options).length ? await this.file.ask(this.options) : first;
    this.grid.reset(view);
    this.load(view);
  }

  async setOptions(options) {
    this.options = { ...this.options, ...options };
    const view = await this.file.ask(this.options);
    this.grid.reset(view);
    this.grid.body.scrollTo(0, 0);
    this.load(view);
  }

  load(first) {
    this.first = first;
    this.counted = null;
    showNotes(this.notes, first.notes);
    this.showTabs(first);
    const { has_header: checked, format, displayed_rows: rows, names } = first;
    const header = h("input", { type: "checkbox", checked, onchange: () => this.setOptions({ header: header.checked ? 1 : 0 }) });
    const toggle = checked === null ? null : h("label", {}, header, "First row is a header");
    const encoding = first.encoding && encodingSelect(first.encoding, (name) => this.setOptions({ encoding: name }));
    this.grid.footer.describe(...[format, encoding, toggle].filter(Boolean));
    this.showSize();
    const isSmall = rows * names.length <= MAX_DESCRIBED_CELLS && (format !== "workbook" || this.file.entry?.size < MAX_DESCRIBED_BYTES);
    if (rows && isSmall) this.grid.describe().catch(() => {});
    if (first.total_is_estimate) this.count();
  }

  showSize(progress = "") {
    const { total, total_is_estimate: estimated, displayed_rows: displayed, columns } = this.first;
    if (!total && !columns) return this.file.setDetails("empty");
    const rows = estimated ? `about ${approximate.format(total)} rows${progress}` : plural(total, "row");
    const limit = total > displayed || estimated ? `; first ${formatNumber(displayed)} shown` : "";
    this.file.setDetails(`${rows} × ${plural(columns, "column")}${limit}`);
  }

  /** Count the rows of a long file, a part per request. */
  async count() {
    const { first, file } = this;
    let counted = {};
    while (!counted.done) {
      const { offset, rows, in_quotes: inQuotes } = counted;
      const from = offset ? { offset, rows, in_quotes: inQuotes ? 1 : 0 } : {};
      counted = await file.ask({ ...this.options, count: 1, ...from }).catch(() => null);
      if (!counted || this.closed || first !== this.first) return;
      if (!counted.done && file.entry) this.showSize(`, counting: ${Math.floor((100 * counted.offset) / file.entry.size)}%`);
    }
    Object.assign(first, { total: counted.rows, total_is_estimate: false });
    this.showSize();
  }

  showTabs({ sheets, sheet }) {
    this.tabs.hidden = sheets.length < 2;
    this.tabs.replaceChildren(...sheets.map((name, at) => tab(at === sheet, () => this.openSheet(at), {}, name)));
  }

  async openSheet(sheet) {
    const { header, ...rest } = this.options;
    this.options = rest;
    await this.setOptions({ sheet });
    this.tabs.children[sheet]?.focus();
  }
}
