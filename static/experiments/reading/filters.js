// Which runs of an evaluation are shown, and their groups: as agent/experiments/reading/filters.py selects them.

import { isKnown } from "../words.js";

const RANGE = /^(\d{0,15})\.\.(\d{0,15})$/;
const NONE = "none";
const NO_VALUES = [NONE];
const MEANS = ["score", "tokens", "turns", "cost"];
const STEPS = [5, 2, 1]; // the first digits of a bin's lower end

/** A filter from the text of a URL: field → values. What the server did not name is left out. */
export function parseFilter(text, fields) {
  const known = new Map(fields.map((field) => [field.key, field]));
  const found = {};
  for (const [key, value] of new URLSearchParams(text)) {
    if (!known.has(key) || (known.get(key).kind === "range" && !RANGE.test(value))) continue;
    found[key] = [...(found[key] ?? []), value];
  }
  return found;
}

/** The text of a filter, as it is in a URL and as exports take it. */
export const filterText = (filter) => `${new URLSearchParams(Object.entries(filter).flatMap(([key, values]) => values.map((value) => [key, value])))}`;

/**
 * Each run of an evaluation with the values of its fields; a member that has not begun a task has one without a run.
 * `known` keeps the runs of a task's cells, so that a change costs what it changes.
 */
export function itemsOf({ tasks, cells, members }, known = new WeakMap()) {
  return tasks.flatMap((task, index) => {
    const row = cells[index];
    if (!known.has(row)) known.set(row, itemsOfTask(task, index, row, members));
    return known.get(row);
  });
}

const itemsOfTask = ({ suite, domain, group }, task, row, members) =>
  members.flatMap(({ label, baseline }, at) => {
    const difference = at === baseline ? "" : differenceOf(row[at].score, row[baseline].score);
    const runs = row[at].runs.length ? row[at].runs : [{ run: "", outcome: "waiting" }];
    return runs.map((run) => ({ ...run, task, column: at, member: label, suite, domain, group, difference }));
  });

/** How a score stands to the baseline's; empty if one of them is unknown. */
function differenceOf(score, base) {
  if (!isKnown(score) || !isKnown(base)) return "";
  if (score === base) return "same";
  return score > base ? "better" : "worse";
}

/** A function that says whether a run has one of the values of every field of a filter. */
export function matcher(filter) {
  const tests = Object.entries(filter).map(([key, values]) => [key, new Set(values), values.map(rangeOf).filter(Boolean)]);
  return (item) =>
    tests.every(([key, values, ranges]) => {
      const value = item[key];
      if (isKnown(value)) return ranges.some(([low, high]) => value >= low && value <= high);
      return valuesOf(value).some((each) => values.has(each));
    });
}

/** The ends of a range; undefined for what is none. */
function rangeOf(value) {
  const [, low, high] = value.match(RANGE) ?? [];
  return low === undefined ? undefined : [Number(low), high ? Number(high) : Infinity];
}

/** The values of a field of a run, as text. */
function valuesOf(value) {
  if (Array.isArray(value) ? !value.some(Boolean) : !value) return NO_VALUES;
  return Array.isArray(value) ? value.filter(Boolean) : [value];
}

/** The range in which a number is: 0 to 9, then 10 to 19, 20 to 49, 50 to 99, 100 to 199 and so on. */
function binOf(value) {
  if (!isKnown(value)) return NONE;
  if (value < 10) return "0..9";
  const unit = 10 ** Math.floor(Math.log10(value) + 1e-12);
  const low = STEPS.find((step) => value >= step * unit) * unit;
  return `${low}..${low * (low / unit === 2 ? 2.5 : 2) - 1}`;
}

/** The values of a field among runs: value → number of them, the largest first; ranges by size. */
export function valueCounts(items, { key, kind }) {
  const counts = new Map();
  for (const item of items) for (const value of kind === "range" ? [binOf(item[key])] : valuesOf(item[key])) counts.set(value, (counts.get(value) ?? 0) + 1);
  const low = (value) => (value === NONE ? Infinity : Number.parseInt(value, 10));
  return [...counts].sort((one, other) => (kind === "range" ? low(one[0]) - low(other[0]) : other[1] - one[1]));
}

/** Runs grouped by a field: { value, runs, tasks, score, tokens, turns, cost }, with the means of what is known. */
export function groupsOf(items, field) {
  const groups = new Map(valueCounts(items, field).map(([value]) => [value, new Group(value)]));
  for (const item of items) for (const value of field.kind === "range" ? [binOf(item[field.key])] : valuesOf(item[field.key])) groups.get(value).add(item);
  return [...groups.values()].map((group) => group.figures);
}

class Group {
  constructor(value) {
    this.value = value;
    this.runs = 0;
    this.tasks = new Set();
    this.sums = MEANS.map(() => [0, 0]); // sum and number of what is known
  }

  add(item) {
    if (item.run) this.runs += 1;
    this.tasks.add(item.task);
    MEANS.forEach((name, at) => {
      if (!isKnown(item[name])) return;
      this.sums[at][0] += item[name];
      this.sums[at][1] += 1;
    });
  }

  get figures() {
    const means = MEANS.map((name, at) => [name, this.sums[at][1] ? this.sums[at][0] / this.sums[at][1] : null]);
    return { value: this.value, runs: this.runs, tasks: this.tasks.size, ...Object.fromEntries(means) };
  }
}
