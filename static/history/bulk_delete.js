// Deletion of the runs selected in the list, after a confirmation.

import { h } from "../core/dom.js";
import { titleOf } from "./run_row.js";
import { bytes, number, plural } from "../core/format.js";
import { api, ask, attach, emit, session } from "../core/session.js";

export class Chosen {
  /**
   * The bar below the list. `history` provides `rows` (by run), `field`, `acts`, `begin()` and
   * `say()`; `changed` is called when the selection changes.
   */
  constructor(history, changed) {
    Object.assign(this, { history, changed, runs: new Set() });
    this.bar = h("div", { class: "bulk", hidden: true });
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

  forget(run) {
    this.runs.delete(run);
  }

  toggle(run, on) {
    if (on) this.runs.add(run);
    else this.runs.delete(run);
    this.changed();
  }

  choose(runs) {
    this.runs = new Set(runs);
    for (const [run, { element }] of this.history.rows) element.querySelector("input[type=checkbox]").checked = this.has(run);
    this.changed();
    this.confirm();
  }

  /** Show the bar and its actions while runs are selected. */
  settle(offered) {
    this.bar.hidden = !this.size;
    if (!this.size) this.bar.dataset.of = "";
    else if (offered) this.offer();
  }

  offer() {
    const of = [...this.runs].join();
    if (this.bar.dataset.of === of) return;
    this.bar.dataset.of = of;
    this.bar.replaceChildren(h("p", {}, `${plural(this.size, "run")} selected`),
      h("button", { type: "button", class: "plain", onclick: () => this.confirm() }, "Delete…"),
      h("button", { type: "button", class: "plain", onclick: () => this.release() }, "Clear selection"));
  }

  release() {
    this.choose([]);
    this.bar.replaceChildren();
    (this.back ?? this.history.field).focus();
  }

  /** Confirm the deletion and show the space it frees; active runs are not deleted. */
  async confirm() {
    const runs = [...this.runs];
    if (!runs.length) return;
    const rows = runs.map((run) => this.history.rows.get(run)?.row).filter(Boolean);
    this.back = this.history.rows.get(runs[0])?.element.querySelector(".open");
    const keep = h("button", { type: "button", class: "plain keep", onclick: () => this.release() }, "Cancel");
    const what = rows.length === 1 ? `“${clip(titleOf(rows[0]))}”` : plural(rows.length, "run");
    if (rows.some(({ alive }) => alive)) {
      const which = rows.length === 1 ? `${what} is still running` : "One of them is still running";
      this.bar.replaceChildren(h("p", {}, `${which}. Stop it before you delete it.`), keep);
      return keep.focus();
    }
    const pinned = rows.filter((row) => row.pinned);
    if (pinned.length) {
      const which = rows.length === 1 ? `${what} is pinned` : `${number(pinned.length)} of them ${pinned.length === 1 ? "is" : "are"} pinned`;
      const unpin = h("button", { type: "button", class: "plain", onclick: () => this.unpin(pinned) }, "Unpin…");
      this.bar.replaceChildren(h("p", {}, `${which}. Unpin ${pinned.length === 1 ? "it" : "them"} first.`), unpin, keep);
      return keep.focus();
    }
    const sentence = h("p", {}, `Delete ${what} and all files? `, h("span", { class: "frees dim" }, "…"));
    const sure = h("button", { type: "button", class: "plain danger", onclick: () => this.remove(runs) }, "Delete");
    this.bar.replaceChildren(sentence, sure, keep);
    sure.focus();
    try {
      const { frees } = await ask(api(`space?${several(runs)}`));
      sentence.querySelector(".frees").textContent = `This frees ${bytes(frees)} and cannot be undone.`;
    } catch (error) {
      sentence.querySelector(".frees").textContent = error.message;
    }
  }

  /** Unpin runs, then confirm their deletion. */
  async unpin(rows) {
    for (const row of rows) await this.history.acts.pin(row);
    await this.confirm();
  }

  async remove(runs) {
    const shown = runs.includes(session.run) ? session.run : null;
    if (shown) attach(null); // stop following a run that is being deleted
    this.bar.replaceChildren(h("p", {}, "Deleting…"));
    try {
      const { freed } = await ask(api(`runs?${several(runs)}`), { method: "DELETE" });
      for (const run of runs) this.history.rows.delete(run);
      this.history.say(`Deleted ${plural(runs.length, "run")}. ${bytes(freed)} freed.`);
      emit("deleted", runs);
    } catch (error) {
      this.history.say(error.message);
      if (shown) attach(shown);
    }
    this.back = null;
    this.release();
    this.history.begin();
  }
}

const several = (runs) => new URLSearchParams(runs.map((run) => ["run", run]));

const clip = (title) => (title.length > 60 ? `${title.slice(0, 59)}…` : title);
