// The user's runs and drafts: search, open, rename, delete.

import { h, icon } from "../core/dom.js";
import { draftRow, tookOf } from "./run_row.js";
import { bytes, plural } from "../core/format.js";
import { Acts } from "./row_actions.js";
import { Chosen } from "./bulk_delete.js";
import { arrange, fill, made } from "./rows.js";
import { api, ask, emit, on } from "../core/session.js";

const PART = 50;
const TYPING = 150; // milliseconds
const SOON = 2000; // ms, while a run is active
const LATER = 10_000;
const KEYS = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘ K" : "Ctrl K";
const SEARCHED = "titles, tasks, messages, answers, models and file names";

export const list = (asked) => ask(api(`runs?${new URLSearchParams(asked)}`));

const others = new BroadcastChannel("renamed"); // other tabs of this browser
others.onmessage = ({ data }) => emit("renamed", { ...data, elsewhere: true });

/** Rename a run and notify all views of its title, including other tabs. */
export async function retitle(run, title) {
  const told = await ask(api(`runs/${run}`), { method: "PATCH", body: JSON.stringify({ title }) });
  const news = { run, title: told.title, own: Boolean(title) };
  emit("renamed", news);
  others.postMessage(news);
  return told.title;
}

class History {
  constructor(dialog, button) {
    this.dialog = dialog;
    this.rows = new Map(); // by run: the server's data and the element
    this.chosen = new Chosen(this, () => this.settle());
    this.asked = 0;
    this.build();
    this.acts = new Acts(this, retitle);
    button.prepend(icon("clock"));
    button.title = `All your runs (${KEYS})`;
    button.setAttribute("aria-keyshortcuts", "Control+K Meta+K");
    button.addEventListener("click", () => this.open());
    document.addEventListener("keydown", (event) => this.shortcut(event));
    on("history", () => this.open());
    on("renamed", (news) => this.acts.renamed(news));
  }

  build() {
    this.field = h("input", {
      type: "search", placeholder: "Search titles, tasks, answers, models, files", "aria-label": `Search ${SEARCHED}`, title: `Searches ${SEARCHED}`,
      autocomplete: "off", spellcheck: "false", oninput: () => this.typed(),
    });
    this.only = h("button", { type: "button", class: "quiet only", "aria-pressed": "false", title: "Show only pinned runs", onclick: () => this.showOnly(!this.pinned) }, icon("pin"), h("span", { class: "hide-s" }, "Pinned"));
    this.tally = h("p", { class: "tally", role: "status" });
    this.body = h("div", { class: "runs", "aria-busy": "true" });
    this.end = h("div", { class: "end" });
    this.kept = h("p", { class: "kept" });
    this.scroller = h("div", { class: "scroller" }, this.body, this.end, this.kept);
    this.heading = h("h2", { id: "history-title", tabindex: "-1" }, "History");
    const close = h("button", { type: "button", class: "quiet", "aria-label": "Close history", onclick: () => this.dialog.close() }, icon("close"));
    this.dialog.append(
      h("div", { class: "hd" }, this.heading, h("label", { class: "seek" }, icon("find"), this.field), this.only, close),
      h("div", { class: "beneath" }, this.tally, h("button", { type: "button", class: "inline", onclick: () => this.space() }, "Storage and limits")),
      this.scroller, this.chosen.bar);
    this.more = new IntersectionObserver(([seen]) => seen.isIntersecting && this.next && this.load(), { root: this.scroller, rootMargin: "600px" });
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("close", () => this.closed());
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
    this.dialog.showModal();
    this.field.value = "";
    this.only.setAttribute("aria-pressed", "false");
    (matchMedia("(pointer: fine)").matches ? this.field : this.heading).focus();
    this.forget();
    this.begin();
    this.more.observe(this.end);
    this.clock = setInterval(() => this.tick(), 1000);
  }

  closed() {
    clearInterval(this.clock);
    clearTimeout(this.timer);
    this.more.disconnect();
    this.asked++;
    this.forget();
    this.body.replaceChildren();
  }

  space() {
    this.dialog.close();
    emit("usage");
  }

  forget() {
    this.rows.clear();
    this.chosen.clear();
    this.next = "";
    this.settle();
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.begin(), TYPING);
  }

  get words() {
    return this.field.value.trim();
  }

  /** Parameters of the list request. */
  get wanted() {
    return { q: this.words, ...(this.pinned ? { pinned: 1 } : {}) };
  }

  get pinned() {
    return this.only.getAttribute("aria-pressed") === "true";
  }

  showOnly(pinned) {
    this.only.setAttribute("aria-pressed", String(pinned));
    this.begin();
  }

  /** Reload the first page: add new runs and remove deleted ones. */
  async begin() {
    clearTimeout(this.timer);
    const asked = ++this.asked;
    const { words, wanted } = this;
    try {
      const answer = await list({ ...wanted, most: PART });
      if (asked !== this.asked) return;
      const same = JSON.stringify(wanted) === JSON.stringify(this.had);
      this.shown = words;
      this.had = wanted;
      this.skew = answer.now - Date.now() / 1000;
      const bottom = answer.next ? answer.runs.at(-1).at : -Infinity;
      const drafts = (answer.drafts ?? []).map(draftRow);
      const fresh = new Set([...answer.runs, ...drafts].map(({ run }) => run));
      for (const [run, { row }] of this.rows) {
        if (same && (fresh.has(run) || (row.at < bottom && !row.draft))) continue;
        this.rows.delete(run);
        if (same) this.chosen.forget(run);
      }
      if (!same || this.rows.size <= PART) this.next = answer.next;
      this.drafts = drafts;
      this.take({ ...answer, runs: [...drafts, ...answer.runs] });
      if (!same) this.scroller.scrollTop = 0;
    } catch (error) {
      if (asked === this.asked) this.fail(error);
    }
    if (asked === this.asked) this.again();
  }

  again() {
    const alive = [...this.rows.values()].some(({ row }) => row.alive);
    this.timer = setTimeout(() => (document.hidden ? this.again() : this.begin()), alive ? SOON : LATER);
  }

  async load() {
    if (this.loading) return;
    const [asked, before] = [this.asked, this.next];
    this.loading = true;
    try {
      const answer = await list({ ...this.had, most: PART, before });
      if (this.next !== before || !this.dialog.open) return;
      this.next = answer.next;
      this.take(answer);
      // IntersectionObserver reports only changes: observe again in case the end is still visible.
      this.more.unobserve(this.end);
      this.more.observe(this.end);
    } catch (error) {
      if (asked === this.asked) this.fail(error);
    } finally {
      this.loading = false;
    }
  }

  take({ runs, total, size, kept }) {
    this.kept.textContent = total ? kept : "";
    for (const row of runs) {
      const known = this.rows.get(row.run);
      if (!known) this.rows.set(row.run, { row, element: made(row, this.drawn(row)) });
      else if (!known.renaming && JSON.stringify(known.row) !== JSON.stringify(row)) {
        known.row = row;
        fill(known.element, row, this.drawn(row));
      }
    }
    this.total = total;
    this.size = size;
    this.body.removeAttribute("aria-busy");
    this.render();
  }

  fail(error) {
    this.tell(error.message);
    if (!this.rows.size) {
      this.body.replaceChildren(h("div", { class: "none" }, h("p", {}, "The runs could not be loaded."),
        h("button", { type: "button", class: "plain", onclick: () => this.begin() }, "Try again")));
    }
  }

  now() {
    return Date.now() / 1000 + (this.skew ?? 0);
  }

  render() {
    if (!this.rows.size) this.body.replaceChildren(this.nothing());
    else arrange(this.body, this.rows.values(), this.now());
    this.settle();
  }

  /** Options for drawing a row, in addition to the server's data. */
  drawn(row) {
    return { searched: this.shown ?? "", chosen: this.chosen.has(row.run), now: this.now() };
  }

  nothing() {
    if (this.had?.pinned && !this.shown) return h("div", { class: "none" }, h("p", {}, "No pinned runs."), h("p", {}, "Pinned runs are kept until you unpin or delete them."));
    if (!this.shown) return h("div", { class: "none" }, h("p", {}, "No runs yet."), h("p", {}, "Your runs and their files will appear here."));
    return h("div", { class: "none" }, h("p", {}, `No runs match “${this.shown}”.`), h("p", {}, `Searched: ${SEARCHED}.`));
  }

  tick() {
    for (const { row, element } of this.rows.values()) {
      if (row.alive) element.querySelector(".took").textContent = tookOf(row, this.now());
    }
  }

  settle() {
    this.body.classList.toggle("choosing", this.chosen.size > 0);
    const known = this.total !== undefined && this.dialog.open;
    this.chosen.settle(known);
    if (!known) return;
    const size = (this.drafts ?? []).reduce((sum, draft) => sum + draft.size, this.size);
    const runs = this.total ? [plural(this.total, "run")] : [];
    const words = [...runs, ...(this.drafts?.length ? [plural(this.drafts.length, "draft")] : [])].join(", ");
    const found = this.shown || this.had?.pinned ? " found" : "";
    this.tell(`${words}${words && found}${words ? ` · ${bytes(size)} on disk` : ""}`);
  }

  tell(text) {
    if (this.tally.textContent !== text && !(this.said > Date.now())) this.tally.textContent = text;
  }

  /** Show a message for a while. */
  say(text) {
    this.said = 0;
    this.tell(text);
    this.said = Date.now() + 6000;
  }
}

export function mountHistory(dialog, button) {
  new History(dialog, button);
}
