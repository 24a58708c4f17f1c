// Which runs of an evaluation are shown, and their groups: as agent/experiments/reading/filters.py selects them.

import { isKnown } from "../words.js";

const RANGE = /^(\d{0,15})\.\.(\d{0,15})$/;
const NONE = "none";
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

/** Each run of an evaluation with the values of its fields; a member that has not begun a task has one without a run. */
export function itemsOf({ tasks, cells, members }) {
  return tasks.flatMap(({ suite, domain, group }, task) =>
    members.flatMap(({ label, baseline }, at) => {
      const cell = cells[task][at];
      const difference = at === baseline ? "" : differenceOf(cell.score, cells[task][baseline].score);
      const runs = cell.runs.length ? cell.runs : [{ run: "", outcome: "waiting" }];
      return runs.map((run) => ({ ...run, task, column: at, member: label, suite, domain, group, difference }));
    }),
  );
}

/** How a score stands to the baseline's; empty if one of them is unknown. */
function differenceOf(score, base) {
  if (!isKnown(score) || !isKnown(base)) return "";
  if (score === base) return "same";
  return score > base ? "better" : "worse";
}

/** Whether a run has one of the values of every field. */
export const matches = (item, filter) => Object.entries(filter).every(([key, values]) => values.some((value) => has(item[key], value)));

function has(value, wanted) {
  if (!isKnown(value)) return valuesOf(value).includes(wanted);
  const [, low, high] = wanted.match(RANGE) ?? [];
  return low !== undefined && value >= Number(low) && value <= (high ? Number(high) : Infinity);
}

/** The values of a field of a run, as text. */
function valuesOf(value) {
  const known = (Array.isArray(value) ? value : [value]).filter(Boolean);
  return known.length ? known : [NONE];
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
  const groups = new Map(valueCounts(items, field).map(([value]) => [value, []]));
  for (const item of items) for (const value of field.kind === "range" ? [binOf(item[field.key])] : valuesOf(item[field.key])) groups.get(value).push(item);
  return [...groups].map(([value, members]) => ({
    value,
    runs: members.filter(({ run }) => run).length,
    tasks: new Set(members.map(({ task }) => task)).size,
    ...Object.fromEntries(["score", "tokens", "turns", "cost"].map((name) => [name, meanOf(members, name)])),
  }));
}

function meanOf(items, name) {
  const known = items.map((item) => item[name]).filter(isKnown);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}
