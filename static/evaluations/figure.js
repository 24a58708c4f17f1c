// The paper's figure: the score of each domain, plain and in the sandbox, with gain and intervals.

import { h } from "../core/dom.js";
import { formatNumber, plural } from "../core/format.js";
import { domainName, interval, percent, points } from "./words.js";

export class Figure {
  constructor() {
    this.body = h("div", { class: "domains" });
    this.legend = h("p", { class: "legend", "aria-hidden": "true" });
    this.note = h("p", { class: "method" });
    this.title = h("h2", { id: "figure-title" }, "Score by domain");
    this.element = h(
      "section",
      { class: "figure-place", "aria-labelledby": "figure-title" },
      h("div", { class: "section-line" }, this.title, this.legend),
      this.body,
      this.note,
    );
    this.drawn = "";
  }

  show({ results, members, interval: method, judge, suites }) {
    const key = JSON.stringify([results, members, judge]);
    if (key === this.drawn) return;
    this.drawn = key;
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
  return { "data-mode": member.mode, style: `--shade: ${(100 - (60 * same.indexOf(member)) / Math.max(1, same.length)).toFixed(0)}%` };
}

function domainBars({ domain, tasks, members: found }, members) {
  const bars = found.map((result) => bar(result, members[result.member], members));
  return h(
    "section",
    { class: `domain ${domain === "all" ? "all" : ""}`, "aria-label": domainName(domain) },
    h("h3", {}, domainName(domain), h("small", { class: "num" }, plural(tasks, "task"))),
    h("ul", {}, ...bars),
  );
}

function bar(result, member, members) {
  const { score, low, high, gain, gainLow, gainHigh, n } = result;
  const known = typeof score === "number";
  const width = (value) => `${(100 * Math.max(0, Math.min(1, value))).toFixed(2)}%`;
  const fill = known ? h("i", { class: "fill", style: `width: ${width(score)}` }) : null;
  const whisker = known && typeof low === "number" ? h("i", { class: "whisker", style: `left: ${width(low)}; width: ${width(high - low)}` }) : null;
  const sign = gain > 0 ? "up" : gain < 0 ? "down" : "same";
  return h(
    "li",
    { class: "bar-row", ...colour(member, members) },
    h("span", { class: "bar-label", dir: "auto", title: member.label }, member.label),
    h(
      "span",
      { class: "bar-value num" },
      h("b", {}, known ? percent(score) : "not yet"),
      typeof gain === "number"
        ? h("span", { class: "gain", "data-sign": sign, title: `95 % interval of the gain: ${interval(gainLow, gainHigh)}` }, points(gain))
        : null,
      known ? h("small", {}, `${interval(low, high)}, n = ${n}`) : null,
    ),
    h("span", { class: "track", "aria-hidden": "true" }, fill, whisker),
  );
}

const sampleNote = (suites) =>
  suites.some(({ sample }) => sample) ? "Suites marked as samples are small sets of our own tasks: their scores are not those of the published suites." : "";

function judgeNote(judge) {
  if (!judge) return "";
  const agreement = typeof judge.agreement === "number" ? `, mean agreement ${percent(judge.agreement)}` : "";
  const failed = judge.failedVotes ? ` ${formatNumber(judge.failedVotes)} of ${plural(judge.askedVotes, "vote")} failed; they do not count.` : "";
  return `Judge: ${judge.model}, ${plural(judge.votes, "vote")} for each answer${agreement}.${failed}`;
}
