// Actions on one run of the list, by pointer or keyboard: open, pin, rename.

import { isModified } from "../core/dom.js";
import { editTitle } from "../core/run/run_summary.js";
import { apiUrl, emit, showRun } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { apiPath, GroupActions, isGroup } from "./group_row.js";
import { updateRow } from "./run_list.js";
import { openFamily } from "../fork/family_dialog.js";
import { showView } from "../core/view.js";

export class RowActions {
  /**
   * Listens on the rows. `history` provides `dialog`, `body`, `field`, `rows` (by run), `selection`,
   * `reload()`, `showMessage()` and `rowOptions()`; `renameRun(run, title)` renames a run.
   */
  constructor(history, renameRun) {
    this.history = history;
    this.renameRun = renameRun;
    this.groups = new GroupActions(history);
    history.dialog.addEventListener("keydown", (event) => this.onKey(event));
    history.body.addEventListener("click", (event) => this.onClick(event));
    history.pinnedCards.addEventListener("click", (event) => this.onCard(event));
    history.body.addEventListener("change", (event) => this.onCheck(event));
  }

  onClick(event) {
    const entry = event.target.closest(".entry");
    if (!entry) return;
    const { row } = this.history.rows.get(entry.dataset.run);
    if (isGroup(row) && this.groups.onClick(event, row)) return;
    if (event.target.closest(".pin")) this.pin(row);
    else if (event.target.closest(".rename")) this.rename(row);
    else if (event.target.closest(".relatives")) this.openFamily(row);
    else if (event.target.closest(".delete")) this.history.selection.select([row.run]);
    else if (event.target.closest("a.open") && !isModified(event)) {
      event.preventDefault();
      if (!row.error) this.open(row);
      else this.history.showMessage(`${row.error} It can be deleted.`);
    }
  }

  onCard(event) {
    const { run } = event.target.closest("a.tile")?.dataset ?? {};
    if (!run || isModified(event)) return;
    event.preventDefault();
    this.open({ run });
  }

  onCheck(event) {
    const { run } = event.target.closest("[data-run]").dataset; // of a run in a comparison's row, or of the row
    this.history.selection.toggle(run, event.target.checked);
  }

  /** Open a run, at its search match if there is one. */
  open(row) {
    const { run, match, word } = row;
    this.history.dialog.close();
    if (isGroup(row)) return void showView(row.kind, row.id);
    showRun(run);
    if (match && match.part !== "run") emit("find", word);
  }

  async openFamily({ run }) {
    try {
      await openFamily(run, { onOpen: () => this.history.dialog.close() });
    } catch (error) {
      this.history.showMessage(error.message);
    }
  }

  async pin(row) {
    try {
      const saved = await fetchJson(apiUrl(apiPath(row)), {
        method: "PATCH",
        body: JSON.stringify({ pinned: !row.pinned }),
      });
      if (!this.updateRow(row.run, { pinned: saved.pinned })) row.pinned = saved.pinned; // in a comparison's row
      this.history.showPinnedCards();
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
        if (isGroup(row)) await this.renameGroup(row, text);
        else await this.renameRun(row.run, text);
      } catch (error) {
        this.history.showMessage(error.message);
      }
    });
    title.querySelector("input").addEventListener("blur", () => {
      item.renaming = false;
    });
  }

  async renameGroup(row, title) {
    const saved = await fetchJson(apiUrl(apiPath(row)), { method: "PATCH", body: JSON.stringify({ title }) });
    this.onRenamed({ run: row.run, title: saved.title, custom: Boolean(title) });
  }

  onRenamed({ run, title, custom, otherTab = false }) {
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
    else if (event.key === "c")
      selection.size > 1 ? selection.compare() : this.history.showMessage("Select two runs or more with Space, then press c to compare them.");
    else if (event.key === "f" && (row.parent || row.forked)) this.openFamily(row);
    else if (event.key === "Delete" && isGroup(row)) this.groups.confirmDeletion(row);
    else if (event.key === "ArrowRight" && isGroup(row)) this.groups.unfold(row);
    else if (event.key === "Delete") selection.size > 1 && selection.has(row.run) ? selection.confirm() : selection.select([row.run]);
    else if (event.key === " ") entry.querySelector("input[type=checkbox], .unfold").click();
    else return;
    event.preventDefault();
  }
}
