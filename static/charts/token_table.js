// The numbers of a token chart as a table.

import { h } from "../core/dom.js";
import { countText, NOT_REPORTED } from "./token_data.js";

const COLUMNS = [
  ["Prompt", "prompt"],
  ["of it cached", "cached"],
  ["of it from the environment", "environment"],
  ["Generated", "generated"],
  ["of it reasoning", "reasoning"],
  ["New in this step", "once"],
];

export class TokenTable {
  constructor(data, label, onStep) {
    this.data = data;
    this.onStep = onStep;
    this.rows = 0;
    this.body = h("tbody");
    const heads = ["Step", ...COLUMNS.map(([name]) => name), "All tokens so far"].map((name) => h("th", { scope: "col" }, name));
    this.element = h(
      "div",
      { class: "token-table", tabindex: "0", role: "region", "aria-label": `Tokens by step, ${label}` },
      h("table", { class: "num" }, h("caption", { class: "visually-hidden" }, `Tokens by step, ${label}`), h("thead", {}, h("tr", {}, ...heads)), this.body),
    );
  }

  /** Add the rows of new steps; the last row may have changed. */
  update() {
    this.body.lastElementChild?.remove();
    this.rows = Math.max(0, this.rows - 1);
    const sums = this.data.columns()[2];
    for (; this.rows < this.data.steps.length; this.rows++) this.body.append(this.row(this.data.steps[this.rows], sums[this.rows]));
  }

  row(step, sum) {
    const { estimated } = step;
    const name = this.onStep
      ? h("button", { class: "inline", title: step.summary, onclick: () => this.onStep(step.step) }, String(step.step))
      : String(step.step);
    const cell = (count) => h("td", { class: count === null ? "dim" : null }, count === null ? NOT_REPORTED : countText(count, { estimated, exact: true }));
    return h("tr", {}, h("th", { scope: "row" }, name), ...COLUMNS.map(([, key]) => cell(step[key])), cell(sum));
  }
}
