// The table of a comparison: rows are measures, columns are members, the baseline first.

import { h } from "../core/dom.js";
import { provenance } from "../settings/run_passport.js";
import { inOrder, progress, settingsText, shownRun, unequalNote } from "./outcome.js";

const ANSWER = "answer";
const LONG_ANSWER = 60; // characters; a longer answer is set in the size of text
/** The rows that are always shown; the others after a click. */
const MAIN_ROWS = new Set([
  ...[ANSWER, "score", "difference"],
  ...["prompt_tokens", "cached_tokens", "largest_prompt", "generated_tokens", "tokens_once", "pasted", "cost"],
  ...["total_seconds", "sandbox_share", "steps", "commands", "failed_commands", "ours_external", "ours_file", "ours_compute"],
]);
const MIN_COMMON = 0.4; // share of a long answer
const NOT_KNOWN = /^(–|not |unknown|baseline$)/i;

export class ComparisonTable {
  /** `chosen(member)` returns the run that the column of a member shows. */
  constructor({ chosen }) {
    this.chosen = chosen;
    this.drawn = "";
    this.table = h("table", { class: "measures num" });
    this.all = false; // whether all rows are shown
    const scroller = h("div", { class: "table-scroller", tabindex: "0", role: "region", "aria-label": "Measures" }, this.table);
    this.toggle = h("button", { class: "quiet all-measures", "aria-expanded": "false", onclick: () => this.showAll(!this.all) });
    this.element = h("div", { class: "measures-place", hidden: true }, scroller, this.toggle);
    this.showAll(false);
  }

  /** Show all rows, or only the main ones. */
  showAll(all) {
    this.all = all;
    this.table.classList.toggle("main-only", !all);
    this.toggle.textContent = all ? "Show the main measures" : "Show all measures";
    this.toggle.setAttribute("aria-expanded", String(all));
  }

  /** Draw the table again if it changed. */
  show(comparison) {
    const members = inOrder(comparison);
    const answers = members.map((member) => shownRun(member, this.chosen(member))?.answer ?? "");
    const heads = members.map(({ label, detail, settings, unequal }) => [label, detail, settings, unequal]);
    const key = JSON.stringify([comparison.table, answers, heads, comparison.state]);
    if (key === this.drawn) return;
    this.drawn = key;
    this.element.hidden = comparison.state === "running" && !progress(comparison).ended; // the columns are what there is to see
    this.table.dataset.members = members.length;
    const groups = withAnswers(comparison.table ?? []);
    this.table.replaceChildren(
      h("caption", { class: "visually-hidden" }, `${members.length} members compared; differences are to ${members[0].label}`),
      header(members, comparison),
      ...groups.map((group) => section(group, members, answers)),
    );
  }
}

/** The table's groups; the answers come first, whether or not the server has a row for them. */
function withAnswers(groups) {
  const row = groups.flatMap(({ rows }) => rows).find(({ key }) => key === ANSWER) ?? { key: ANSWER, label: "Answer", cells: [] };
  const [first, ...others] = groups.length ? groups : [{ title: "Outcome", rows: [] }];
  return [{ ...first, rows: [row, ...first.rows.filter(({ key }) => key !== ANSWER)] }, ...others];
}

function header(members, { baseline }) {
  const cells = members.map((member) =>
    h(
      "th",
      { scope: "col" },
      h("b", { dir: "auto" }, member.label),
      h("span", {}, member.detail),
      h("small", {}, [settingsText(member), member.index === baseline ? "baseline" : ""].filter(Boolean).join(" · ")),
      unequalNote(member) ? h("small", { class: "unequal" }, unequalNote(member)) : null,
      ...provenance(member),
    ),
  );
  return h("thead", {}, h("tr", {}, h("td", {}), ...cells));
}

function section({ title, rows }, members, answers) {
  const count = sharedCount(rows);
  const name = count > 1 ? `${title}, mean of ${count}` : title;
  const heading = h("tr", { class: "group" }, h("th", { scope: "rowgroup", colspan: members.length + 1 }, h("span", {}, name)));
  return h("tbody", {}, heading, ...rows.map((row) => (row.key === ANSWER ? answerRow(row, members, answers) : measureRow(row, members, count))));
}

function answerRow({ label, cells }, members, answers) {
  const places = members.map((member, at) => {
    const { text = "", words, note } = cells[member.index] ?? {};
    const answer = NOT_KNOWN.test(text) || !text ? answers[at] : text;
    if (!answer) return h("td", { class: "answer-cell" }, h("span", { class: "na" }, emptyAnswer(member)));
    const right = member.runs.some((run) => run.score === 1 && run.answer.startsWith(answer));
    const size = answer.length > LONG_ANSWER ? "long" : "";
    const box = h("div", { class: `answer-text ${size}`, dir: "auto", tabindex: answer.length > 4 * LONG_ANSWER ? "0" : null }, ...markedWords(answer, words));
    return h("td", { class: "answer-cell", "data-tone": right ? "good" : null }, box, note ? h("small", {}, note) : null);
  });
  return h("tr", { class: "answers" }, h("th", { scope: "row" }, label), ...places);
}

/**
 * An answer; marked are the words that the baseline's answer does not have. A long answer that has
 * little in common with it would be all marks: it has none.
 */
function markedWords(answer, words) {
  const common = (words ?? []).reduce((sum, [kind, text]) => sum + (kind === "same" ? text.length : 0), 0);
  if (!words || (answer.length > LONG_ANSWER && common < MIN_COMMON * answer.length)) return [answer];
  return words.filter(([kind]) => kind !== "removed").map(([kind, text]) => (kind === "added" ? h("mark", { class: "differs" }, text) : text));
}

const emptyAnswer = ({ runs }) => (runs.some(({ running }) => running) || !runs.length ? "not yet" : "no answer");

function measureRow({ key, label, help, cells, better }, members, count) {
  const indented = label.startsWith("of it") ? "indent" : null;
  return h(
    "tr",
    { "data-key": key, class: MAIN_ROWS.has(key) ? null : "further" },
    h("th", { scope: "row", title: help || null, class: indented }, label),
    ...members.map(({ index }) => measure(cells[index] ?? { text: "" }, { rated: Boolean(better), count })),
  );
}

/** How many runs are behind each figure of a group of rows, if it is the same for all; else 0. */
function sharedCount(rows) {
  const counts = new Set(rows.flatMap(({ cells }) => cells.filter(({ value }) => typeof value === "number").map(({ n }) => n)));
  return counts.size === 1 ? [...counts][0] : 0;
}

/** One value: its text, interval, difference to the baseline, a bar, and a note such as what is missing. */
function measure(cell, { rated, count }) {
  const { text, note, delta, best, worse, bar, interval, method } = cell;
  const missing = !text || NOT_KNOWN.test(text);
  const classes = [best ? "best" : "", worse ? "worse" : ""].join(" ").trim();
  const share = rated && typeof bar === "number" && Number.isFinite(bar) ? Math.max(0, Math.min(1, bar)) : null;
  const notes = [cell.n > 1 && cell.n !== count ? `n = ${cell.n}` : "", note].filter(Boolean).join(" · ");
  return h(
    "td",
    { class: classes || null },
    interval ? h("span", { class: "interval", title: method ? `95 % ${method}` : null }, interval) : null,
    h("span", { class: missing ? "na" : "value" }, text || "–"),
    best ? h("span", { class: "visually-hidden" }, " (best)") : null,
    share === null ? null : h("span", { class: "bar", "aria-hidden": "true" }, h("i", { style: `width: ${(100 * share).toFixed(1)}%` })),
    delta ? h("span", { class: "delta" }, delta) : null,
    notes ? h("small", {}, notes) : null,
  );
}
