// A comparison or an evaluation in the list: one row, which unfolds.

import { h, icon, isModified } from "../core/dom.js";
import { formatNumber, plural } from "../core/format.js";
import { apiUrl, showRun } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { openDeletion } from "../experiments/deletion.js";
import { domainName, percent, points, TONES } from "../experiments/words.js";
import { rememberOrigin, showView, viewUrl } from "../core/view.js";
import { highlightTerms, runFacts, runTitle, runUrl, timeOfDay } from "../core/run/run_summary.js";

/** Whether a row stands for several runs: a comparison or an evaluation. */
export const isGroup = ({ kind }) => kind === "comparison" || kind === "evaluation";

/** The path of a row's API, below `api/`. */
export const apiPath = (row) => `${isGroup(row) ? row.kind : "run"}s/${row.run}`;

/** A comparison or evaluation of the server's list as a row of ours, which are identified by `run`. */
export const groupRow = (group) => ({
  ...group,
  run: group.id,
  title: group.title || (group.kind === "evaluation" ? "Evaluation" : "Comparison"),
  running: group.state === "running",
});

/** What such a row shows, as the cells of a run's row; `tools` are its actions. */
export function groupCells(row, { searched, unfolded, now, subRuns, isSelected }, tools) {
  const { kind, title, members, verdict, state } = row;
  const unfold = h(
    "button",
    {
      class: "quiet unfold",
      "aria-expanded": String(Boolean(unfolded)),
      "aria-label": `${kind === "evaluation" ? "Results" : "Runs"} of “${title}”`,
      title: kind === "evaluation" ? "Show its results" : "Show its runs",
    },
    icon("caret"),
  );
  const tone = h("span", { class: "run-state", "data-tone": TONES[state], "data-live": state === "running" }, h("span", { class: "dot" }), state);
  const open = h(
    "a",
    { class: "open", href: viewUrl(kind, row.id) },
    h("b", { class: "title", dir: "auto" }, ...highlightTerms(title, searched)),
    h("span", { class: "facts" }, tone, h("span", {}, `${kind}: ${members.join(", ")}`), h("span", { class: "num" }, runCount(row))),
    verdict ? h("span", { class: "found", dir: "auto" }, verdict) : null,
  );
  const cells = [
    unfold,
    open,
    h("span", { class: "thumbnails" }),
    h("time", { class: "num", datetime: new Date(row.at * 1000).toISOString() }, timeOfDay(row.at)),
    tools,
  ];
  if (!unfolded) return cells;
  return [...cells, kind === "evaluation" ? scoreList(row, subRuns) : runList(subRuns, now, isSelected)];
}

function runCount({ kind, runs, counts }) {
  if (kind !== "evaluation") return plural(runs.length, "run");
  return counts ? `${formatNumber(counts.done)} of ${plural(counts.total, "run")}` : plural(runs, "run");
}

/** The scores of an evaluation by domain. */
function scoreList({ members }, results) {
  if (!results) return h("p", { class: "sub-runs dim" }, "Loading…");
  const scores = ({ member, score, gain }) => h("span", {}, `${members[member]} ${percent(score)}${typeof gain === "number" ? ` (${points(gain)})` : ""}`);
  const line = ({ domain, members: found }) => h("li", {}, h("b", {}, domainName(domain)), h("span", { class: "facts num" }, ...found.map(scores)));
  return h("ul", { class: "sub-runs scores", "aria-label": "Scores" }, ...results.map(line));
}

/** The runs with the names that they have in the comparison, in the order of its members. */
function labelled(runs, members) {
  const byId = new Map(runs.map((run) => [run.run, run]));
  const named = ({ label, runs: repetitions }) =>
    repetitions.map(({ run, repetition }) =>
      byId.has(run) ? { ...byId.get(run), title: repetitions.length > 1 ? `${label}, run ${repetition}` : label } : null,
    );
  return members.flatMap(named).filter(Boolean);
}

function runList(runs, now, isSelected) {
  if (!runs) return h("p", { class: "sub-runs dim" }, "Loading…");
  if (!runs.length) return h("p", { class: "sub-runs dim" }, "All of its runs were deleted.");
  const box = (run) => h("input", { type: "checkbox", "data-run": run.run, "aria-label": `Select “${runTitle(run)}”`, checked: isSelected(run.run) });
  return h(
    "ul",
    { class: "sub-runs", "aria-label": "Runs" },
    ...runs.map((run) =>
      h(
        "li",
        {},
        box(run),
        h(
          "a",
          { class: "sub-run", href: runUrl(run.run), "data-run": run.run },
          h("b", { dir: "auto" }, runTitle(run)),
          h("span", { class: "facts" }, ...runFacts(run, now)),
        ),
      ),
    ),
  );
}

const evaluationResults = async (row) => (await fetchJson(apiUrl(`${apiPath(row)}?overview=1`))).results;

async function comparedRuns(row) {
  const [{ runs }, { members }] = await Promise.all([
    fetchJson(apiUrl(`runs?${new URLSearchParams({ comparison: row.id, limit: "200" })}`)),
    fetchJson(apiUrl(apiPath(row))),
  ]);
  return labelled(runs, members);
}

/** Actions on the comparisons and evaluations of the list; `history` as for RowActions. */
export class GroupActions {
  constructor(history) {
    this.history = history;
  }

  /** Handle a click in such a row; return whether it was one. */
  onClick(event, row) {
    const { target } = event;
    const modified = isModified(event);
    const run = target.closest("a.sub-run")?.dataset.run;
    if (target.closest(".unfold")) this.unfold(row);
    else if (target.closest(".delete")) this.confirmDeletion(row);
    else if (run && !modified) {
      event.preventDefault();
      this.history.dialog.close();
      rememberOrigin(run, { name: row.kind, id: row.id });
      showRun(run);
    } else if (target.closest("a.open") && !modified) {
      event.preventDefault();
      this.history.dialog.close();
      showView(row.kind, row.id);
    } else return false;
    return true;
  }

  async unfold(row) {
    const item = this.history.rows.get(row.run);
    item.unfolded = !item.unfolded;
    this.history.redraw(row.run);
    if (!item.unfolded) return;
    try {
      item.subRuns = await (row.kind === "evaluation" ? evaluationResults(row) : comparedRuns(row));
    } catch (error) {
      item.unfolded = false;
      this.history.showMessage(error.message);
    }
    this.history.redraw(row.run);
  }

  confirmDeletion(row) {
    const { history } = this;
    if (row.running) return history.showMessage(`The ${row.kind} is still running. Stop it before you delete it.`);
    return openDeletion(row.kind, apiUrl(apiPath(row)), () => {
      history.rows.delete(row.run);
      history.showMessage(`Deleted the ${row.kind}.`);
      history.reload();
    });
  }
}
