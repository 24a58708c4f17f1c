// The page of one comparison: its summary, table, charts and the members' columns.

import { h } from "../core/dom.js";
import { plural } from "../core/format.js";
import { emit } from "../core/event_stream.js";
import { RunChart } from "./chart.js";
import { Columns } from "./columns.js";
import { announcement, comparisonState } from "./outcome.js";
import { ComparisonStream } from "./stream.js";
import { Summary } from "./summary.js";
import { ComparisonTable } from "./table.js";
import { ViewTools } from "./tools.js";
import { ViewPage } from "./view_page.js";

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

export class ComparisonPage extends ViewPage {
  /** Show a comparison in `place`; `onGone(text)` is called if there is none with this id. */
  constructor(id, place, options) {
    super(`comparisons/${id}`, place, options);
    this.announceAt = 0;
    this.unread = [];
    this.columns = new Columns({ onChoose: () => this.onChosen(), onStop: (member) => this.act("stop", { member }) });
    this.summary = new Summary();
    this.table = new ComparisonTable({ chosen: (member) => this.columns.chosen(member) });
    this.tools = new ViewTools(this, { noun: "comparison", exports: EXPORTS, resumeTitle: "Start the repetitions that are missing" });
    this.status = h("p", { class: "visually-hidden", role: "status" });
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

  show(comparison) {
    if (this.closed) return;
    const before = this.replaceShown(comparison);
    this.place.toggleAttribute("data-live", comparison.state === "running");
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
    if (this.shown) this.show(this.shown);
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
    this.size.disconnect();
    this.seen.disconnect();
    this.chart.close();
    this.columns.close();
    super.close();
  }
}
