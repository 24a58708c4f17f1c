// The table task × member. Only the rows in view are in the document, however many tasks there are.

import { h, hasChanged, isModified } from "../core/dom.js";
import { openRun } from "../core/view.js";
import { openMenu } from "../core/widgets/menu.js";
import { formatNumber, plural } from "../core/format.js";
import { runUrl } from "../core/run/run_summary.js";
import { RunFilter } from "./reading/run_filter.js";
import { OUTCOMES, domainName, percent } from "./words.js";

const ROW = 36; // height of a row in px, as in the style sheet
const MARGIN = 8; // rows that are drawn above and below the view
const TASK = -1; // the column of the tasks' names

export class TaskTable {
  /** `onTask(index)` shows the runs of a task side by side; `exportUrl(kind, query)` is the address of an export. */
  constructor(onTask, exportUrl) {
    this.onTask = onTask;
    this.evaluation = null;
    this.task = null; // the one whose runs are side by side
    this.rows = []; // the tasks that the filter lets through
    this.places = new Map(); // task → the columns of the runs that the filter lets through
    this.at = [0, 0]; // row and column of the cell that the keyboard is at
    this.frame = 0;
    this.range = ""; // the rows that are drawn
    this.outcomes = h("div", { class: "outcome-filter", role: "group", "aria-label": "Filter by outcome" });
    this.filter = new RunFilter((options) => this.showRows(options), exportUrl);
    this.status = h("p", { class: "dim filter-status", role: "status" });
    this.head = h("thead");
    this.body = h("tbody");
    const caption = "Outcome of each task by member; arrow keys move between the cells";
    this.table = h("table", { class: "cells", role: "grid" }, h("caption", { class: "visually-hidden" }, caption), this.head, this.body);
    this.scroller = h("div", { class: "cells-scroller" }, this.table);
    this.scroller.addEventListener("scroll", () => this.scheduleDraw(), { passive: true });
    this.table.addEventListener("keydown", (event) => this.onKey(event));
    this.table.addEventListener("click", (event) => this.onClick(event));
    this.table.addEventListener("focusin", (event) => this.onFocus(event));
    this.size = new ResizeObserver(() => this.scheduleDraw());
    this.size.observe(this.scroller);
    this.element = h(
      "section",
      { class: "cells-place", "aria-label": "Tasks" },
      h("div", { class: "section-line" }, h("h2", {}, "Tasks")),
      this.outcomes,
      this.filter.element,
      this.scroller,
      h("div", { class: "section-line" }, this.status, this.filter.exports),
    );
  }

  /** Show an evaluation; what is drawn stays unless its tasks or cells are others. */
  show(evaluation) {
    const before = this.evaluation;
    this.evaluation = evaluation;
    if (before?.tasks === evaluation.tasks && before.cells === evaluation.cells && before.filters.length === evaluation.filters.length) return;
    if (before?.tasks !== evaluation.tasks) this.build(evaluation);
    this.filter.show(evaluation);
    this.showRows({ keepPlace: before?.tasks === evaluation.tasks });
  }

  build({ members }) {
    const heads = members.map(({ label }) => h("th", { scope: "col", dir: "auto", title: label }, h("span", {}, label)));
    this.head.replaceChildren(h("tr", { "aria-rowindex": "1" }, h("th", { scope: "col" }, "Task"), ...heads));
    this.table.setAttribute("aria-colcount", String(members.length + 1));
    this.table.style.setProperty("--members", String(members.length));
  }

  /** Show the tasks with a run that the filter lets through. */
  showRows({ keepPlace = false } = {}) {
    const { tasks } = this.evaluation;
    this.places = this.filter.places;
    this.rows = [...tasks.keys()].filter((index) => this.places.has(index));
    this.table.setAttribute("aria-rowcount", String(this.rows.length + 1));
    const found = this.filter.isActive ? `${plural(this.filter.shown.length, "run")} of ${formatNumber(this.rows.length)} of ` : "";
    this.status.textContent = `${found}${plural(tasks.length, "task")}`;
    this.drawOutcomes();
    if (!keepPlace) {
      this.scroller.scrollTop = 0;
      this.at = [0, 0];
    }
    this.redraw();
  }

  drawOutcomes() {
    const counts = this.filter.outcomes;
    const [chosen = ""] = this.filter.filter.outcome ?? [];
    const shown = Object.keys(OUTCOMES).filter((name) => counts.get(name) || name === chosen);
    if (!hasChanged(this.outcomes, [chosen, shown, [...counts]])) return;
    const focused = this.outcomes.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement).dataset.outcome : null;
    const chip = (name) =>
      h(
        "button",
        {
          class: "outcome-chip",
          "data-outcome": name,
          "data-tone": OUTCOMES[name].tone,
          "aria-pressed": String(chosen === name),
          onclick: () => this.filter.choose("outcome", chosen === name ? "" : name),
        },
        h("i", { "aria-hidden": "true" }, OUTCOMES[name].mark),
        `${OUTCOMES[name].text} `,
        h("b", { class: "num" }, String(counts.get(name) ?? 0)),
      );
    this.outcomes.replaceChildren(...shown.map(chip));
    if (focused) this.outcomes.querySelector(`[data-outcome="${focused}"]`)?.focus();
  }

  /** Draw the rows in view once more, because what they show has changed. */
  redraw() {
    this.range = "";
    this.scheduleDraw();
  }

  scheduleDraw() {
    if (this.evaluation) this.frame ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - MARGIN);
    const last = Math.min(this.rows.length, Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / ROW) + MARGIN);
    const range = `${first} ${last}`;
    if (range === this.range) return;
    this.range = range;
    const focused = this.body.contains(document.activeElement);
    const spacer = (rows) => (rows > 0 ? [h("tr", { class: "spacer", "aria-hidden": "true" }, h("td", { style: `height: ${rows * ROW}px` }))] : []);
    const rows = this.rows.slice(first, last).map((task, offset) => this.row(task, first + offset));
    const colspan = this.evaluation.members.length + 1;
    if (!this.rows.length) rows.push(h("tr", {}, h("td", { class: "empty-message", colspan }, "No task is like this.")));
    this.body.replaceChildren(...spacer(first), ...rows, ...spacer(this.rows.length - last));
    if (focused) this.cellAt(this.at)?.focus({ preventScroll: true });
  }

  /** Mark a task as the one whose runs are side by side; null for none. */
  markTask(task) {
    this.task = task;
    this.redraw();
  }

  /** The task that comes `by` rows after another, among those that the filter lets through. */
  neighbour(task, by) {
    return this.rows[this.rows.indexOf(task) + by];
  }

  row(index, row) {
    const { tasks, cells, members } = this.evaluation;
    const { id, title, group, domain } = tasks[index];
    const hint = [domainName(domain), group, title, "Show its runs side by side"].filter(Boolean).join("\n");
    const name = h(
      "button",
      { class: "task-name", title: hint, "aria-expanded": String(index === this.task), ...this.place(row, TASK) },
      h("small", { class: "num" }, id),
      h("span", { dir: "auto" }, title),
    );
    const classOf = (column) => (this.places.get(index).has(column) ? null : "apart");
    const found = members.map((member, column) =>
      h("td", { class: classOf(column) }, cell(cells[index][column], member, this.place(row, column), this.filter.question)),
    );
    return h("tr", { "aria-rowindex": String(row + 2) }, h("th", { scope: "row" }, name), ...found);
  }

  /** Attributes of a cell by its place: Tab reaches the one that the keyboard is at. */
  place = (row, column) => ({ "data-at": `${row} ${column}`, tabindex: row === this.at[0] && column === this.at[1] ? "0" : "-1" });

  /** @param {number[]} place row and column */
  cellAt([row, column]) {
    return this.body.querySelector(`[data-at="${row} ${column}"]`);
  }

  onClick(event) {
    const cell = event.target.closest("[data-at]");
    if (!cell || isModified(event)) return;
    const [row, column] = placeOf(cell);
    event.preventDefault();
    if (column === TASK) return void this.onTask(this.rows[row]);
    const { runs } = this.evaluation.cells[this.rows[row]][column];
    if (runs.length === 1) return void openRun(runs[0].run);
    const items = runs.map(({ run, repetition, outcome }) => ({
      text: `Run ${repetition}`,
      note: OUTCOMES[outcome].text,
      href: runUrl(run),
      run: () => openRun(run),
    }));
    if (runs.length) openMenu(items, cell, { focus: (options) => this.cellAt(this.at)?.focus(options) }); // the cell may have been drawn again
  }

  onFocus(event) {
    const cell = event.target.closest("[data-at]");
    if (!cell) return;
    const before = this.cellAt(this.at);
    if (before) before.tabIndex = -1;
    this.at = placeOf(cell);
    cell.tabIndex = 0;
  }

  onKey(event) {
    if (!event.target.closest("[data-at]") || event.altKey || event.metaKey) return;
    const [row, column] = this.at;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 2);
    const to = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      PageUp: [row - page, column],
      PageDown: [row + page, column],
      Home: [event.ctrlKey ? 0 : row, TASK],
      End: [event.ctrlKey ? Infinity : row, Infinity],
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
    this.at = [Math.max(0, Math.min(row, this.rows.length - 1)), Math.max(TASK, Math.min(column, this.evaluation.members.length - 1))];
    const { scroller } = this;
    const top = this.at[0] * ROW;
    scroller.scrollTop = Math.max(Math.min(scroller.scrollTop, top), top + ROW + this.head.offsetHeight - scroller.clientHeight);
    this.range = "";
    this.draw();
    this.cellAt(this.at)?.focus({ preventScroll: true });
    scroller.scrollIntoView({ block: "nearest" }); // the page, where the table reaches below it
  }

  close() {
    this.size.disconnect();
    cancelAnimationFrame(this.frame);
  }
}

const placeOf = (cell) => cell.dataset.at.split(" ").map(Number);

/** The cell of a task and a member; `place` are its attributes by its place, `question` the key of the answers that it shows. */
function cell({ outcome, score, runs }, member, place, question) {
  const { text, mark, tone } = OUTCOMES[outcome];
  const answers = question ? [...new Set(runs.map((run) => run[question]).filter(Boolean))].join(", ") : "";
  const several = runs.length > 1 || outcome === "partial";
  const reason = runs.map((run) => run.reason).find(Boolean);
  const read = runs.length === 1 && runs[0].extracted ? `Read as “${runs[0].extracted}” (${runs[0].grader}).` : null;
  const described = [text, score === null ? "" : `score ${percent(score, 0)}`, runs.length > 1 ? plural(runs.length, "run") : "", answers].filter(Boolean);
  const attributes = { class: "cell", "data-tone": tone, "aria-label": `${member.label}: ${described.join(", ")}`, title: reason ?? read, ...place };
  const content = [
    h("i", { "aria-hidden": "true" }, mark),
    h("span", {}, several && score !== null ? percent(score, 0) : text),
    answers ? h("small", { class: "cell-answer", dir: "auto" }, answers) : null,
  ];
  if (runs.length === 1) return h("a", { ...attributes, href: runUrl(runs[0].run) }, ...content);
  return h("button", { ...attributes, "aria-disabled": runs.length ? null : "true", "aria-haspopup": runs.length ? "menu" : null }, ...content);
}
