// Tables whose rows are measures and whose columns are members: one for both kinds of experiments.

import { h, hasChanged } from "../core/dom.js";
import { provenance } from "../settings/run_passport.js";
import { domainName, inOrder, settingsText, shownRun, unequalNote } from "./words.js";

const ANSWER = "answer";
const LONG_ANSWER = 60; // characters; a longer answer is set in the size of text
/** The rows of a comparison that are always shown; the others after a click. */
const MAIN_ROWS = new Set([
  ...[ANSWER, "score", "difference"],
  ...["prompt_tokens", "cached_tokens", "largest_prompt", "generated_tokens", "tokens_once", "pasted", "cost"],
  ...["total_seconds", "sandbox_share", "steps", "commands", "failed_commands", "ours_external", "ours_file", "ours_compute", "throughput"],
]);
const MIN_COMMON = 0.4; // share of a long answer
const NOT_KNOWN = /^(–|not |unknown|baseline$)/i;

/** A table in an element that scrolls; `label` names it. */
export class MemberTable {
  constructor(label, name = "") {
    this.table = h("table", { class: `measures num ${name}` });
    this.element = h("div", { class: "table-scroller", tabindex: "0", role: "region", "aria-label": label }, this.table);
  }

  /** Draw groups of rows, { title, rows }; `row(each)` returns a row's element. */
  draw({ members, baseline = null, caption, groups, row }) {
    const body = groups.map(({ title, rows }) => h("tbody", {}, title ? groupRow(title, members) : null, ...rows.map(row)));
    this.table.replaceChildren(h("caption", { class: "visually-hidden" }, caption), header(members, baseline), ...body);
    this.table.dataset.members = members.length;
  }
}

function header(members, baseline) {
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

const groupRow = (title, members) => h("tr", { class: "group" }, h("th", { scope: "rowgroup", colspan: members.length + 1 }, h("span", {}, title)));

/** The head of a row. */
export const rowHead = (label, { help = "", note = "", indented = false } = {}) =>
  h("th", { scope: "row", title: help || null, class: indented ? "indent" : null }, label, note ? h("small", {}, note) : null);

/** The measures of the members: a comparison's with their answers, an evaluation's in a domain. */
export class MeasureTable {
  /** `chosen` maps members' indices to the runs that their columns show. */
  constructor(chosen) {
    this.chosen = chosen;
    this.table = new MemberTable("Measures");
    this.experiment = null;
    this.answers = []; // of the runs that the columns show, the baseline's first
    this.all = false; // whether all rows are shown
    this.toggle = h("button", { class: "quiet all-measures", onclick: () => this.showAll(!this.all) });
    this.select = h("select", { "aria-label": "Domain", onchange: () => this.draw() });
    this.head = h("div", { class: "section-line" }, h("h2", {}, "What it took"), this.select);
    this.element = h("div", { class: "measures-place", hidden: true }, this.head, this.table.element, this.toggle);
    this.showAll(false);
  }

  /** Show all rows, or only the main ones. */
  showAll(all) {
    this.all = all;
    this.table.table.classList.toggle("main-only", !all);
    this.toggle.textContent = all ? "Show the main measures" : "Show all measures";
    this.toggle.setAttribute("aria-expanded", String(all));
  }

  /** Draw the table again if it changed. */
  show(experiment) {
    const members = inOrder(experiment);
    const answers = members.map((member) => shownRun(member, this.chosen.get(member.index))?.answer ?? "");
    const { table, results, suites, state } = experiment;
    const heads = members.map(({ label, detail, settings, unequal }) => [label, detail, settings, unequal]);
    if (!hasChanged(this, [table, results, answers, heads, state])) return;
    this.experiment = experiment;
    this.answers = answers;
    this.element.hidden = state === "running" && !experiment.counts.done; // the columns are what there is to see
    this.head.hidden = !suites;
    const domains = results.filter((each) => each.table);
    if (this.select.options.length !== domains.length)
      this.select.replaceChildren(...domains.map(({ domain }) => h("option", { value: domain }, domainName(domain))));
    this.draw();
  }

  draw() {
    const { answers } = this;
    const { table, results, baseline } = this.experiment;
    const members = inOrder(this.experiment);
    const groups = table ? withAnswers(table) : results.find(({ domain }) => domain === this.select.value).table;
    const caption = `${members.length} members compared; differences are to ${members[0].label}`;
    const row = (each) => (each.key === ANSWER ? answerRow(each, members, answers) : measureRow(each, members));
    this.table.draw({ members, baseline, caption, groups: groups.map(titled), row });
  }
}

/** A group whose title says how many runs its figures are of, if it is the same for all. */
function titled({ title, rows }) {
  const count = sharedCount(rows);
  return { title: count > 1 ? `${title}, mean of ${count}` : title, rows: rows.map((row) => ({ ...row, count })) };
}

/** The table's groups; the answers come first, whether or not the server has a row for them. */
function withAnswers(groups) {
  const row = groups.flatMap(({ rows }) => rows).find(({ key }) => key === ANSWER) ?? { key: ANSWER, label: "Answer", cells: [] };
  const [first, ...others] = groups.length ? groups : [{ title: "Outcome", rows: [] }];
  return [{ ...first, rows: [row, ...first.rows.filter(({ key }) => key !== ANSWER)] }, ...others];
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
  return h("tr", { class: "answers" }, rowHead(label), ...places);
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

function measureRow({ key, label, help, cells, better, count }, members) {
  const places = members.map(({ index }) => measure(cells[index], { label, rated: Boolean(better), count }));
  return h("tr", { "data-key": key, class: MAIN_ROWS.has(key) ? null : "further" }, rowHead(label, { help, indented: label.startsWith("of it") }), ...places);
}

/** How many runs are behind each figure of a group of rows, if it is the same for all; else 0. */
function sharedCount(rows) {
  const counts = new Set(rows.flatMap(({ cells }) => cells.filter(({ value }) => typeof value === "number").map(({ n }) => n)));
  return counts.size === 1 ? [...counts][0] : 0;
}

/** One value: its text, interval, difference to the baseline, a bar, and a note such as what is missing. */
function measure(cell, { label, rated, count }) {
  const { text, note, delta, best, worse, bar, interval, method } = cell;
  const missing = !text || NOT_KNOWN.test(text);
  const share = rated && typeof bar === "number" ? Math.max(0, Math.min(1, bar)) : null;
  const notes = [cell.n > 1 && cell.n !== count ? `n = ${cell.n}` : "", note].filter(Boolean).join(" · ");
  return h(
    "td",
    { class: best ? "best" : worse ? "worse" : null, "data-label": label },
    interval ? h("span", { class: "interval", title: method ? `95 % ${method}` : null }, interval) : null,
    h("span", { class: missing ? "na" : "value" }, text || "–"),
    best ? h("span", { class: "visually-hidden" }, " (best)") : null,
    share === null ? null : h("span", { class: "bar", "aria-hidden": "true" }, h("i", { style: `width: ${(100 * share).toFixed(1)}%` })),
    delta ? h("span", { class: "delta" }, delta) : null,
    notes ? h("small", {}, notes) : null,
  );
}
