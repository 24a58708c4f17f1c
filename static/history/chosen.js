// What is done with the runs that are chosen in the list: deleted, once a person has said so twice.

import { h } from "../dom.js";
import { titleOf } from "../entry.js";
import { bytes, plural } from "../format.js";
import { api, ask, attach, emit, session } from "../session.js";

export class Chosen {
  /**
   * The bar below the list. `history` gives `rows` (by run), `field`, `acts`, `begin()` and `say()`;
   * `changed` is called whenever other runs are chosen.
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

  /** Show the bar while anything is chosen, with what can be done. */
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
      h("button", { type: "button", class: "plain", onclick: () => this.confirm() }, "Delete …"),
      h("button", { type: "button", class: "plain", onclick: () => this.release() }, "Clear"));
  }

  release() {
    this.choose([]);
    this.bar.replaceChildren();
    (this.back ?? this.history.field).focus();
  }

  /** Ask before deleting, with what it frees; what is at work is not deleted. */
  async confirm() {
    const runs = [...this.runs];
    if (!runs.length) return;
    const rows = runs.map((run) => this.history.rows.get(run)?.row).filter(Boolean);
    this.back = this.history.rows.get(runs[0])?.element.querySelector(".open");
    const keep = h("button", { type: "button", class: "plain keep", onclick: () => this.release() }, "Keep");
    const what = rows.length === 1 ? `“${clip(titleOf(rows[0]))}”` : plural(rows.length, "run");
    if (rows.some(({ alive }) => alive)) {
      const which = rows.length === 1 ? `${what} is at work` : "One of them is at work";
      this.bar.replaceChildren(h("p", {}, `${which}. Stop it first, then delete it.`), keep);
      return keep.focus();
    }
    const pinned = rows.filter((row) => row.pinned);
    if (pinned.length) {
      const which = rows.length === 1 ? `${what} is pinned` : `${plural(pinned.length, "run")} of them ${pinned.length === 1 ? "is" : "are"} pinned`;
      const unpin = h("button", { type: "button", class: "plain", onclick: () => this.unpin(pinned) }, "Unpin …");
      this.bar.replaceChildren(h("p", {}, `${which}. Unpin ${pinned.length === 1 ? "it" : "them"} first, then delete.`), unpin, keep);
      return keep.focus();
    }
    const sentence = h("p", {}, `Delete ${what} with all files? `, h("span", { class: "frees dim" }, "…"));
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

  /** Let go of pinned runs, then ask whether they are to be deleted. */
  async unpin(rows) {
    for (const row of rows) await this.history.acts.pin(row);
    await this.confirm();
  }

  async remove(runs) {
    const shown = runs.includes(session.run) ? session.run : null;
    if (shown) attach(null); // nobody follows what is being removed
    this.bar.replaceChildren(h("p", {}, "Deleting …"));
    try {
      const { freed } = await ask(api(`runs?${several(runs)}`), { method: "DELETE" });
      for (const run of runs) this.history.rows.delete(run);
      this.history.say(`Deleted ${plural(runs.length, "run")}; ${bytes(freed)} are free again.`);
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
