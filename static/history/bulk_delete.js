// Deletion of the runs selected in the list, after a confirmation.

import { h } from "../core/dom.js";
import { compareRuns } from "../core/run/compare_runs.js";
import { runTitle } from "../core/run/run_summary.js";
import { formatBytes, formatNumber, plural, shortened } from "../core/format.js";
import { apiUrl, showRun, emit, currentRun } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { showView } from "../core/view.js";
import { MAX_MEMBERS } from "../experiments/members/member.js";

export class RunSelection {
  /**
   * The bar below the list. `history` provides `rows` (by run), `field`, `actions`, `reload()` and
   * `showMessage()`; `changed` is called when the selection changes.
   */
  constructor(history, changed) {
    this.history = history;
    this.changed = changed;
    this.runs = new Set();
    this.shown = ""; // the runs whose actions the bar shows
    this.bar = h("div", { class: "bulk-actions", hidden: true });
  }

  get size() {
    return this.runs.size;
  }

  has(run) {
    return this.runs.has(run);
  }

  clear() {
    this.runs.clear();
  }

  deselect(run) {
    this.runs.delete(run);
  }

  toggle(run, on) {
    if (on) this.runs.add(run);
    else this.runs.delete(run);
    this.changed();
  }

  select(runs) {
    this.runs = new Set(runs);
    for (const box of this.history.body.querySelectorAll("input[type=checkbox]")) box.checked = this.has(box.closest("[data-run]").dataset.run);
    this.changed();
    this.confirm();
  }

  /** Show the bar and its actions while runs are selected. */
  update(loaded) {
    this.bar.hidden = !this.size;
    if (!this.size) this.shown = "";
    else if (loaded) this.showActions();
  }

  showActions() {
    const runs = [...this.runs].join();
    if (this.shown === runs) return;
    this.shown = runs;
    const comparable = this.size >= 2 && this.size <= MAX_MEMBERS;
    this.bar.replaceChildren(
      h("p", {}, `${plural(this.size, "run")} selected`),
      ...(comparable
        ? [h("button", { class: "plain compare", onclick: () => this.compare(), "aria-keyshortcuts": "c", title: "Compare (c)" }, "Compare")]
        : []),
      h("button", { class: "plain", onclick: () => this.confirm() }, "Delete…"),
      h("button", { class: "plain", onclick: () => this.cancel() }, "Clear selection"),
    );
  }

  /** Compare the selected runs, or say why they cannot be compared. */
  async compare() {
    try {
      const id = await compareRuns([...this.runs]);
      this.history.dialog.close();
      await showView("comparison", id);
    } catch (error) {
      this.bar.firstChild.textContent = error.message;
      this.bar.firstChild.setAttribute("role", "alert");
    }
  }

  cancel() {
    this.select([]);
    this.bar.replaceChildren();
    (this.returnFocus ?? this.history.field).focus();
  }

  /** Confirm the deletion and show the space it frees; active runs are not deleted. */
  async confirm() {
    const runs = [...this.runs];
    if (!runs.length) return;
    const rows = runs.map((run) => this.rowOf(run)).filter(Boolean);
    this.returnFocus = this.history.rows.get(runs[0])?.element.querySelector(".open");
    const cancel = h("button", { class: "plain keep", onclick: () => this.cancel() }, "Cancel");
    const name = rows.length === 1 ? `“${shortened(runTitle(rows[0]), 60)}”` : plural(rows.length, "run");
    if (rows.some(({ running }) => running)) {
      const subject = rows.length === 1 ? `${name} is still running` : "One of them is still running";
      this.bar.replaceChildren(h("p", {}, `${subject}. Stop it before you delete it.`), cancel);
      return cancel.focus();
    }
    const pinned = rows.filter((row) => row.pinned);
    if (pinned.length) {
      const subject = rows.length === 1 ? `${name} is pinned` : `${formatNumber(pinned.length)} of them ${pinned.length === 1 ? "is" : "are"} pinned`;
      const unpin = h("button", { class: "plain", onclick: () => this.unpin(pinned) }, "Unpin…");
      this.bar.replaceChildren(h("p", {}, `${subject}. Unpin ${pinned.length === 1 ? "it" : "them"} first.`), unpin, cancel);
      return cancel.focus();
    }
    const sentence = h("p", {}, `Delete ${name} and all files? `, h("span", { class: "frees dim" }, "…"));
    const confirm = h("button", { class: "plain danger", onclick: () => this.remove(runs) }, "Delete");
    this.bar.replaceChildren(sentence, confirm, cancel);
    confirm.focus();
    try {
      const { reclaimable } = await fetchJson(apiUrl(`space?${runQuery(runs)}`));
      sentence.querySelector(".frees").textContent = `This frees ${formatBytes(reclaimable)} and cannot be undone.`;
    } catch (error) {
      sentence.querySelector(".frees").textContent = error.message;
    }
  }

  /** The row of a run, which may be listed in the row of a comparison. */
  rowOf(run) {
    const rows = [...this.history.rows.values()];
    return this.history.rows.get(run)?.row ?? rows.flatMap(({ subRuns }) => subRuns ?? []).find((each) => each.run === run);
  }

  /** Unpin runs, then confirm their deletion. */
  async unpin(rows) {
    for (const row of rows) await this.history.actions.pin(row);
    await this.confirm();
  }

  async remove(runs) {
    const openRun = runs.includes(currentRun.id) ? currentRun.id : null;
    if (openRun) showRun(null); // stop following a run that is being deleted
    this.bar.replaceChildren(h("p", {}, "Deleting…"));
    try {
      const { freed } = await fetchJson(apiUrl(`runs?${runQuery(runs)}`), { method: "DELETE" });
      for (const run of runs) this.history.rows.delete(run);
      for (const item of this.history.rows.values()) item.subRuns = item.subRuns?.filter(({ run }) => !runs.includes(run));
      this.history.showMessage(`Deleted ${plural(runs.length, "run")}. ${formatBytes(freed)} freed.`);
      emit("deleted", runs);
    } catch (error) {
      this.history.showMessage(error.message);
      if (openRun) showRun(openRun);
    }
    this.returnFocus = null;
    this.cancel();
    this.history.reload();
  }
}

const runQuery = (runs) => new URLSearchParams(runs.map((run) => ["run", run]));
