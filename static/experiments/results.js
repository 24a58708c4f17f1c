// An evaluation's results: the paper's figure, and the tables of scores and of what they cost.

import { h, hasChanged } from "../core/dom.js";
import { formatNumber, plural } from "../core/format.js";
import { MemberTable, rowHead } from "./table.js";
import { count, decimal, domainName, gainSign, interval, isKnown, percent, points } from "./words.js";

const rates = (name) =>
  [
    ["external", "External resources"],
    ["files", "File management"],
    ["computation", "Computation"],
  ].map(([key, label]) => ({ label, value: ({ capabilities }) => percent(capabilities[name]?.[key]), indented: true }));

/** The second table: groups of measures of a result. */
const MEASURES = [
  {
    title: "Tokens of a run, mean",
    rows: [
      {
        label: "Each token once",
        value: ({ tokensOnce }) => count(tokensOnce),
        help: "Prompt, generated and environment tokens, each counted once: the paper’s N_total",
      },
      { label: "Largest conversation", value: ({ tokensPeak }) => count(tokensPeak) },
    ],
  },
  {
    title: "Work of a run, mean",
    rows: [
      { label: "Turns", value: ({ turns }) => decimal(turns) },
      { label: "Seconds", value: ({ seconds }) => decimal(seconds) },
    ],
  },
  { title: "Share of turns with a capability, parsed and observed", rows: rates("parsed") },
  { title: "Share of turns with a capability, the paper’s patterns", rows: rates("paper") },
  {
    title: "Environment",
    rows: [
      { label: "Share of time in the sandbox", value: ({ environmentTime }) => percent(environmentTime) },
      { label: "Share of tokens from the sandbox", value: ({ environmentTokens }) => percent(environmentTokens) },
      {
        label: "Throughput relative to plain",
        value: ({ throughput }) => (isKnown(throughput) ? `${throughput.toFixed(2)} ×` : "–"),
        help: "Queries per second compared with the plain member",
      },
    ],
  },
];

export class ResultTables {
  constructor() {
    this.scores = new MemberTable("Scores by domain", "scores");
    this.measures = new MemberTable("Tokens, turns, capabilities and environment");
    this.select = h("select", { id: "measures-domain", onchange: () => this.drawMeasures() });
    this.element = h(
      "section",
      { class: "result-tables", "aria-label": "Results" },
      h("h2", {}, "Scores"),
      this.scores.element,
      h(
        "div",
        { class: "section-line" },
        h("h2", {}, "What it took"),
        h("label", { class: "choose" }, h("span", { class: "visually-hidden" }, "Domain"), this.select),
      ),
      this.measures.element,
    );
  }

  show({ results, members }) {
    if (!hasChanged(this, [results, members])) return;
    this.results = results;
    this.members = members;
    if (this.select.options.length !== results.length)
      this.select.replaceChildren(...results.map(({ domain }) => h("option", { value: domain }, domainName(domain))));
    const caption = "Mean scores with 95 % intervals, gains to the plain member, and what is not counted";
    const row = ({ domain, tasks, members: found }) =>
      h("tr", { class: domain === "all" ? "total" : null }, rowHead(domainName(domain), { note: plural(tasks, "task") }), ...found.map(scoreCell));
    this.scores.draw({ members, caption, groups: [{ rows: results }], row });
    this.drawMeasures();
  }

  drawMeasures() {
    const domain = this.select.value;
    const { members: found } = this.results.find((each) => each.domain === domain);
    const caption = `Tokens, turns and capabilities: ${domainName(domain)}`;
    const row = ({ label, value, ...rest }) => h("tr", {}, rowHead(label, rest), ...found.map((result) => h("td", {}, value(result))));
    this.measures.draw({ members: this.members, caption, groups: MEASURES, row });
  }
}

function scoreCell({ score, low, high, n, correct, gain, gainLow, gainHigh, pairs, infrastructure, unscored }) {
  const apart = [infrastructure ? `${formatNumber(infrastructure)} infrastructure` : "", unscored ? `${formatNumber(unscored)} unscored` : ""]
    .filter(Boolean)
    .join(", ");
  return h(
    "td",
    {},
    h("span", { class: "value" }, percent(score)),
    h("small", {}, isKnown(score) ? `${interval(low, high)} · ${formatNumber(correct)} of ${formatNumber(n)} right` : "no score yet"),
    isKnown(gain)
      ? h("small", { class: "gain", "data-sign": gainSign(gain) }, `${points(gain)} points (${interval(gainLow, gainHigh)}; ${plural(pairs, "pair")})`)
      : null,
    apart ? h("small", { class: "apart" }, `not counted: ${apart}`) : null,
  );
}

/** The paper's figure: the score of each domain, plain and in the sandbox, with gain and intervals. */
export class Figure {
  constructor() {
    this.body = h("div", { class: "domains" });
    this.legend = h("p", { class: "legend", "aria-hidden": "true" });
    this.note = h("p", { class: "method" });
    this.element = h(
      "section",
      { class: "figure-place", "aria-labelledby": "figure-title" },
      h("div", { class: "section-line" }, h("h2", { id: "figure-title" }, "Score by domain"), this.legend),
      this.body,
      this.note,
    );
  }

  show({ results, members, interval: method, judge, suites }) {
    if (!hasChanged(this, [results, members, judge])) return;
    const shown = results.length > 2 ? results : results.filter(({ domain }) => domain !== "all");
    this.body.replaceChildren(...shown.map((result) => domainBars(result, members)));
    this.body.dataset.count = shown.length;
    this.legend.replaceChildren(...members.map((member) => h("span", { dir: "auto" }, h("i", { class: "swatch", ...colour(member, members) }), member.label)));
    this.note.textContent = [method, sampleNote(suites), judgeNote(judge)].filter(Boolean).join(" ");
  }
}

/** How the bars of a member are coloured: by mode, members of the same mode apart. */
function colour(member, members) {
  const same = members.filter(({ mode }) => mode === member.mode);
  return { "data-mode": member.mode, style: `--shade: ${(100 - (60 * same.indexOf(member)) / same.length).toFixed(0)}%` };
}

const domainBars = ({ domain, tasks, members: found }, members) =>
  h(
    "section",
    { class: `domain ${domain === "all" ? "all" : ""}`, "aria-label": domainName(domain) },
    h("h3", {}, domainName(domain), h("small", { class: "num" }, plural(tasks, "task"))),
    h("ul", {}, ...found.map((result) => bar(result, members))),
  );

function bar({ member: index, score, low, high, gain, gainLow, gainHigh, n }, members) {
  const member = members[index];
  const width = (value) => `${(100 * Math.max(0, Math.min(1, value))).toFixed(2)}%`;
  return h(
    "li",
    { class: "bar-row", ...colour(member, members) },
    h("span", { class: "bar-label", dir: "auto", title: member.label }, member.label),
    h(
      "span",
      { class: "bar-value num" },
      h("b", {}, isKnown(score) ? percent(score) : "not yet"),
      isKnown(gain)
        ? h("span", { class: "gain", "data-sign": gainSign(gain), title: `95 % interval of the gain: ${interval(gainLow, gainHigh)}` }, points(gain))
        : null,
      isKnown(score) ? h("small", {}, `${interval(low, high)}, n = ${n}`) : null,
    ),
    h(
      "span",
      { class: "track", "aria-hidden": "true" },
      isKnown(score) ? h("i", { class: "fill", style: `width: ${width(score)}` }) : null,
      isKnown(low) ? h("i", { class: "whisker", style: `left: ${width(low)}; width: ${width(high - low)}` }) : null,
    ),
  );
}

const sampleNote = (suites) =>
  suites.some(({ sample }) => sample) ? "Suites marked as samples are small sets of our own tasks: their scores are not those of the published suites." : "";

function judgeNote(judge) {
  if (!judge) return "";
  const agreement = isKnown(judge.agreement) ? `, mean agreement ${percent(judge.agreement)}` : "";
  const failed = judge.failedVotes ? ` ${formatNumber(judge.failedVotes)} of ${plural(judge.askedVotes, "vote")} failed; they do not count.` : "";
  return `Judge: ${judge.model}, ${plural(judge.votes, "vote")} for each answer${agreement}.${failed}`;
}
