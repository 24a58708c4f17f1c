// The user's runs and drafts: search, open, rename, delete.

import { h, icon, iconButton } from "../core/dom.js";
import { draftRow, runDuration } from "../core/run/run_summary.js";
import { formatBytes, plural } from "../core/format.js";
import { RowActions } from "./row_actions.js";
import { RunSelection } from "./bulk_delete.js";
import { fillPinnedCards } from "./pinned_cards.js";
import { arrangeRows, compareRows, updateRow, createRow } from "./run_list.js";
import { groupRow } from "./group_row.js";
import { TraceImport } from "./import_traces.js";
import { apiUrl, emit, on } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";

const PAGE_SIZE = 50;
const TYPING_MS = 150; // milliseconds
const ACTIVE_REFRESH_MS = 2000; // ms, while a run is active
const IDLE_REFRESH_MS = 10_000;
const SHORTCUT = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘ K" : "Ctrl K";
const SEARCHED_FIELDS = "titles, conversations, commands, outputs, models and file names";

export const listRuns = (parameters) => fetchJson(apiUrl(`runs?${new URLSearchParams(parameters)}`));

const tabs = new BroadcastChannel("renamed"); // other tabs of this browser
tabs.onmessage = ({ data }) => emit("renamed", { ...data, otherTab: true });

/** The comparisons and evaluations of a page of the list, as rows. */
const groupsOf = ({ comparisons = [], evaluations = [] }) => [...comparisons, ...evaluations].map(groupRow);

/** Rename a run and notify all views of its title, including other tabs. */
export async function renameRun(run, title) {
  const saved = await fetchJson(apiUrl(`runs/${run}`), { method: "PATCH", body: JSON.stringify({ title }) });
  const change = { run, title: saved.title, custom: Boolean(title) };
  emit("renamed", change);
  tabs.postMessage(change);
  return saved.title;
}

class HistoryDialog {
  constructor(dialog, button) {
    this.dialog = dialog;
    this.rows = new Map(); // by run: the server's data and the element
    this.selection = new RunSelection(this, () => this.update());
    this.requests = 0;
    this.build();
    this.actions = new RowActions(this, renameRun);
    button.prepend(icon("clock"));
    button.title = `All your runs (${SHORTCUT})`;
    button.setAttribute("aria-keyshortcuts", "Control+K Meta+K");
    button.addEventListener("click", () => this.open());
    document.addEventListener("keydown", (event) => this.shortcut(event));
    on("history", () => this.open());
    on("renamed", (change) => this.actions.onRenamed(change));
  }

  build() {
    this.field = h("input", {
      type: "search",
      placeholder: "Search titles, conversations, outputs, files",
      "aria-label": `Search ${SEARCHED_FIELDS}`,
      title: `Searches ${SEARCHED_FIELDS}`,
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.onInput(),
    });
    this.pinned = false; // whether only pinned runs are listed
    this.pinnedOnly = h(
      "button",
      { class: "quiet only", "aria-pressed": "false", title: "Show only pinned runs", onclick: () => this.filterPinned(!this.pinned) },
      icon("pin"),
      h("span", { class: "hide-small" }, "Pinned"),
    );
    this.status = h("p", { class: "status-line", role: "status" });
    this.body = h("div", { class: "runs", "aria-busy": "true" });
    this.pinnedCards = h("section", { class: "pinned-cards", "aria-label": "Pinned runs", hidden: true });
    this.end = h("div", { class: "end" });
    this.retention = h("p", { class: "retention" });
    this.traces = new TraceImport(this.dialog, { onProgress: (text) => this.showMessage(text), onImported: (runs) => this.onImported(runs) });
    this.scroller = h("div", { class: "scroller" }, this.traces.problems, this.pinnedCards, this.body, this.end, this.retention);
    this.heading = h("h2", { id: "history-title", tabindex: "-1" }, "History");
    const close = iconButton("close", "Close history", () => this.dialog.close(), { class: "quiet" });
    this.dialog.append(
      h("div", { class: "header" }, this.heading, h("label", { class: "search-field" }, icon("find"), this.field), this.pinnedOnly, close),
      h(
        "div",
        { class: "list-status" },
        this.status,
        this.traces.button,
        h("button", { class: "inline", onclick: () => this.showUsage() }, "Storage and limits"),
      ),
      this.scroller,
      this.selection.bar,
    );
    this.more = new IntersectionObserver(([seen]) => seen.isIntersecting && this.next && this.load(), { root: this.scroller, rootMargin: "600px" });
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("close", () => this.onClose());
  }

  shortcut(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
    if (!this.dialog.open && document.querySelector("dialog[open]")) return;
    event.preventDefault();
    if (this.dialog.open) this.dialog.close();
    else this.open();
  }

  open() {
    if (this.dialog.open) return;
    this.onClose(); // its event may come after the dialog was opened again
    this.dialog.showModal();
    this.field.value = "";
    this.setPinned(false);
    (matchMedia("(pointer: fine)").matches ? this.field : this.heading).focus();
    this.clear();
    this.reload();
    this.more.observe(this.end);
    this.clock = setInterval(() => this.tick(), 1000);
  }

  onClose() {
    if (this.dialog.open) return;
    clearInterval(this.clock);
    clearTimeout(this.timer);
    this.more.disconnect();
    this.requests++;
    this.clear();
    this.body.replaceChildren();
  }

  /** List the imported runs, whatever was searched, and focus the newest, which is listed first. */
  async onImported(runs) {
    if (!this.dialog.open) return;
    this.field.value = "";
    this.setPinned(false);
    await this.reload();
    const row = runs.map(({ run }) => this.rows.get(run)).findLast(Boolean);
    row?.element.querySelector(".open")?.focus();
  }

  showUsage() {
    this.dialog.close();
    emit("usage");
  }

  clear() {
    this.rows.clear();
    this.selection.clear();
    this.next = "";
    this.update();
  }

  onInput() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.reload(), TYPING_MS);
  }

  get query() {
    return this.field.value.trim();
  }

  /** Parameters of the list request. */
  get filter() {
    return { q: this.query, ...(this.pinned ? { pinned: 1 } : {}) };
  }

  setPinned(pinned) {
    this.pinned = pinned;
    this.pinnedOnly.setAttribute("aria-pressed", String(pinned));
  }

  filterPinned(pinned) {
    this.setPinned(pinned);
    this.reload();
  }

  /** Reload the first page: add new runs and remove deleted ones. */
  async reload() {
    clearTimeout(this.timer);
    const request = ++this.requests;
    const { query, filter } = this;
    this.showPinnedCards();
    try {
      const page = await listRuns({ ...filter, limit: PAGE_SIZE });
      if (request !== this.requests) return;
      const unchanged = JSON.stringify(filter) === JSON.stringify(this.shownFilter);
      this.shownQuery = query;
      this.shownFilter = filter;
      this.skew = page.now - Date.now() / 1000;
      const last = page.next ? page.runs.at(-1) : null;
      const drafts = (page.drafts ?? []).map(draftRow);
      const present = new Set([...page.runs, ...groupsOf(page), ...drafts].map(({ run }) => run));
      for (const [run, { row }] of this.rows) {
        if (unchanged && (present.has(run) || (last && !row.draft && compareRows(last, row) < 0))) continue;
        this.rows.delete(run);
        if (unchanged) this.selection.deselect(run);
      }
      if (!unchanged || this.rows.size <= PAGE_SIZE) this.next = page.next;
      this.drafts = drafts;
      this.addPage({ ...page, runs: [...drafts, ...page.runs] });
      if (!unchanged) this.scroller.scrollTop = 0;
    } catch (error) {
      if (request === this.requests) this.showError(error);
    }
    if (request === this.requests) this.scheduleReload();
  }

  /** Pinned runs are cards above the whole list; not above what was searched. */
  async showPinnedCards() {
    if (!this.query && !this.pinned) await fillPinnedCards(this.pinnedCards);
    this.pinnedCards.hidden = Boolean(this.query) || this.pinned || !this.pinnedCards.querySelector(".tile");
  }

  scheduleReload() {
    const running = [...this.rows.values()].some(({ row }) => row.running) || this.indexing;
    this.timer = setTimeout(() => (document.hidden ? this.scheduleReload() : this.reload()), running ? ACTIVE_REFRESH_MS : IDLE_REFRESH_MS);
  }

  async load() {
    if (this.loading) return;
    const [request, before] = [this.requests, this.next];
    this.loading = true;
    try {
      const page = await listRuns({ ...this.shownFilter, limit: PAGE_SIZE, before });
      if (this.next !== before || !this.dialog.open) return;
      this.next = page.next;
      this.addPage(page);
      // IntersectionObserver reports only changes: observe again in case the end is still visible.
      this.more.unobserve(this.end);
      this.more.observe(this.end);
    } catch (error) {
      if (request === this.requests) this.showError(error);
    } finally {
      this.loading = false;
    }
  }

  addPage(page) {
    const { runs, total, size, retention, indexing } = page;
    this.retention.textContent = total ? retention : "";
    for (const row of [...runs, ...groupsOf(page)]) {
      const item = this.rows.get(row.run);
      if (!item) this.rows.set(row.run, { row, element: createRow(row, this.rowOptions(row)) });
      else if (!item.renaming && JSON.stringify(item.row) !== JSON.stringify(row)) {
        item.row = row;
        updateRow(item.element, row, this.rowOptions(row));
      }
    }
    this.total = total;
    this.size = size;
    this.indexing = indexing;
    this.body.removeAttribute("aria-busy");
    this.render();
  }

  showError(error) {
    this.setStatus(error.message);
    if (!this.rows.size) {
      this.body.replaceChildren(
        h(
          "div",
          { class: "empty-message" },
          h("p", {}, "The runs could not be loaded."),
          h("button", { class: "plain", onclick: () => this.reload() }, "Try again"),
        ),
      );
    }
  }

  now() {
    return Date.now() / 1000 + (this.skew ?? 0);
  }

  render() {
    if (!this.rows.size) this.body.replaceChildren(this.emptyMessage());
    else arrangeRows(this.body, this.rows.values(), this.now());
    this.update();
  }

  /** Options for drawing a row, in addition to the server's data. */
  rowOptions(row) {
    const { unfolded, subRuns } = this.rows.get(row.run) ?? {};
    return {
      unfolded,
      subRuns,
      searched: this.shownQuery ?? "",
      selected: this.selection.has(row.run),
      isSelected: (run) => this.selection.has(run),
      now: this.now(),
    };
  }

  /** Draw a row again. */
  redraw(run) {
    const { element, row } = this.rows.get(run) ?? {};
    if (row) updateRow(element, row, this.rowOptions(row));
  }

  emptyMessage() {
    if (this.shownFilter?.pinned && !this.shownQuery)
      return h("div", { class: "empty-message" }, h("p", {}, "No pinned runs."), h("p", {}, "Pinned runs are kept until you unpin or delete them."));
    if (!this.shownQuery && this.indexing)
      return h("div", { class: "empty-message" }, h("p", {}, "Your runs are being indexed…"), h("p", {}, "The newest appear here first."));
    if (!this.shownQuery) return h("div", { class: "empty-message" }, h("p", {}, "No runs yet."), h("p", {}, "Your runs and their files will appear here."));
    if (this.indexing)
      return h("div", { class: "empty-message" }, h("p", {}, "No match so far."), h("p", {}, "Runs are still being indexed. This list will update."));
    return h("div", { class: "empty-message" }, h("p", {}, `No runs match “${this.shownQuery}”.`), h("p", {}, `Searched: ${SEARCHED_FIELDS}.`));
  }

  tick() {
    for (const { row, element } of this.rows.values()) {
      const took = row.running ? element.querySelector(":scope > .open .took") : null;
      if (took) took.textContent = runDuration(row, this.now());
    }
  }

  update() {
    this.body.classList.toggle("choosing", this.selection.size > 0);
    const loaded = this.total !== undefined && this.dialog.open;
    this.selection.update(loaded);
    if (!loaded) return;
    const size = (this.drafts ?? []).reduce((sum, draft) => sum + draft.size, this.size);
    const runs = this.total ? [plural(this.total, "run")] : [];
    const summary = [...runs, ...(this.drafts?.length ? [plural(this.drafts.length, "draft")] : [])].join(", ");
    const suffix = this.shownQuery || this.shownFilter?.pinned ? " found" : "";
    const parts = summary ? [summary + suffix, `${formatBytes(size)} on disk`] : [];
    if (this.indexing) parts.push("still indexing");
    this.setStatus(parts.join(" · "));
  }

  setStatus(text) {
    if (this.status.textContent !== text && !(this.messageUntil > Date.now())) this.status.textContent = text;
  }

  /** Show a message for a while. */
  showMessage(text) {
    this.messageUntil = 0;
    this.setStatus(text);
    this.messageUntil = Date.now() + 6000;
  }
}

export function mountHistory(dialog, button) {
  new HistoryDialog(dialog, button);
}
