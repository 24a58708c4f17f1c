// The page of one evaluation: the paper's figure, its tables, and the outcomes of all tasks.

import { h } from "../core/dom.js";
import { emit } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { formatNumber, plural } from "../core/format.js";
import { showElsewhere, ViewTools } from "../compare/tools.js";
import { ViewPage } from "../compare/view_page.js";
import { CellTable } from "./cells.js";
import { Figure } from "./figure.js";
import { ResultTables } from "./results.js";
import { EvaluationStream } from "./stream.js";
import { evaluationState, remainingText } from "./words.js";

const EXPORTS = [
  ["html", "Report", "HTML"],
  ["csv", "Table", "CSV"],
  ["json", "Everything", "JSON"],
  ["tex", "Table", "LaTeX"],
  ["svg", "Figure", "SVG"],
];

export class EvaluationPage extends ViewPage {
  /** Show an evaluation in `place`; `onGone(text)` is called if there is none with this id. */
  constructor(id, place, options) {
    super(`evaluations/${id}`, place, options);
    this.figure = new Figure();
    this.tables = new ResultTables();
    this.cells = new CellTable();
    this.tools = new ViewTools(this, { noun: "evaluation", exports: EXPORTS, resumeTitle: "Start the runs that are missing" });
    this.announcement = h("p", { class: "visually-hidden", role: "status" });
    this.bar = h("progress", { "aria-label": "Runs done" });
    this.progress = h("p", { class: "progress-text num" });
    this.retry = h("button", { class: "inline owner-only", hidden: true, onclick: () => this.retryInfrastructure() }, "Retry infrastructure errors");
    this.elsewhere = h("p", { class: "elsewhere-line", id: "elsewhere", hidden: true });
    this.apart = h("p", { class: "apart-line", hidden: true });
    this.suites = h("p", { class: "suites-line dim" });
    this.loading = h("p", { class: "empty-message" }, "Loading the evaluation…");
    this.content = h("div", { class: "evaluation-content", hidden: true });
    this.content.append(
      h("section", { class: "progress-place", "aria-label": "Progress" }, this.bar, this.progress, this.elsewhere, this.apart, this.keys.element, this.suites),
      this.figure.element,
      this.tables.element,
      this.cells.element,
    );
    this.place.append(this.tools.narrow, this.message, this.loading, this.content, this.announcement);
    this.stream = new EvaluationStream(id, {
      onOverview: (overview) => this.show({ ...this.shown, ...overview }),
      onCells: (changed) => this.receive(changed),
      onReload: () => this.load(),
    });
    this.load();
  }

  onLoaded(evaluation) {
    this.cells.show(evaluation);
    this.show(evaluation);
    this.stream.follow(evaluation.cursor);
  }

  show(evaluation) {
    if (this.closed) return;
    const before = this.replaceShown(evaluation);
    this.loading.hidden = true;
    this.content.hidden = false;
    this.figure.show(evaluation);
    this.tables.show(evaluation);
    this.tools.show(evaluation);
    this.showProgress();
    if (before && before.state !== evaluation.state) this.announcement.textContent = `The evaluation is ${evaluation.state}.`;
  }

  /** Take in changed cells with the numbers of runs by outcome. */
  receive({ cells, counts, remaining }) {
    if (!this.shown) return;
    this.shown = { ...this.shown, counts, remaining };
    this.cells.receive(cells);
    this.showProgress();
  }

  showProgress() {
    const { counts, remaining, state, reason, testing, suites, members, repetitions, title, canEdit, canRetry, judge, elsewhere } = this.shown;
    this.bar.max = counts.total;
    this.bar.value = counts.done;
    this.bar.hidden = state === "finished";
    const working = testing?.length ? `testing ${testing.join(", ")}` : counts.running ? `${formatNumber(counts.running)} running` : "";
    const left = state === "running" ? remainingText(remaining) || "remaining time not known yet" : { stopped: "Stopped.", interrupted: "Interrupted." }[state];
    this.progress.textContent = [`${formatNumber(counts.done)} of ${plural(counts.total, "run")} done`, working, left, reason].filter(Boolean).join(" · ");
    const apart = [
      counts.infrastructure ? `${plural(counts.infrastructure, "run")} failed by infrastructure errors` : "",
      counts.unscored ? `${plural(counts.unscored, "answer")} without a score` : "",
    ].filter(Boolean);
    this.apart.hidden = !apart.length;
    this.elsewhere.hidden = !elsewhere;
    this.elsewhere.textContent = elsewhere;
    this.retry.hidden = !canRetry && !(elsewhere && counts.infrastructure);
    showElsewhere(this.retry, elsewhere);
    this.keys.show(members, judge?.baseUrl, canRetry || (!elsewhere && !this.tools.resume.hidden));
    this.apart.replaceChildren(`${apart.join(", ")}: not counted in the scores. `, this.retry);
    const suite = ({ title: name, sample, tasks, licence, extraction }) =>
      `${name}: ${plural(tasks, "task")}${sample ? " of this project, not the authors’" : `, ${licence}`}${extraction === "reference" ? ", answers read as by the paper’s reward" : ""}`;
    this.suites.textContent = `${suites.map(suite).join(" · ")} · ${plural(members.length, "member")}, ${plural(repetitions, "repetition")}`;
    const detail = [plural(suites.length, "suite"), plural(members.length, "member")].join(" · ");
    emit("view", { title, canEdit, state: evaluationState(this.shown), detail, rename: (name) => this.rename(name) });
  }

  showMessage(text) {
    super.showMessage(text);
    if (text) this.loading.hidden = true;
  }

  async refresh() {
    this.show({ ...this.shown, ...(await fetchJson(`${this.url("")}?overview=1`)) });
  }

  retryInfrastructure() {
    return this.act("retry-infrastructure", this.keys.request());
  }

  close() {
    this.cells.close();
    super.close();
  }
}
