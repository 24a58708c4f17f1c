// The page of one experiment: a comparison's table and columns, an evaluation's figure, tables and tasks.

import { h, iconButton } from "../core/dom.js";
import { apiUrl, currentRun, emit } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { RunChart } from "./chart.js";
import { Columns } from "./columns.js";
import { Agreement } from "./reading/agreement.js";
import { connectedEndpoint, openAskDialog } from "./reading/ask_dialog.js";
import { filterText } from "./reading/filters.js";
import { Questions } from "./reading/questions.js";
import { Figure, ScoreTable } from "./results.js";
import { ExperimentStream } from "./stream.js";
import { Progress, Summary } from "./summary.js";
import { MeasureTable } from "./table.js";
import { TaskTable } from "./task_table.js";
import { EndpointKeys, NotCounted, Tools } from "./tools.js";
import { announcement, experimentSize, experimentState, inOrder, membersOfTask } from "./words.js";

const RETRY_MS = 2000; // ms until the next attempt after a failure
const ANNOUNCE_MS = 4000; // ms between two announcements to screen readers

export class ExperimentPage {
  /** Show a comparison or an evaluation in `place`; `onGone(text)` is called if there is none with this id. */
  constructor(kind, id, place, onGone) {
    this.kind = kind;
    this.path = `${kind}s/${id}`;
    this.place = place;
    this.onGone = onGone;
    this.experiment = null; // as the server sent it last
    this.k = null; // the k of pass@k that the user chose
    this.task = null; // the task of an evaluation whose runs are side by side
    this.chosen = new Map(); // members' indices → the runs of it that the user chose
    this.closed = false;
    this.failure = ""; // the message of the last read, if it failed
    this.retryTimer = 0;
    this.announceAt = 0;
    this.unread = [];
    this.keys = new EndpointKeys();
    this.tools = new Tools(this);
    this.message = h("p", { class: "page-message", role: "alert", hidden: true });
    this.status = h("p", { class: "visually-hidden", role: "status" });
    this.columns = null;
    /** @type {{ show: (experiment: any) => void, close?: () => void }[]} */
    this.parts = kind === "comparison" ? this.comparison() : this.evaluation();
    this.place.append(this.tools.narrow, this.message, h("p", { class: "empty-message" }, `Loading the ${kind}…`));
    this.stream = new ExperimentStream(kind, id, {
      onExperiment: (news) => this.show({ ...this.experiment, ...news }),
      onCells: (changed) => this.receiveCells(changed),
      onMessages: (messages) => this.receive(messages),
      onLost: () => this.load(),
    });
    this.load();
  }

  url = (path) => apiUrl(path ? `${this.path}/${path}` : this.path);

  /** Create the parts of a comparison. */
  comparison() {
    const { chosen, keys } = this;
    const summary = new Summary(this.place);
    const parts = [new NotCounted(this), new MeasureTable(chosen), new Figure("comparison"), new Agreement()];
    this.chart = new RunChart(chosen);
    this.columns = new Columns({ chosen, onChoose: () => this.show(this.experiment), onStop: (member) => this.act("stop", { member }), url: this.url });
    const shown = [...parts, this.chart, this.columns].map(({ element }) => element);
    this.elements = [summary.task, keys.element, summary.verdict, ...shown];
    return [this.tools, summary, keys, ...parts, this.chart];
  }

  /** Create the parts of an evaluation. */
  evaluation() {
    this.taskPlace = h("section", { class: "task-place", hidden: true, tabindex: "-1" });
    this.taskPlace.addEventListener("keydown", (event) => this.onTaskKey(event));
    this.cells = new TaskTable(
      (task) => this.showTask(task),
      (kind, query) => apiUrl(`${this.path}/export.${kind}`, query),
    );
    const scores = new ScoreTable((k) => {
      this.k = k;
    });
    const tables = [scores, new MeasureTable(this.chosen), new Agreement(), this.cells, this.questions()];
    const parts = [new Progress(), new NotCounted(this), this.keys, new Figure("evaluation"), ...tables];
    this.elements = [...parts.map(({ element }) => element), this.taskPlace];
    return [this.tools, ...parts];
  }

  /** Create the part of an evaluation that asks a model about the runs that the table shows. */
  questions() {
    const { filter } = this.cells;
    return new Questions({
      onAsk: () =>
        openAskDialog({ url: this.url, filter: filterText(filter.filter), count: filter.shown.filter(({ run }) => run).length, onAsked: () => this.refresh() }),
      onStop: (id) => this.act(`questions/${id}/stop`),
      onResume: (id) => this.act(`questions/${id}/resume`, connectedEndpoint()),
      onValue: (key, value) => filter.choose(key, value),
    });
  }

  /** Load the experiment and show it; try again if that fails. */
  async load() {
    clearTimeout(this.retryTimer);
    try {
      const experiment = await fetchJson(this.url(""));
      if (this.closed) return;
      if (this.message.textContent === this.failure) this.showMessage("");
      this.failure = "";
      this.stream.cells = experiment.cursor ?? null;
      this.show(experiment);
    } catch (error) {
      if (this.closed) return;
      if (error.status === 401)
        location.reload(); // signed out: the server redirects to the login page
      else if (error.status === 404 || error.status === 403) this.onGone(error.message);
      else {
        this.failure = error.message;
        this.showMessage(error.message);
        this.retryTimer = setTimeout(() => this.load(), RETRY_MS);
      }
    }
  }

  show(experiment) {
    if (this.closed) return;
    const before = this.experiment;
    this.experiment = experiment;
    if (!before) {
      this.place.removeAttribute("aria-busy");
      this.place.replaceChildren(this.tools.narrow, this.message, ...this.elements, this.status);
    }
    const { title, canEdit, state } = experiment;
    currentRun.canEdit = canEdit;
    if (before?.canEdit !== canEdit) emit("permissions");
    this.place.toggleAttribute("data-live", state === "running");
    for (const part of this.parts) part.show(experiment);
    const members = this.task === null ? experiment.members : membersOfTask(experiment, this.task);
    this.columns?.show(inOrder({ ...experiment, members }), experiment);
    this.stream.follow(this.columns?.followed ?? []);
    emit("view", { title, canEdit, state: experimentState(experiment), detail: experimentSize(experiment), rename: (name) => this.rename(name) });
    this.announce(announcement(before, experiment));
  }

  /** Take in changed cells, [task, member, cell], with the numbers of runs by outcome. */
  receiveCells({ cells: changed, counts, remaining }) {
    const cells = [...this.experiment.cells];
    for (const [task, member, cell] of changed) if (cells[task]) cells[task] = cells[task].with(member, cell);
    this.show({ ...this.experiment, cells, counts, remaining });
  }

  /** Take in messages of the followed runs. */
  receive(messages) {
    this.columns?.receive(messages);
    this.chart?.receive(messages);
  }

  /** Show the runs of an evaluation's task side by side, below the tasks; again closes them. */
  showTask(task) {
    this.task = task === this.task ? null : task;
    this.cells.markTask(this.task);
    this.columns?.close();
    this.columns = null;
    this.chosen.clear();
    this.taskPlace.hidden = this.task === null;
    if (this.task !== null) {
      const { id, title } = this.experiment.tasks[task];
      this.columns = new Columns({ chosen: this.chosen, onChoose: () => this.show(this.experiment), url: this.url });
      const close = iconButton("close", "Close", () => this.showTask(task), { class: "quiet" });
      const step = (icon, label, key, by) =>
        iconButton(icon, label, () => this.stepTask(by), { class: "quiet", "aria-keyshortcuts": key, title: `${label} (${key})` });
      const steps = [step("up", "Previous task", "k", -1), step("down", "Next task", "j", 1)];
      this.taskPlace.replaceChildren(h("div", { class: "section-line" }, h("h2", { dir: "auto" }, `${id} ${title}`), ...steps, close), this.columns.element);
      this.taskPlace.setAttribute("aria-label", `Runs of ${id}`);
    }
    this.show(this.experiment);
    if (this.task === null) return this.cells.focus(this.cells.at);
    this.taskPlace.focus({ preventScroll: true });
    return this.taskPlace.scrollIntoView({ block: "nearest" });
  }

  /** Show the runs of the task that comes `by` rows after this one in the table, as it is filtered. */
  stepTask(by) {
    const next = this.cells.neighbour(this.task, by);
    if (next !== undefined) this.showTask(next);
  }

  /** The keys of a task whose runs are side by side. */
  onTaskKey(event) {
    const by = { j: 1, k: -1 }[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    this.stepTask(by);
  }

  /** Show a message above the rest; "" removes it. */
  showMessage(text) {
    if (this.message.textContent !== text) this.message.textContent = text; // an alert is read out
    this.message.hidden = !text;
  }

  /** Show what it has come to, unless the stream tells it meanwhile: that may be newer. */
  async refresh() {
    const before = this.experiment;
    const overview = await fetchJson(`${this.url("")}?overview=1`);
    if (this.experiment === before) this.show({ ...before, ...overview });
  }

  /** Ask the server for an action such as "stop", and show its result. */
  async act(path, body = {}) {
    try {
      this.showMessage("");
      await fetchJson(this.url(path), { method: "POST", body: JSON.stringify(body) });
      await this.refresh();
    } catch (error) {
      this.showMessage(error.message);
    }
  }

  /** Start missing or failed runs, with the keys of their endpoints. */
  proceed(path) {
    return this.act(path, this.keys.request());
  }

  async rename(title) {
    const saved = await fetchJson(this.url(""), { method: "PATCH", body: JSON.stringify({ title }) });
    this.show({ ...this.experiment, title: saved.title });
  }

  /** Tell a screen reader, at most once in a while. */
  announce(text) {
    if (!text) return;
    this.unread.push(text);
    if (this.unread.length > 1) return;
    setTimeout(
      () => {
        this.announceAt = Date.now();
        this.status.textContent = this.unread.join(" ");
        this.unread = [];
      },
      Math.max(0, this.announceAt + ANNOUNCE_MS - Date.now()),
    );
  }

  close() {
    this.closed = true;
    clearTimeout(this.retryTimer);
    this.stream.close();
    for (const part of this.parts) part.close?.();
    this.columns?.close();
    currentRun.canEdit = true;
    emit("permissions");
  }
}
