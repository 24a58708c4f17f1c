// The scores of an experiment: the paper's figure, and an evaluation's table of them by domain.

import { h, hasChanged } from "../core/dom.js";
import { formatNumber, plural } from "../core/format.js";
import { MemberTable, rowHead } from "./table.js";
import { domainName, gainSign, interval, isKnown, passOf, percent, points } from "./words.js";

/** The scores of an evaluation by domain, with gains and what is not counted. */
export class ScoreTable {
  /** `onChoose(k)` is called with the k of pass@k that the user chose. */
  constructor(onChoose) {
    this.onChoose = onChoose;
    this.scores = new MemberTable("Scores by domain", "scores");
    this.select = h("select", { "aria-label": "k of pass@k", onchange: () => this.choose(Number(this.select.value)) });
    this.choice = h("label", { class: "k-choice", hidden: true }, "pass@k and pass^k of k = ", this.select);
    const head = h("div", { class: "section-line" }, h("h2", {}, "Scores"), this.choice);
    this.element = h("section", { class: "result-tables", "aria-label": "Results" }, head, this.scores.element);
    this.k = null; // the chosen one
  }

  show(experiment) {
    const { results, members } = experiment;
    if (!hasChanged(this, [results, members])) return;
    this.experiment = experiment;
    const most = Math.max(0, ...results.flatMap((each) => each.members.flatMap(({ pass = [] }) => pass.map(({ k }) => k))));
    this.choice.hidden = most < 2;
    if (this.select.options.length !== Math.max(0, most - 1))
      this.select.replaceChildren(...Array.from({ length: Math.max(0, most - 1) }, (_, at) => h("option", { value: at + 2 }, at + 2)));
    this.draw();
  }

  choose(k) {
    this.k = k;
    this.onChoose(k);
    this.draw();
  }

  draw() {
    const { results, members, columns } = this.experiment;
    const usual = results[0].members.find(({ k }) => k)?.k ?? null;
    const k = this.k ?? usual;
    this.select.value = k ?? "";
    const caption = "Mean scores with 95 % intervals, gains to the plain member, and what is not counted";
    const row = ({ domain, tasks, members: found }) =>
      h(
        "tr",
        { class: domain === "all" ? "total" : null },
        rowHead(domainName(domain), { note: plural(tasks, domain === "mean" ? "domain" : "task"), help: columns.domain }),
        ...found.map((result) => scoreCell({ ...result, ...passOf(result, domain, results, k) }, columns, domain)),
      );
    this.scores.draw({ members, caption, groups: [{ rows: results }], row });
  }
}

/** A member's result in a domain; `columns` has the definitions, which are shown as tooltips. */
function scoreCell(result, columns, domain) {
  const { score, low, high, n, correct, best, tied, gain, gainLow, gainHigh, gainP, gainTest, pairs, infrastructure, unscored } = result;
  const [tasks, differences] =
    domain === "mean" ? [plural(n, "domain"), plural(pairs, "domain")] : [`${formatNumber(correct)} of ${formatNumber(n)} right`, plural(pairs, "pair")];
  const apart = [infrastructure ? `${formatNumber(infrastructure)} infrastructure` : "", unscored ? `${formatNumber(unscored)} unscored` : ""]
    .filter(Boolean)
    .join(", ");
  return h(
    "td",
    { class: best ? "best" : null },
    h("span", { class: "value", title: columns.score }, percent(score)),
    tied ? h("span", { class: "tied", title: columns.tied }, " tied") : null,
    best ? h("span", { class: "visually-hidden" }, " (best)") : null,
    h("small", { title: columns.low }, isKnown(score) ? [interval(low, high), tasks].filter(Boolean).join(" · ") : "no score yet"),
    isKnown(gain)
      ? h(
          "small",
          { class: "gain", "data-sign": gainSign(gain), title: columns.gain },
          `${points(gain)} points (${interval(gainLow, gainHigh)}; ${differences})`,
        )
      : null,
    isKnown(gainP) ? h("small", { title: columns.gainTest }, `p ${gainP < 0.001 ? "< 0.001" : `= ${gainP.toFixed(3)}`}, ${gainTest}`) : null,
    result.k ? h("small", { title: columns.passAt }, `pass@${result.k} ${percent(result.passAt)} · pass^${result.k} ${percent(result.passHat)}`) : null,
    apart ? h("small", { class: "apart" }, `not counted: ${apart}`) : null,
  );
}

/** The paper's figure: scores plain and in the sandbox, with gains and intervals; of repeated runs, or of each domain. */
export class Figure {
  constructor(kind) {
    this.body = h("div", { class: "domains" });
    this.legend = h("p", { class: "legend", "aria-hidden": "true" });
    this.note = h("p", { class: "method" });
    this.element = h(
      "section",
      { class: "figure-place", "aria-labelledby": "figure-title" },
      h("div", { class: "section-line" }, h("h2", { id: "figure-title" }, kind === "evaluation" ? "Score by domain" : "Score"), this.legend),
      this.body,
      this.note,
    );
  }

  show({ results, members, repetitions, interval: method, judge, suites }) {
    if (!hasChanged(this, [results, members, judge])) return;
    const shown = results.length === 2 ? results.slice(1) : results; // of one domain, all are the same
    this.element.hidden = !suites && !shown[0].members.some(({ n }) => n > 1);
    const name = ({ domain }) => (suites ? domainName(domain) : "This task");
    const size = ({ domain, tasks }) => (suites ? plural(tasks, domain === "mean" ? "domain" : "task") : plural(repetitions, "repetition"));
    this.body.replaceChildren(...shown.map((result) => domainBars(result, members, name(result), size(result))));
    this.body.dataset.count = shown.length;
    this.legend.replaceChildren(...members.map((member) => h("span", { dir: "auto" }, h("i", { class: "swatch", ...colour(member, members) }), member.label)));
    this.note.textContent = suites ? [method, sampleNote(suites), judgeNote(judge)].filter(Boolean).join(" ") : "";
  }
}

/** How the bars of a member are coloured: by mode, members of the same mode apart. */
function colour(member, members) {
  const same = members.filter(({ mode }) => mode === member.mode);
  return { "data-mode": member.mode, style: `--shade: ${(100 - (60 * same.indexOf(member)) / same.length).toFixed(0)}%` };
}

const domainBars = ({ domain, members: found }, members, name, size) =>
  h(
    "section",
    { class: `domain ${domain === "all" ? "all" : ""}`, "aria-label": name },
    h("h3", {}, name, h("small", { class: "num" }, size)),
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
      isKnown(score) ? h("small", {}, [interval(low, high), `n = ${n}`].filter(Boolean).join(", ")) : null,
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
