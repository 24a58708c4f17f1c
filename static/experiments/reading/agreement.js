// Agreement of the two raters of an experiment's runs: Cohen's kappa with its table.

import { h, hasChanged } from "../../core/dom.js";
import { plural } from "../../core/format.js";
import { isKnown, percent } from "../words.js";

export class Agreement {
  constructor() {
    this.element = h("section", { class: "agreement", "aria-label": "Agreement of the raters", hidden: true });
  }

  show({ agreement = null }) {
    if (!hasChanged(this, agreement)) return;
    this.element.hidden = !agreement;
    if (!agreement) return this.element.replaceChildren();
    const { raters, n, agreed, observed, expected, kappa, labels, counts, definition } = agreement;
    const [one, other] = raters;
    const row = (label, at) =>
      h(
        "tr",
        {},
        h("th", { scope: "row", dir: "auto" }, label),
        ...counts[at].map((count, to) => h("td", { class: at === to ? "alike" : null }, String(count))),
      );
    const table = h(
      "table",
      { class: "groups num" },
      h("caption", { class: "visually-hidden" }, `Labels of ${one} by row, of ${other} by column`),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, `${one} ↓ ${other} →`), ...labels.map((label) => h("th", { scope: "col", dir: "auto" }, label)))),
      h("tbody", {}, ...labels.map(row)),
    );
    return this.element.replaceChildren(
      h("h2", {}, "Agreement of the raters"),
      h(
        "p",
        { title: definition },
        "Cohen’s kappa ",
        h("b", { class: "num" }, isKnown(kappa) ? kappa.toFixed(2).replace("-", "−") : "not defined"),
        `: ${agreed} of ${plural(n, "run")} labelled alike, ${percent(observed)}; by chance ${percent(expected)}.`,
      ),
      h("div", { class: "table-scroller", tabindex: "0", role: "region", "aria-label": "Labels of both raters" }, table),
    );
  }
}
