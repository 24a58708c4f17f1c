// The tables of an evaluation's results: scores, and what they cost.

import { parameterTexts } from "../compare/members/member.js";
import { provenance } from "../settings/run_passport.js";
import { h } from "../core/dom.js";
import { formatNumber, plural } from "../core/format.js";
import { count, decimal, domainName, interval, percent, points } from "./words.js";

const rates = (name) =>
  [
    ["external", "External resources"],
    ["files", "File management"],
    ["computation", "Computation"],
  ].map(([key, label]) => ({ label, value: ({ capabilities }) => percent(capabilities?.[name]?.[key]), indent: true }));

/**
 * The rows of the second table: groups, and measures of a result.
 * @type {{ group?: string, label?: string, value?: (result: any) => string, help?: string, indent?: boolean }[]}
 */
const MEASURES = [
  { group: "Tokens of a run, mean" },
  {
    label: "Each token once",
    value: ({ tokensOnce }) => count(tokensOnce),
    help: "Prompt, generated and environment tokens, each counted once: the paper’s N_total",
  },
  { label: "Largest conversation", value: ({ tokensPeak }) => count(tokensPeak) },
  { group: "Work of a run, mean" },
  { label: "Turns", value: ({ turns }) => decimal(turns) },
  { label: "Seconds", value: ({ seconds }) => decimal(seconds) },
  { group: "Share of turns with a capability, parsed and observed" },
  ...rates("parsed"),
  { group: "Share of turns with a capability, the paper’s patterns" },
  ...rates("paper"),
  { group: "Environment" },
  { label: "Share of time in the sandbox", value: ({ environmentTime }) => percent(environmentTime) },
  { label: "Share of tokens from the sandbox", value: ({ environmentTokens }) => percent(environmentTokens) },
  {
    label: "Throughput to plain",
    value: ({ throughput }) => (typeof throughput === "number" ? `${throughput.toFixed(2)} ×` : "–"),
    help: "Queries per second compared with the plain member",
  },
];

export class ResultTables {
  constructor() {
    this.scores = h("table", { class: "measures scores num" });
    this.domain = "all";
    this.select = h("select", { id: "measures-domain", onchange: () => this.choose(this.select.value) });
    this.measures = h("table", { class: "measures num" });
    const place = (label, table) => h("div", { class: "table-scroller", tabindex: "0", role: "region", "aria-label": label }, table);
    this.element = h(
      "section",
      { class: "result-tables", "aria-label": "Results" },
      h("h2", {}, "Scores"),
      place("Scores by domain", this.scores),
      h(
        "div",
        { class: "section-line" },
        h("h2", {}, "What it took"),
        h("label", { class: "choose" }, h("span", { class: "visually-hidden" }, "Domain"), this.select),
      ),
      place("Tokens, turns, capabilities and environment", this.measures),
    );
    this.drawn = "";
  }

  choose(domain) {
    this.domain = domain;
    if (this.evaluation) this.drawMeasures(this.evaluation);
  }

  show(evaluation) {
    this.evaluation = evaluation;
    const key = JSON.stringify([evaluation.results, evaluation.members]);
    if (key === this.drawn) return;
    this.drawn = key;
    const domains = evaluation.results.map(({ domain }) => domain);
    if (this.select.options.length !== domains.length) {
      this.select.replaceChildren(...domains.map((domain) => h("option", { value: domain }, domainName(domain))));
      this.select.value = this.domain;
    }
    this.drawScores(evaluation);
    this.drawMeasures(evaluation);
  }

  drawScores({ results, members }) {
    const body = results.map(({ domain, tasks, members: found }) =>
      h(
        "tr",
        { class: domain === "all" ? "total" : null },
        h("th", { scope: "row" }, domainName(domain), h("small", {}, plural(tasks, "task"))),
        ...found.map((result) => scoreCell(result)),
      ),
    );
    this.scores.replaceChildren(
      h("caption", { class: "visually-hidden" }, "Mean scores with 95 % intervals, gains to the plain member, and what is not counted"),
      head(members),
      h("tbody", {}, ...body),
    );
    this.scores.dataset.members = members.length;
  }

  drawMeasures({ results, members }) {
    const { members: found } = results.find(({ domain }) => domain === this.domain) ?? results[0];
    const rows = MEASURES.map(({ group, label, value, help, indent }) =>
      group
        ? h("tr", { class: "group" }, h("th", { scope: "rowgroup", colspan: members.length + 1 }, h("span", {}, group)))
        : h(
            "tr",
            {},
            h("th", { scope: "row", title: help ?? null, class: indent ? "indent" : null }, label),
            ...found.map((result) => h("td", {}, value(result))),
          ),
    );
    this.measures.replaceChildren(
      h("caption", { class: "visually-hidden" }, `Tokens, turns and capabilities: ${domainName(this.domain)}`),
      head(members),
      h("tbody", {}, ...rows),
    );
    this.measures.dataset.members = members.length;
  }
}

const head = (members) =>
  h(
    "thead",
    {},
    h(
      "tr",
      {},
      h("td", {}),
      ...members.map(({ label, model, detail, settings, marks, passport }) =>
        h(
          "th",
          { scope: "col" },
          h("b", { dir: "auto" }, label),
          h("span", {}, model),
          h("small", {}, [detail, ...parameterTexts(settings ?? {})].join(" · ")),
          ...provenance({ model, marks, passport }),
        ),
      ),
    ),
  );

function scoreCell({ score, low, high, n, correct, gain, gainLow, gainHigh, pairs, infrastructure, unscored }) {
  const apart = [infrastructure ? `${formatNumber(infrastructure)} infrastructure` : "", unscored ? `${formatNumber(unscored)} unscored` : ""]
    .filter(Boolean)
    .join(", ");
  return h(
    "td",
    {},
    h("span", { class: "value" }, percent(score)),
    h("small", {}, typeof score === "number" ? `${interval(low, high)} · ${formatNumber(correct)} of ${formatNumber(n)} right` : "no score yet"),
    typeof gain === "number"
      ? h(
          "small",
          { class: "gain", "data-sign": gain > 0 ? "up" : gain < 0 ? "down" : "same" },
          `${points(gain)} points (${interval(gainLow, gainHigh)}; ${plural(pairs, "pair")})`,
        )
      : null,
    apart ? h("small", { class: "apart" }, `not counted: ${apart}`) : null,
  );
}
