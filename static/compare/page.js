// The page of one comparison: its summary, table, charts and the members' columns.

import { h } from "../core/dom.js";
import { plural } from "../core/format.js";
import { apiUrl, currentRun, emit } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { EndpointKeys } from "./endpoint_keys.js";
import { RunChart } from "./chart.js";
import { Columns } from "./columns.js";
import { announcement, comparisonState } from "./outcome.js";
import { ComparisonStream } from "./stream.js";
import { Summary } from "./summary.js";
import { ComparisonTable } from "./table.js";
import { ViewTools } from "./tools.js";

const RETRY_MS = 2000; // ms until the comparison is read again, if the server did not answer
const ANNOUNCE_MS = 4000; // ms between two announcements to screen readers

const EXPORTS = [
  ["html", "Report", "HTML"],
  ["csv", "Table", "CSV"],
  ["json", "Everything", "JSON"],
  ["tex", "Table", "LaTeX"],
  ["md", "Table", "Markdown"],
  ["svg", "Chart", "SVG"],
  ["png", "Chart", "PNG"],
];

export class ComparisonPage {
  /** Show a comparison in `place`; `onGone(text)` is called if there is none with this id. */
  constructor(id, place, { onGone }) {
    this.id = id;
    this.place = place;
    this.onGone = onGone;
    this.comparison = null;
    this.announceAt = 0;
    this.unread = [];
    this.columns = new Columns({ onChoose: () => this.onChosen(), onStop: (member) => this.act("stop", { member }) });
    this.summary = new Summary();
    this.table = new ComparisonTable({ chosen: (member) => this.columns.chosen(member) });
    this.tools = new ViewTools(this, { noun: "comparison", exports: EXPORTS, resumeTitle: "Start the repetitions that are missing" });
    this.keys = new EndpointKeys();
    this.status = h("p", { class: "visually-hidden", role: "status" });
    this.message = h("p", { class: "page-message", role: "alert", hidden: true });
    this.chart = new RunChart();
    this.stream = new ComparisonStream(id, {
      onComparison: (comparison) => this.show(comparison),
      onMessages: (messages) => {
        this.columns.receive(messages);
        this.chart.receive(messages);
      },
      onRefused: () => this.load(),
    });
    this.place.append(
      this.tools.narrow,
      this.summary.task,
      this.message,
      this.keys.element,
      this.summary.verdict,
      this.table.element,
      this.chart.element,
      this.columns.element,
      this.status,
    );
    this.size = new ResizeObserver(() => this.place.style.setProperty("--verdict", `${this.summary.verdict.offsetHeight}px`));
    this.size.observe(this.summary.verdict);
    this.seen = new IntersectionObserver(([{ isIntersecting }]) => this.summary.verdict.classList.toggle("stuck", !isIntersecting), { root: place });
    this.seen.observe(this.summary.task);
    this.load();
  }

  get url() {
    return (path) => apiUrl(`comparisons/${this.id}${path ? `/${path}` : ""}`);
  }

  /** Read the comparison, and follow it if there is one. */
  async load() {
    try {
      this.show(await fetchJson(this.url("")));
    } catch (error) {
      if (this.closed) return;
      if (error.status === 401)
        location.reload(); // signed out: the server redirects to the login page
      else if (error.status === 404 || error.status === 403) this.onGone(error.message);
      else this.showMessage(error.message);
      if (!error.status && !this.comparison) setTimeout(() => this.closed || this.load(), RETRY_MS);
    }
  }

  show(comparison) {
    if (this.closed) return;
    const before = this.comparison;
    this.comparison = comparison;
    this.place.removeAttribute("aria-busy");
    this.place.toggleAttribute("data-live", comparison.state === "running");
    this.showMessage(before ? null : "");
    currentRun.canEdit = comparison.canEdit;
    if (before?.canEdit !== comparison.canEdit) emit("permissions");
    this.columns.show(comparison);
    this.summary.show(comparison);
    this.table.show(comparison);
    this.tools.show(comparison);
    this.keys.show(comparison.members, comparison.expected?.judge?.baseUrl, !this.tools.resume.hidden);
    const { text, tone, live } = comparisonState(comparison);
    const { title, canEdit, repetitions } = comparison;
    const detail = repetitions > 1 ? plural(repetitions, "repetition") : "";
    emit("view", { title, canEdit, state: { text, tone, live }, detail, rename: (name) => this.rename(name) });
    this.stream.follow(this.columns.followed);
    this.chart.show(this.columns.shown);
    this.announce(announcement(before, comparison));
  }

  /** Another repetition, or another tab, was chosen. */
  onChosen() {
    if (this.comparison) this.show(this.comparison);
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

  /** Show a message above the verdict; "" removes it, null leaves it. */
  showMessage(text) {
    if (text === null) return;
    this.message.textContent = text;
    this.message.hidden = !text;
  }

  /** Ask the server to "stop" or "resume"; the stream brings what comes of it. */
  async act(path, body = {}) {
    try {
      this.showMessage("");
      await fetchJson(this.url(path), { method: "POST", body: JSON.stringify(body) });
      await this.load();
    } catch (error) {
      this.showMessage(error.message);
    }
  }

  resume() {
    return this.act("resume", this.keys.request());
  }

  async rename(title) {
    const saved = await fetchJson(this.url(""), { method: "PATCH", body: JSON.stringify({ title }) });
    this.show({ ...this.comparison, title: saved?.title ?? title });
  }

  close() {
    this.closed = true;
    this.size.disconnect();
    this.seen.disconnect();
    this.chart.close();
    this.stream.close();
    this.columns.close();
    this.tools.close();
    currentRun.canEdit = true;
    emit("permissions");
  }
}
