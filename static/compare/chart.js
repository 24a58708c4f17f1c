// Where the tokens of the shown runs go: the chart of static/charts, loaded when it is first needed.

import { h } from "../core/dom.js";
import { openRun } from "../core/view.js";

const COUNTED = new Set(["model_answered", "step_ended", "run_ended"]); // events after which there are other figures

export class RunChart {
  constructor() {
    this.place = h("div");
    this.element = h("section", { class: "comparison-chart", "aria-label": "Tokens by step", hidden: true }, this.place);
    this.runs = [];
    this.chart = null; // or a promise of it
  }

  /** Show these runs, as { run, label }. */
  async show(runs) {
    if (JSON.stringify(runs) === JSON.stringify(this.runs)) return;
    this.runs = runs;
    this.element.hidden = !runs.length;
    if (!runs.length) return;
    if (this.chart) return void (await this.chart)?.setRuns(runs);
    this.chart = this.mount(runs);
    const chart = await this.chart;
    if (this.closed) chart?.destroy();
    else if (runs !== this.runs) chart?.setRuns(this.runs);
  }

  async mount(runs) {
    try {
      const { mountTokenChart } = await import("../charts/token_chart.js");
      return await mountTokenChart(this.place, { runs, onStep: ({ run, step }) => openRun(run, step) });
    } catch (error) {
      this.place.replaceChildren(h("p", { class: "dim" }, error.message));
      return null;
    }
  }

  /** Take in messages of the runs' streams: their figures may have changed. */
  async receive(messages) {
    const changed = new Set(messages.filter(([, name, data]) => name === "message" && data.events.some(({ kind }) => COUNTED.has(kind))).map(([run]) => run));
    if (!changed.size) return;
    const chart = await this.chart;
    for (const run of changed) chart?.update(run);
  }

  async close() {
    this.closed = true;
    (await this.chart)?.destroy();
  }
}
