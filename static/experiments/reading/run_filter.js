// The controls that filter and group an evaluation's runs, and the table of groups. The choice is kept in the URL.

import { h, hasChanged } from "../../core/dom.js";
import { formatNumber, shortened } from "../../core/format.js";
import { source } from "../../core/loading/source.js";
import { stateLabel } from "../../core/run/run_states.js";
import { DIFFERENCES, OUTCOMES, domainName, isKnown, percent } from "../words.js";
import { filterText, groupsOf, itemsOf, matcher, parseFilter, valueCounts } from "./filters.js";

const NARROW = matchMedia("(max-width: 900px)");
const CAPABILITIES = { external: "External resources", files: "File management", computation: "Computation" };
const NO_VALUE = {
  uses: "No capability",
  failure: "No failure",
  difference: "No difference known",
  labels: "No label",
  noted: "No note",
  agreed: "Not by both",
};
const MAX_TITLE = 40; // characters
const CHIPS = "outcome"; // the field that the task table's chips choose
/** @type {[string, string, (value: number) => string][]} */
const FIGURES = [
  ["runs", "Runs", formatNumber],
  ["tasks", "Tasks", formatNumber],
  ["score", "Score", (value) => percent(value, 1)],
  ["tokens", "Tokens", (value) => formatNumber(Math.round(value))],
  ["turns", "Turns", (value) => value.toFixed(1)],
  ["cost", "Cost", (value) => value.toFixed(4)],
];

/** The title of a field in a control: a question may be long. */
const shortTitle = (title, isLower = true) => (title.length <= MAX_TITLE && isLower ? title.toLowerCase() : shortened(title, MAX_TITLE));

export class RunFilter {
  /** `onChange({ keepPlace })` is called when another filter or group is chosen; `exportUrl(kind, query)` is the address of an export. */
  constructor(onChange, exportUrl) {
    this.onChange = onChange;
    this.exportUrl = exportUrl;
    this.filter = {}; // field → values
    this.fields = null; // as the server names them
    this.items = []; // all runs
    this.known = new WeakMap(); // the runs of a task's cells
    this.evaluation = null;
    this.shown = []; // those that the filter lets through
    this.controls = h("div", { class: "filter-fields" });
    this.clear = h("button", { class: "quiet clear-filter", onclick: () => this.change({}) }, "Clear");
    this.summary = h("span", {}, "Filter and group");
    this.details = h("details", { class: "run-filter", open: !NARROW.matches }, h("summary", {}, this.summary), this.controls);
    this.details.addEventListener("toggle", () => this.evaluation && this.showControls());
    this.table = h("table", { class: "groups num" });
    this.groups = h("div", { class: "table-scroller", tabindex: "0", role: "region", "aria-label": "Groups of runs", hidden: true }, this.table);
    this.exports = h("span", { class: "filter-exports", hidden: true });
    this.by = h("select", { "aria-label": "Group by", onchange: () => this.groupBy(this.by.value) });
    this.element = h("div", {}, this.details, this.groups);
    this.inputs = new Map(); // field → its control, see `control`
  }

  /** Take in an evaluation, of which the tasks or the cells are others. */
  show(evaluation) {
    if (!this.fields || this.fields.length !== evaluation.filters.length) this.build(evaluation);
    if (this.evaluation?.tasks !== evaluation.tasks) this.known = new WeakMap();
    this.evaluation = evaluation;
    this.items = itemsOf(evaluation, this.known);
    this.apply();
  }

  /** Create the controls of the fields that the server names; a question that is asked is one more. */
  build({ filters }) {
    const isFirst = !this.fields;
    this.fields = filters;
    const address = new URLSearchParams(location.search);
    const group = isFirst ? address.get("group") : this.by.value;
    if (isFirst) this.filter = parseFilter(address.get("filter") ?? "", filters);
    this.by.replaceChildren(
      h("option", { value: "" }, "No groups"),
      ...filters.map(({ key, title }) => h("option", { value: key }, `By ${shortTitle(title)}`)),
    );
    this.by.value = filters.some(({ key }) => key === group) ? group : "";
    if (isFirst && (this.isActive || this.by.value)) this.details.open = true;
    this.inputs = new Map(filters.filter(({ key }) => key !== CHIPS).map((field) => [field.key, this.control(field)]));
    this.controls.replaceChildren(...[...this.inputs.values()].map(({ element }) => element), this.by, this.clear);
  }

  /** The question whose answers the table shows: the one that is filtered or grouped by, else the last. */
  get question() {
    const scans = this.fields.map(({ key }) => key).filter((key) => key.startsWith("scan:"));
    return scans.find((key) => key === this.by.value || key in this.filter) ?? scans.at(-1) ?? null;
  }

  /** The control of a field: { element, show() }. */
  control(field) {
    return field.kind === "range" ? this.rangeControl(field) : this.choiceControl(field);
  }

  choiceControl(field) {
    const select = h("select", { "aria-label": field.title, title: field.definition });
    select.addEventListener("change", () => this.choose(field.key, select.value));
    const show = () => {
      const [chosen = ""] = this.filter[field.key] ?? [];
      const counts = valueCounts(this.shownBut(field.key), field);
      if (chosen && !counts.some(([value]) => value === chosen)) counts.push([chosen, 0]);
      select.hidden = counts.length < 2 && !chosen;
      if (hasChanged(select, counts)) {
        const options = counts.map(([value, count]) => h("option", { value }, `${this.valueText(field.key, value)} (${formatNumber(count)})`));
        select.replaceChildren(h("option", { value: "" }, `${shortTitle(field.title, false)}: all`), ...options);
      }
      select.value = chosen;
    };
    return { element: select, show };
  }

  rangeControl(field) {
    const input = (name) =>
      h("input", { type: "number", min: "0", step: "1", inputmode: "numeric", placeholder: name, "aria-label": `${field.title} ${name}` });
    const ends = [input("from"), input("to")];
    const changed = () => {
      const [low, high] = ends.map(({ value }) => (/^\d{1,15}$/.test(value) ? value : ""));
      this.choose(field.key, low || high ? `${low}..${high}` : "");
    };
    for (const end of ends) end.addEventListener("change", changed);
    const show = () => {
      const values = (this.filter[field.key]?.[0] ?? "..").split("..");
      ends.forEach((end, at) => end !== document.activeElement && (end.value = values[at]));
    };
    return { element: h("span", { class: "range-field", title: field.definition }, field.title, ...ends), show };
  }

  /** Choose one value of a field, or none. */
  choose(key, value) {
    const { [key]: _before, ...others } = this.filter;
    this.change(value ? { ...others, [key]: [value] } : others);
  }

  /** Filter anew. */
  change(filter) {
    this.filter = filter;
    this.remember();
    this.apply();
    this.onChange();
  }

  groupBy(key) {
    this.by.value = key;
    this.remember();
    this.drawGroups();
    this.onChange({ keepPlace: true });
  }

  /** Keep filter and grouping in the URL, which can be shared. */
  remember() {
    if (source.bundled) return; // a report is a file
    const address = new URL(location.href);
    for (const [name, value] of [
      ["filter", filterText(this.filter)],
      ["group", this.by.value],
    ])
      if (value) address.searchParams.set(name, value);
      else address.searchParams.delete(name);
    history.replaceState(null, "", address);
  }

  get isActive() {
    return Object.keys(this.filter).length > 0;
  }

  apply() {
    this.shown = this.isActive ? this.items.filter(matcher(this.filter)) : this.items;
    this.showControls();
    this.clear.hidden = !this.isActive;
    this.summary.textContent = this.isActive ? `Filter and group (${Object.keys(this.filter).length})` : "Filter and group";
    this.showExports();
    this.drawGroups();
  }

  /** Show what is chosen, and what can be; in view only. */
  showControls() {
    if (this.details.open) for (const { show } of this.inputs.values()) show();
  }

  /** Offer the rows of the runs that are shown. */
  showExports() {
    this.exports.hidden = !this.isActive || Boolean(source.bundled);
    const filter = filterText(this.filter);
    if (this.exports.hidden || !hasChanged(this.exports, filter)) return;
    const link = (kind, text) => h("a", { href: this.exportUrl(kind, { filter }), download: "" }, text);
    this.exports.replaceChildren("Export them: ", link("runs.csv", "CSV"), " ", link("runs.jsonl", "JSON Lines"), " ", link("runs.parquet", "Parquet"));
  }

  /** The columns, by task, in which the runs are that the filter lets through. */
  get places() {
    const places = new Map();
    for (const { task, column } of this.shown) {
      if (!places.has(task)) places.set(task, new Set());
      places.get(task).add(column);
    }
    return places;
  }

  /** The number of runs by outcome, whatever outcome is chosen. */
  get outcomes() {
    return new Map(valueCounts(this.shownBut(CHIPS), { key: CHIPS, kind: "choice" }));
  }

  /** The runs that the filter lets through without one of its fields. */
  shownBut(key) {
    if (!(key in this.filter)) return this.shown;
    const { [key]: _own, ...others } = this.filter;
    return this.items.filter(matcher(others));
  }

  drawGroups() {
    const field = this.fields.find(({ key }) => key === this.by.value);
    this.groups.hidden = !field;
    if (!field) return;
    const groups = groupsOf(this.shown, field);
    if (!hasChanged(this.table, [field.key, groups, this.filter[field.key]])) return;
    const figures = FIGURES.filter(([name]) => groups.some((group) => isKnown(group[name])));
    const heads = figures.map(([name, title]) => h("th", { scope: "col", title: name === "runs" || name === "tasks" ? null : "Mean of what is known" }, title));
    const row = (group) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, this.groupName(field, group.value)),
        ...figures.map(([name, , text]) => h("td", {}, isKnown(group[name]) ? text(group[name]) : "–")),
      );
    this.table.replaceChildren(
      h("caption", { class: "visually-hidden" }, `Runs by ${field.title.toLowerCase()}: counts and means`),
      h("thead", {}, h("tr", {}, h("th", { scope: "col", title: field.definition }, field.title), ...heads)),
      h("tbody", {}, ...groups.map(row)),
    );
  }

  /** The name of a group: a button that shows its runs only, again all. */
  groupName(field, value) {
    const text = this.valueText(field.key, value);
    if (field.kind === "range" && !value.includes("..")) return text;
    const pressed = this.filter[field.key]?.join() === value;
    const onclick = () => this.choose(field.key, pressed ? "" : value);
    return h("button", { class: "inline", "aria-pressed": String(pressed), onclick, dir: "auto" }, text);
  }

  /** A value of a field in words. */
  valueText(key, value) {
    if (key === "outcome") return OUTCOMES[value]?.text ?? value;
    if (value === "none") return NO_VALUE[key] ?? "None";
    if (key === "difference") return DIFFERENCES[value] ?? value;
    if (key === "uses") return CAPABILITIES[value] ?? value;
    if (key === "failure") return stateLabel({ state: value });
    if (key === "domain") return domainName(value);
    if (key === "suite") return this.evaluation.suites.find(({ name }) => name === value)?.title ?? value;
    return value.includes("..")
      ? value
          .split("..")
          .map((end) => (end ? formatNumber(Number(end)) : ""))
          .join(" – ")
      : value;
  }
}
