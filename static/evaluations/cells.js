// The table task × member. Only the rows in view are in the document, however many tasks there are.

import { h, isModified } from "../core/dom.js";
import { openRun } from "../core/view.js";
import { openMenu } from "../core/widgets/menu.js";
import { formatNumber, plural } from "../core/format.js";
import { runUrl } from "../core/run/run_summary.js";
import { OUTCOMES, domainName, percent } from "./words.js";

const ROW = 36; // height of a row in px, as in the style sheet
const MARGIN = 8; // rows that are drawn above and below the view

export class CellTable {
  constructor() {
    this.tasks = [];
    this.cells = [];
    this.members = [];
    this.rows = []; // the tasks that the filter lets through
    this.outcome = "";
    this.domain = "";
    this.at = [0, 0]; // row and column of the cell that the keyboard is at
    this.frame = 0;
    this.range = [-1, -1];
    this.outcomes = h("div", { class: "outcome-filter", role: "group", "aria-label": "Filter by outcome" });
    this.domains = h("select", { "aria-label": "Suite", onchange: () => this.filter({ domain: this.domains.value }) });
    this.status = h("p", { class: "dim filter-status", role: "status" });
    this.head = h("thead");
    this.body = h("tbody");
    this.table = h(
      "table",
      { class: "cells", role: "grid" },
      h("caption", { class: "visually-hidden" }, "Outcome of each task by member; arrow keys move between the cells"),
      this.head,
      this.body,
    );
    this.scroller = h("div", { class: "cells-scroller" }, this.table);
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    this.table.addEventListener("keydown", (event) => this.onKey(event));
    this.table.addEventListener("click", (event) => this.onClick(event));
    this.table.addEventListener("focusin", (event) => this.onFocus(event));
    this.size = new ResizeObserver(() => this.draw());
    this.size.observe(this.scroller);
    this.element = h(
      "section",
      { class: "cells-place", "aria-label": "Tasks" },
      h("div", { class: "section-line" }, h("h2", {}, "Tasks"), this.domains),
      this.outcomes,
      this.scroller,
      this.status,
    );
  }

  /** Show an evaluation with all of its tasks and cells. */
  show({ tasks, cells, members, suites }) {
    this.tasks = tasks;
    this.cells = cells;
    this.members = members;
    this.table.setAttribute("aria-colcount", String(members.length + 1));
    this.head.replaceChildren(
      h(
        "tr",
        { "aria-rowindex": "1" },
        h("th", { scope: "col" }, "Task"),
        ...members.map(({ label }) => h("th", { scope: "col", dir: "auto", title: label }, h("span", {}, label))),
      ),
    );
    this.table.style.setProperty("--members", String(members.length));
    const options = suites.map(({ name, title, domain }) => h("option", { value: name }, `${title}, ${domain}`));
    this.domains.replaceChildren(h("option", { value: "" }, "All suites"), ...options);
    this.domains.value = this.domain;
    this.domains.hidden = suites.length < 2;
    this.filter({});
  }

  /** Take in changed cells, as [task, member, cell]. */
  receive(changed) {
    for (const [task, member, cell] of changed) {
      if (!this.cells[task]) continue;
      this.cells[task][member] = cell;
    }
    this.drawOutcomes();
    if (this.outcome) this.filter({}, { keepPlace: true });
    else this.draw({ again: true });
  }

  /** Filter by `outcome` or `domain`; what is not given stays. */
  filter({ outcome = this.outcome, domain = this.domain }, { keepPlace = false } = {}) {
    this.outcome = outcome;
    this.domain = domain;
    this.rows = [];
    this.tasks.forEach((task, index) => {
      if (domain && task.suite !== domain) return;
      if (outcome && !this.cells[index].some((cell) => cell.outcome === outcome)) return;
      this.rows.push(index);
    });
    this.table.setAttribute("aria-rowcount", String(this.rows.length + 1));
    this.status.textContent =
      this.rows.length === this.tasks.length ? plural(this.tasks.length, "task") : `${formatNumber(this.rows.length)} of ${plural(this.tasks.length, "task")}`;
    this.drawOutcomes();
    if (!keepPlace) {
      this.scroller.scrollTop = 0;
      this.at = [0, 0];
    }
    this.draw({ again: true });
  }

  drawOutcomes() {
    const counts = new Map();
    this.tasks.forEach((task, index) => {
      if (this.domain && task.suite !== this.domain) return;
      for (const { outcome } of this.cells[index]) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    });
    const shown = Object.keys(OUTCOMES).filter((name) => counts.get(name) || name === this.outcome);
    const key = JSON.stringify([this.outcome, shown.map((name) => counts.get(name))]);
    if (key === this.drawnOutcomes) return;
    this.drawnOutcomes = key;
    const focused = this.outcomes.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement).dataset.outcome : null;
    const chip = (name) =>
      h(
        "button",
        {
          class: "outcome-chip",
          "data-outcome": name,
          "data-tone": OUTCOMES[name].tone,
          "aria-pressed": String(this.outcome === name),
          onclick: () => this.filter({ outcome: this.outcome === name ? "" : name }),
        },
        h("i", { "aria-hidden": "true" }, OUTCOMES[name].mark),
        `${OUTCOMES[name].text} `,
        h("b", { class: "num" }, String(counts.get(name) ?? 0)),
      );
    this.outcomes.replaceChildren(...shown.map(chip));
    if (focused) this.outcomes.querySelector(`[data-outcome="${focused}"]`)?.focus();
  }

  /** Draw the rows in view; `again` if what they show has changed. */
  draw({ again = false } = {}) {
    this.again ||= again;
    this.frame ||= requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - MARGIN);
    const last = Math.min(this.rows.length, Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / ROW) + MARGIN);
    if (!this.again && first === this.range[0] && last === this.range[1]) return;
    this.again = false;
    this.range = [first, last];
    const focused = this.body.contains(document.activeElement);
    const spacer = (rows) => (rows > 0 ? [h("tr", { class: "spacer", "aria-hidden": "true" }, h("td", { style: `height: ${rows * ROW}px` }))] : []);
    const rows = this.rows.slice(first, last).map((task, offset) => this.row(task, first + offset));
    if (!this.rows.length) rows.push(h("tr", {}, h("td", { class: "empty-message", colspan: this.members.length + 1 }, "No task has this outcome.")));
    this.body.replaceChildren(...spacer(first), ...rows, ...spacer(this.rows.length - last));
    if (focused) this.cellAt(this.at)?.focus({ preventScroll: true });
  }

  row(index, at) {
    const { id, title, group, domain } = this.tasks[index];
    const cells = this.members.map((member, column) => h("td", {}, this.cell(this.cells[index][column], at, column, member)));
    const name = h(
      "th",
      { scope: "row", title: [domainName(domain), group, title].filter(Boolean).join("\n") },
      h("small", { class: "num" }, id),
      h("span", { dir: "auto" }, title),
    );
    return h("tr", { "aria-rowindex": String(at + 2) }, name, ...cells);
  }

  cell({ outcome, score, runs }, row, column, member) {
    const { text, mark, tone } = OUTCOMES[outcome];
    const several = runs.length > 1 || (score !== null && outcome === "partial");
    const label = several && score !== null ? percent(score, 0) : text;
    const attributes = {
      class: "cell",
      "data-tone": tone,
      "data-at": `${row} ${column}`,
      tabindex: row === this.at[0] && column === this.at[1] ? "0" : "-1",
      "aria-label": `${member.label}: ${text}${score === null ? "" : `, score ${percent(score, 0)}`}${runs.length > 1 ? `, ${plural(runs.length, "run")}` : ""}`,
    };
    const content = [h("i", { "aria-hidden": "true" }, mark), h("span", {}, label)];
    const reason = runs.map((run) => run.reason).find(Boolean);
    if (reason) attributes.title = reason;
    else if (runs.length === 1 && runs[0].extracted) attributes.title = `Read as “${runs[0].extracted}” (${runs[0].grader}).`;
    if (runs.length === 1) return h("a", { ...attributes, href: runUrl(runs[0].run), "data-run": runs[0].run }, ...content);
    return h("button", { ...attributes, "aria-disabled": runs.length ? null : "true", "aria-haspopup": runs.length ? "menu" : null }, ...content);
  }

  /** @param {number[]} place row and column */
  cellAt([row, column]) {
    return this.body.querySelector(`[data-at="${row} ${column}"]`);
  }

  onClick(event) {
    const cell = event.target.closest(".cell");
    if (!cell || isModified(event)) return;
    const [row, column] = cell.dataset.at.split(" ").map(Number);
    event.preventDefault();
    if (cell.dataset.run) return void openRun(cell.dataset.run);
    const { runs } = this.cells[this.rows[row]][column];
    if (runs.length) this.showRuns(cell, runs);
  }

  /** List the repetitions of a cell. */
  showRuns(cell, runs) {
    const items = runs.map(({ run, repetition, outcome }) => ({
      text: `Run ${repetition}`,
      note: OUTCOMES[outcome].text,
      href: runUrl(run),
      run: () => openRun(run),
    }));
    openMenu(items, cell, { focus: (options) => this.cellAt(this.at)?.focus(options) }); // the cell may have been drawn again
  }

  onFocus(event) {
    const cell = event.target.closest(".cell");
    if (!cell) return;
    const before = this.cellAt(this.at);
    if (before) before.tabIndex = -1;
    this.at = cell.dataset.at.split(" ").map(Number);
    cell.tabIndex = 0;
  }

  onKey(event) {
    if (!event.target.closest(".cell") || event.altKey || event.metaKey) return;
    const [row, column] = this.at;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 2);
    const to = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      PageUp: [row - page, column],
      PageDown: [row + page, column],
      Home: event.ctrlKey ? [0, 0] : [row, 0],
      End: event.ctrlKey ? [this.rows.length - 1, this.members.length - 1] : [row, this.members.length - 1],
    }[event.key];
    if (!to) return;
    event.preventDefault();
    this.focus(to);
  }

  /**
   * Move the focus to a cell, which is scrolled into view.
   * @param {number[]} place row and column
   */
  focus([row, column]) {
    this.at = [Math.max(0, Math.min(row, this.rows.length - 1)), Math.max(0, Math.min(column, this.members.length - 1))];
    const top = this.at[0] * ROW;
    const head = this.head.offsetHeight;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + ROW + head > this.scroller.scrollTop + this.scroller.clientHeight) this.scroller.scrollTop = top + ROW + head - this.scroller.clientHeight;
    this.draw({ again: true });
    this.drawNow();
    this.cellAt(this.at)?.focus({ preventScroll: true });
    this.scroller.scrollIntoView({ block: "nearest" }); // the page, where the table reaches below it
  }

  close() {
    this.size.disconnect();
    cancelAnimationFrame(this.frame);
  }
}
