// Actions on one run of the list, by pointer or keyboard: open, pin, rename.

import { rename } from "./run_row.js";
import { api, ask, attach } from "../core/session.js";
import { fill } from "./rows.js";

export class Acts {
  /**
   * Listens on the rows. `history` provides `dialog`, `body`, `field`, `rows` (by run), `chosen`,
   * `begin()`, `say()` and `drawn()`; `retitle(run, title)` renames a run.
   */
  constructor(history, retitle) {
    Object.assign(this, { history, retitle });
    history.dialog.addEventListener("keydown", (event) => this.key(event));
    history.body.addEventListener("click", (event) => this.clicked(event));
    history.body.addEventListener("change", (event) => this.ticked(event));
  }

  clicked(event) {
    const entry = event.target.closest(".entry");
    if (!entry) return;
    const { row } = this.history.rows.get(entry.dataset.run);
    if (event.target.closest(".pin")) this.pin(row);
    else if (event.target.closest(".pen")) this.rename(row);
    else if (event.target.closest(".bin")) this.history.chosen.choose([row.run]);
    else if (event.target.closest("a.open") && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
      event.preventDefault();
      if (!row.problem) this.show(row.run);
      else this.history.say(`${row.problem} It can be deleted.`);
    }
  }

  ticked(event) {
    const { run } = event.target.closest(".entry").dataset;
    this.history.chosen.toggle(run, event.target.checked);
  }

  show(run) {
    this.history.dialog.close();
    attach(run);
  }

  async pin(row) {
    try {
      const told = await ask(api(`runs/${row.run}`), { method: "PATCH", body: JSON.stringify({ pinned: !row.pinned }) });
      this.known(row.run, { pinned: told.pinned });
    } catch (error) {
      this.history.say(error.message);
    }
  }

  rename(row) {
    const known = this.history.rows.get(row.run);
    if (row.problem) return;
    known.renaming = true;
    const title = known.element.querySelector(".open .title");
    rename(title, row.title, async (text) => {
      try {
        await this.retitle(row.run, text);
      } catch (error) {
        this.history.say(error.message);
      }
    });
    title.querySelector("input").addEventListener("blur", () => {
      known.renaming = false;
    });
  }

  renamed({ run, title, own, elsewhere }) {
    const known = this.known(run, { title, renamed: own });
    if (!known) return;
    known.renaming = false;
    if (!elsewhere) known.element.querySelector(".open").focus();
  }

  /** Update the known data of a run, if it is in the list. */
  known(run, changed) {
    const known = this.history.rows.get(run);
    if (!known) return null;
    known.row = { ...known.row, ...changed };
    fill(known.element, known.row, this.history.drawn(known.row));
    return known;
  }

  key(event) {
    const { field, chosen, body } = this.history;
    if (event.key === "Escape" && field === event.target && field.value) {
      event.preventDefault();
      field.value = "";
      return this.history.begin();
    }
    if (event.key === "Escape" && chosen.size) {
      event.preventDefault();
      return chosen.release();
    }
    const entry = event.target.closest(".entry");
    const all = [...body.querySelectorAll(".entry")];
    const at = all.indexOf(entry);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: entry && 0, End: entry && all.length - 1 }[event.key];
    if (to !== undefined && (entry || event.target === field)) {
      event.preventDefault();
      return (to < 0 ? field : all[Math.min(to, all.length - 1)]?.querySelector(".open"))?.focus();
    }
    if (entry) this.act(event, entry);
  }

  act(event, entry) {
    if (!event.target.matches(".open")) return;
    const { chosen, rows } = this.history;
    const { row } = rows.get(entry.dataset.run);
    if (event.key === "p" && !row.draft) this.pin(row);
    else if (event.key === "F2" && !row.draft) this.rename(row);
    else if (event.key === "Delete") chosen.size > 1 && chosen.has(row.run) ? chosen.confirm() : chosen.choose([row.run]);
    else if (event.key === " ") entry.querySelector("input[type=checkbox]").click();
    else return;
    event.preventDefault();
  }
}
