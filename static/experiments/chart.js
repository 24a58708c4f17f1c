// Where the tokens of the shown runs go.

import { h, hasChanged } from "../core/dom.js";
import { openRun } from "../core/view.js";
import { mountTokenChart } from "../charts/token_chart.js";
import { inOrder, shownRun } from "./words.js";

const COUNTED = new Set(["model_answered", "step_ended", "run_ended"]); // events after which there are other figures

export class RunChart {
  /** `chosen` maps members' indices to the runs that their columns show. */
  constructor(chosen) {
    this.chosen = chosen;
    this.element = h("section", { class: "comparison-chart", "aria-label": "Tokens by step" });
    this.chart = mountTokenChart(this.element, { runs: [], waits: true, onStep: ({ run, step }) => openRun(run, step) });
  }

  show(comparison) {
    const shown = inOrder(comparison).map((member) => ({ ...shownRun(member, this.chosen.get(member.index)), label: member.label }));
    const runs = shown.filter(({ run, deleted }) => run && !deleted).map(({ run, label }) => ({ run, label }));
    if (!hasChanged(this, runs)) return;
    this.element.hidden = !runs.length;
    this.chart.setRuns(runs);
  }

  /** Take in messages of the runs' streams: their figures may have changed. */
  receive(messages) {
    const changed = new Set(messages.filter(([, name, data]) => name === "message" && data.events.some(({ kind }) => COUNTED.has(kind))).map(([run]) => run));
    for (const run of changed) this.chart.update(run);
  }

  close() {
    this.chart.destroy();
  }
}
