// Where the tokens of runs go: one chart for each run with the same axis, the totals, and tables.

import { h, loadStyles } from "../core/dom.js";
import { formatCount, formatNumber, plural } from "../core/format.js";
import { countDocuments, documentList } from "./pasted_documents.js";
import { PARTS, TokenData, totalsOf } from "./token_data.js";
import { TokenPlot } from "./token_plot.js";
import { TokenTable } from "./token_table.js";

const UPDATE_MS = 1000; // ms between two updates of a running run
const MAX_TRIES = 5; // of counting the documents
const LIMIT_ROOM = 2; // the context's limit is drawn if it is at most this many times what else is

/**
 * Draw the tokens of `runs`, a list of `{run, label}` of the same inputs, into `element`; with `waits`
 * it is hidden until there is a step to draw.
 *
 * `onStep({run, step})` opens a step; without it, steps cannot be opened. The chart's `update(run)` is
 * to be called when a run has new events (of all runs without it).
 */
export function mountTokenChart(element, { runs, onStep = null, waits = false }) {
  const chart = new TokenChart(element, onStep, waits);
  chart.setRuns(runs);
  return chart;
}

class TokenChart {
  constructor(element, onStep, waits) {
    this.onStep = onStep;
    this.waits = waits;
    this.panels = new Map();
    this.counted = new Map();
    this.asTable = false;
    this.toggle = h("button", { class: "quiet as-table", "aria-pressed": "false", onclick: () => this.showTables(!this.asTable) }, "Show as tables");
    this.legend = h("ul", { class: "legend" });
    this.grid = h("div", { class: "panels" });
    this.element = h(
      "section",
      { class: "token-chart", "aria-label": "Where the tokens go" },
      h("div", { class: "chart-head" }, this.legend, this.toggle),
      this.grid,
    );
    this.element.hidden = waits;
    element.replaceChildren(this.element);
    this.styles = loadStyles("charts/charts.css");
    this.showLegend();
  }

  setRuns(runs) {
    for (const [run, panel] of this.panels) if (!runs.some((each) => each.run === run)) this.remove(run, panel);
    for (const { run, label } of runs) {
      const panel = this.panels.get(run) ?? new Panel(run, label, this);
      panel.setLabel(label);
      this.panels.set(run, panel);
      this.grid.append(panel.element);
    }
    this.grid.classList.toggle("single", runs.length === 1);
    this.update();
  }

  remove(run, panel) {
    panel.destroy();
    panel.element.remove();
    this.panels.delete(run);
  }

  update(run = null) {
    for (const panel of this.panels.values()) if (!run || panel.run === run) panel.update();
  }

  showTables(asTable) {
    this.asTable = asTable;
    this.toggle.setAttribute("aria-pressed", String(asTable));
    this.toggle.textContent = asTable ? "Show as charts" : "Show as tables";
    this.redraw();
  }

  /** Draw a panel, or all (null), with the same axis, so that bars can be compared; its top is a round number, which rarely changes. */
  async redraw(changed = null) {
    await this.styles;
    const panels = [...this.panels.values()].filter(({ data }) => data.info);
    this.element.hidden = this.waits && panels.every(({ data }) => !data.steps.length && data.info.running);
    const tallest = Math.max(0, ...panels.map(({ data }) => data.peak), ...panels.map(({ pastedTokens }) => pastedTokens));
    const limits = panels.map(({ limit }) => limit).filter((limit) => limit && limit <= tallest * LIMIT_ROOM);
    const axes = { highest: roundUp(Math.max(tallest, ...limits)), highestSum: roundUp(Math.max(0, ...panels.map(({ data }) => data.sum))) };
    const all = !changed || JSON.stringify(axes) !== JSON.stringify(this.axes);
    this.axes = axes;
    for (const panel of all ? panels : [changed]) panel.draw(axes, this.asTable);
  }

  /** Count the documents of a run; runs with the same paths have the same documents. */
  countDocuments(run, inputs) {
    const key = JSON.stringify(inputs);
    if (!this.counted.has(key)) this.counted.set(key, countDocuments(run, inputs));
    return this.counted.get(key).then((counted) => {
      if (!isCounted(counted)) this.counted.delete(key);
      return counted;
    });
  }

  showLegend() {
    const item = (key, label, help) => h("li", { title: help }, h("i", { class: `key ${key}` }), label);
    this.legend.append(
      ...PARTS.map(({ key, label, help }) => item(key, label, help)),
      item("sum", "Sum over the steps (right axis)", "All prompts and answers up to this step, as endpoints charge them."),
    );
  }

  destroy() {
    for (const [run, panel] of this.panels) this.remove(run, panel);
    this.element.remove();
  }
}

/** Return the next number of the form 1, 1.5, 2, 3, 4, 5, 6 or 8 times a power of ten. */
export function roundUp(number_) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, number_)));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((each) => each * power >= number_) * power;
}

const isCounted = ({ documents }) => documents.some(({ tokens }) => tokens !== null);

/** The chart, the totals and the table of one run. */
class Panel {
  constructor(run, label, chart) {
    this.run = run;
    this.chart = chart;
    this.data = new TokenData(run);
    this.pasted = null;
    this.tries = 0;
    this.heading = h("h3", { dir: "auto" });
    this.note = h("p", { class: "note", role: "status" }, "Loading…");
    this.figures = h("dl", { class: "figures num" });
    this.documents = h("div");
    const open = chart.onStep && ((step) => chart.onStep({ run, step }));
    this.plot = new TokenPlot(this.data, label, open);
    this.table = new TokenTable(this.data, label, open);
    this.plot.element.hidden = this.table.element.hidden = true;
    this.element = h("article", { class: "panel" }, this.heading, this.plot.element, this.table.element, this.note, this.figures, this.documents);
  }

  get limit() {
    return this.data.info?.context_limit ?? null;
  }

  get pastedTokens() {
    return this.pasted?.tokens ?? 0;
  }

  setLabel(label) {
    this.heading.textContent = label;
    this.heading.hidden = !label;
  }

  /** Read and draw what is new: at once, or when the last update is a second ago. */
  update() {
    if (this.loading) return void (this.again = true);
    this.loading = this.load().finally(() => {
      this.timer = setTimeout(() => {
        this.loading = null;
        if (this.again) this.update();
      }, UPDATE_MS);
    });
    this.again = false;
    return undefined;
  }

  async load() {
    try {
      if (!(await this.data.load())) return;
    } catch (error) {
      this.note.textContent = error.message;
      return;
    }
    this.countDocuments();
    await this.chart.redraw(this);
  }

  /**
   * Count the input documents once; in plain mode they are in the prompt. While a sandbox starts, its
   * files may be out of reach: the next updates try again.
   */
  async countDocuments() {
    const { inputs, mode } = this.data.info;
    if (this.pasted || !inputs.length || mode === "plain" || this.tries >= MAX_TRIES) return;
    this.tries++;
    this.pasted = { tokens: 0 };
    const counted = await this.chart.countDocuments(this.run, inputs);
    this.pasted = isCounted(counted) ? counted : null;
    if (!this.pasted) return;
    this.documents.replaceChildren(documentList(counted));
    this.chart.redraw();
  }

  async draw(axes, asTable) {
    const { info, steps } = this.data;
    const empty = info.totals.prompt === null;
    const note = this.noteText(empty, axes.highest);
    this.note.textContent = note;
    this.note.hidden = !note;
    this.plot.element.hidden = empty || asTable;
    this.table.element.hidden = !steps.length || !asTable;
    this.figures.hidden = empty;
    if (asTable) this.table.update();
    if (empty) return;
    this.figures.replaceChildren(
      ...totalsOf(info).map(([name, text, help]) =>
        h("div", { title: help, class: name.startsWith("of it") ? "part" : null }, h("dt", {}, name), h("dd", {}, text)),
      ),
    );
    if (asTable) return;
    try {
      await this.plot.draw(axes, this.marks());
    } catch (error) {
      this.note.textContent = error.message;
      this.note.hidden = false;
    }
  }

  marks() {
    const marks = [];
    if (this.limit) marks.push({ kind: "limit", value: this.limit, text: `limit of the context ${formatCount(this.limit)}` });
    if (this.pastedTokens) marks.push({ kind: "pasted", value: this.pastedTokens, text: `documents pasted instead ≈ ${formatCount(this.pastedTokens)}` });
    return marks;
  }

  noteText(empty, highest) {
    const { info, steps, unknown } = this.data;
    if (!steps.length) return info.running ? "No step has ended yet." : "This run has no steps.";
    if (!info.metered && empty) return "A scripted model answered: it uses no tokens.";
    if (empty) return info.running ? "The model has not answered yet." : "No step of this run has token counts.";
    const notes = [];
    if (this.limit > highest) notes.push(`The limit of the context, ${plural(this.limit, "token")}, is above the chart.`);
    if (info.totals.cached === null) notes.push("The endpoint does not report what it read from its cache.");
    if (info.totals.estimated) notes.push("≈ marks estimates: the endpoint reported no usage.");
    const summaries = steps.filter((step) => step.summarising).map((step) => step.summarising);
    if (summaries.length) notes.push(summaryNote(summaries));
    const interrupted = unknown - (info.running && steps.at(-1).prompt === null ? 1 : 0);
    if (interrupted) notes.push(`${plural(interrupted, "step")} without token counts.`);
    return notes.join(" ");
  }

  destroy() {
    clearTimeout(this.timer);
    this.again = false;
    this.plot.destroy();
  }
}

/** What the totals contain besides the steps: the requests for summaries of older steps. */
function summaryNote(usages) {
  const sum = (key) => usages.reduce((total, usage) => total + usage[key], 0);
  return `The totals include summaries of older steps, which are no steps themselves: ${plural(sum("prompt"), "token")} in, ${formatNumber(sum("generated"))} out.`;
}
