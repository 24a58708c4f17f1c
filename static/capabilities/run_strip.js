// The strip over a run: what each step used, in three lanes, with a legend and the rates.

import { h } from "../core/dom.js";
import { formatNumber, formatSeconds, plural } from "../core/format.js";
import { CAPABILITIES } from "./usage.js";

const MAX_COLUMNS = 120;
const KEYS = CAPABILITIES.map(({ key }) => key);

const LEGEND = {
  external: "the network, installed packages",
  file: "reading, writing and listing files",
  compute: "code that calculates, compiles or renders",
};
const HOW = [
  [
    "observed",
    "Measured while the step ran: hosts that answered at the network proxy, packages installed, files changed, at least 0.5 s of CPU time. Which files a command reads is not observed.",
  ],
  ["parsed", "Read from the command's text with a shell grammar, and from its Python code. Nothing measured confirms it."],
];

export class RunStrip {
  /** Show the strip in `container`; `onStep` is called with the number of a step that is clicked. */
  constructor(container, onStep) {
    this.container = container;
    this.onStep = onStep;
    this.track = h("div", { class: "track", role: "img" });
    this.track.addEventListener("click", (event) => this.select(event));
    this.track.addEventListener("pointermove", (event) => this.hover(event));
    this.panel = h("div", { class: "panel", hidden: true });
    this.button = h("button", { class: "quiet", "aria-expanded": "false", onclick: () => this.open(this.panel.hidden) }, "Capabilities");
    container.append(this.track, this.button, this.panel);
    this.reset();
  }

  reset() {
    this.used = new Map(); // of the steps that are recorded
    this.steps = 0;
    this.perColumn = 1;
    this.columns = [];
    this.counts = Object.fromEntries(KEYS.map((key) => [key, { any: 0, observed: 0, paper: 0 }]));
    this.cpuSeconds = null;
    this.last = null; // the last step that counts; null for all
    this.container.hidden = true;
    this.open(false);
    this.track.replaceChildren();
  }

  open(open) {
    this.panel.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
    this.showPanel();
  }

  /** Show a step and what it used; null if that is not known (yet). */
  update(number, used) {
    if (!this.last || number <= this.last) {
      this.count(this.used.get(number), -1);
      this.count(used, 1);
    }
    if (used) this.used.set(number, used);
    else this.used.delete(number);
    this.steps = Math.max(this.steps, number);
    if (this.steps > MAX_COLUMNS * this.perColumn) this.widen();
    this.showColumn(Math.ceil(number / this.perColumn));
    this.container.hidden = KEYS.every((key) => !this.counts[key].any);
    this.later ??= requestAnimationFrame(() => this.showCounts());
  }

  /** Count only the steps up to one, and fade the others; null for all steps. */
  showUntil(last) {
    if (last === this.last) return;
    this.last = last;
    this.counts = Object.fromEntries(KEYS.map((key) => [key, { any: 0, observed: 0, paper: 0 }]));
    this.cpuSeconds = null;
    for (const [number, used] of this.used) if (!last || number <= last) this.count(used, 1);
    this.fade();
    this.later ??= requestAnimationFrame(() => this.showCounts());
  }

  /** Fade the columns after the last step that counts. */
  fade() {
    const column = this.last ? Math.ceil(this.last / this.perColumn) : Infinity;
    [...this.track.children].forEach((each, index) => each.classList.toggle("later", index >= column));
  }

  get counted() {
    return this.last ?? this.steps;
  }

  count(used, by) {
    if (!used) return;
    for (const key of KEYS) {
      const counts = this.counts[key];
      if (used[key]) counts.any += by;
      if (used[key] === "observed") counts.observed += by;
      if (used.paper.includes(key)) counts.paper += by;
    }
    if (used.cpu_seconds != null) this.cpuSeconds = (this.cpuSeconds ?? 0) + by * used.cpu_seconds;
  }

  /** Let each column stand for twice as many steps, so that the cost of a step stays flat. */
  widen() {
    while (this.steps > MAX_COLUMNS * this.perColumn) this.perColumn *= 2;
    this.columns = [];
    this.track.replaceChildren();
    for (let column = 1; column <= Math.ceil(this.steps / this.perColumn); column += 1) this.showColumn(column);
    this.fade();
  }

  showColumn(column) {
    while (this.columns.length < column) {
      const lanes = KEYS.map(() => h("i"));
      this.columns.push(lanes);
      this.track.append(h("span", {}, ...lanes));
    }
    const steps = this.stepsOf(column).map((number) => this.used.get(number));
    KEYS.forEach((key, lane) => {
      const evidence = steps.some((used) => used?.[key] === "observed") ? "observed" : steps.some((used) => used?.[key]) ? "parsed" : "";
      this.columns[column - 1][lane].className = `${key} ${evidence}`;
    });
  }

  stepsOf(column) {
    const first = (column - 1) * this.perColumn + 1;
    return Array.from({ length: Math.min(this.perColumn, this.steps - first + 1) }, (_, at) => first + at);
  }

  columnAt({ target }) {
    return [...this.track.children].indexOf(target.closest(".track > span")) + 1;
  }

  select(event) {
    const column = this.columnAt(event);
    if (column) this.onStep(this.stepsOf(column)[0]);
  }

  hover(event) {
    const column = this.columnAt(event);
    if (!column) return;
    const steps = this.stepsOf(column);
    const shown = CAPABILITIES.filter((_, lane) => this.columns[column - 1][lane].classList.length > 1);
    const names = shown.map(({ label }, at) => (at ? label.toLowerCase() : label)).join(", ");
    this.track.title = `Step ${steps[0]}${steps.length > 1 ? ` to ${steps.at(-1)}` : ""}: ${names ? names : "none of the three"}`;
  }

  showCounts() {
    this.later = null;
    const parts = CAPABILITIES.map(({ key, label }) => `${label.toLowerCase()} in ${formatNumber(this.counts[key].any)}`);
    this.track.setAttribute("aria-label", `Capability usage of ${plural(this.counted, "step")}: ${parts.join(", ")}`);
    this.showPanel();
  }

  showPanel() {
    if (this.panel.hidden) return;
    const missing = this.counted - [...this.used.keys()].filter((number) => number <= this.counted).length;
    const notes = [
      ...HOW.map(([evidence, text]) => h("p", {}, h("i", { class: `compute ${evidence}` }), h("b", {}, `${evidence}. `), text)),
      h("p", {}, h("b", {}, "paper's patterns. "), "The words by which the paper counts, for comparison. They also match text: “locate” contains “cat”."),
      h("p", {}, `CPU time of all commands: ${this.cpuSeconds == null ? "not reported" : formatSeconds(this.cpuSeconds)}.`),
      missing > 0 ? h("p", {}, `${plural(missing, "step")} without a record ${missing === 1 ? "counts" : "count"} as using none.`) : null,
    ];
    this.panel.replaceChildren(this.table(), ...notes.filter(Boolean));
  }

  table() {
    const share = (n) => `${formatNumber(n)} (${Math.round((100 * n) / Math.max(1, this.counted))} %)`;
    const head = ["Share of the steps", "used", "observed", "paper's patterns"].map((text) => h("th", { scope: "col" }, text));
    const rows = CAPABILITIES.map(({ key, label }) => {
      const { any, observed, paper } = this.counts[key];
      const title = h("th", { scope: "row" }, h("i", { class: `${key} observed` }), label, h("small", {}, ` ${LEGEND[key]}`));
      return h("tr", {}, title, ...[any, observed, paper].map((n) => h("td", { class: "num" }, share(n))));
    });
    return h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
  }
}
