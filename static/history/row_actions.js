// Actions on one run of the list, by pointer or keyboard: open, pin, rename.

import { editTitle } from "./run_summary.js";
import { apiUrl, fetchJson, showRun } from "../core/event_stream.js";
import { updateRow } from "./run_list.js";

export class RowActions {
  /**
   * Listens on the rows. `history` provides `dialog`, `body`, `field`, `rows` (by run), `selection`,
   * `reload()`, `showMessage()` and `rowOptions()`; `renameRun(run, title)` renames a run.
   */
  constructor(history, renameRun) {
    Object.assign(this, { history, renameRun });
    history.dialog.addEventListener("keydown", (event) => this.onKey(event));
    history.body.addEventListener("click", (event) => this.onClick(event));
    history.body.addEventListener("change", (event) => this.onCheck(event));
  }

  onClick(event) {
    const entry = event.target.closest(".entry");
    if (!entry) return;
    const { row } = this.history.rows.get(entry.dataset.run);
    if (event.target.closest(".pin")) this.pin(row);
    else if (event.target.closest(".rename")) this.rename(row);
    else if (event.target.closest(".delete")) this.history.selection.select([row.run]);
    else if (event.target.closest("a.open") && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
      event.preventDefault();
      if (!row.error) this.open(row.run);
      else this.history.showMessage(`${row.error} It can be deleted.`);
    }
  }

  onCheck(event) {
    const { run } = event.target.closest(".entry").dataset;
    this.history.selection.toggle(run, event.target.checked);
  }

  open(run) {
    this.history.dialog.close();
    showRun(run);
  }

  async pin(row) {
    try {
      const saved = await fetchJson(apiUrl(`runs/${row.run}`), { method: "PATCH", body: JSON.stringify({ pinned: !row.pinned }) });
      this.updateRow(row.run, { pinned: saved.pinned });
    } catch (error) {
      this.history.showMessage(error.message);
    }
  }

  rename(row) {
    const item = this.history.rows.get(row.run);
    if (row.error) return;
    item.renaming = true;
    const title = item.element.querySelector(".open .title");
    editTitle(title, row.title, async (text) => {
      try {
        await this.renameRun(row.run, text);
      } catch (error) {
        this.history.showMessage(error.message);
      }
    });
    title.querySelector("input").addEventListener("blur", () => {
      item.renaming = false;
    });
  }

  onRenamed({ run, title, custom, otherTab }) {
    const item = this.updateRow(run, { title, renamed: custom });
    if (!item) return;
    item.renaming = false;
    if (!otherTab) item.element.querySelector(".open").focus();
  }

  /** Update the known data of a run, if it is in the list. */
  updateRow(run, changes) {
    const item = this.history.rows.get(run);
    if (!item) return null;
    item.row = { ...item.row, ...changes };
    updateRow(item.element, item.row, this.history.rowOptions(item.row));
    return item;
  }

  onKey(event) {
    const { field, selection, body } = this.history;
    if (event.key === "Escape" && field === event.target && field.value) {
      event.preventDefault();
      field.value = "";
      return this.history.reload();
    }
    if (event.key === "Escape" && selection.size) {
      event.preventDefault();
      return selection.cancel();
    }
    const entry = event.target.closest(".entry");
    const all = [...body.querySelectorAll(".entry")];
    const at = all.indexOf(entry);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: entry && 0, End: entry && all.length - 1 }[event.key];
    if (to !== undefined && (entry || event.target === field)) {
      event.preventDefault();
      return (to < 0 ? field : all[Math.min(to, all.length - 1)]?.querySelector(".open"))?.focus();
    }
    if (entry) this.onRowKey(event, entry);
  }

  onRowKey(event, entry) {
    if (!event.target.matches(".open")) return;
    const { selection, rows } = this.history;
    const { row } = rows.get(entry.dataset.run);
    if (event.key === "p" && !row.draft) this.pin(row);
    else if (event.key === "F2" && !row.draft) this.rename(row);
    else if (event.key === "Delete") selection.size > 1 && selection.has(row.run) ? selection.confirm() : selection.select([row.run]);
    else if (event.key === " ") entry.querySelector("input[type=checkbox]").click();
    else return;
    event.preventDefault();
  }
}
