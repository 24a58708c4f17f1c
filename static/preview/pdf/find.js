// Search in a PDF: the server searches some pages per request.

import { h, icon } from "../../core/dom.js";
import { formatNumber, plural } from "../../core/format.js";

const TYPING_MS = 200; // ms after the last keystroke
const MAX_MATCHES = 5000; // matches

export class PdfSearch {
  constructor(pages) {
    this.pages = pages;
    this.matches = [];
    this.current = -1;
    this.request = 0;
    const tool = (name, label, act) => h("button", { type: "button", class: "quiet icon-button", "aria-label": label, title: label, onclick: act }, icon(name));
    this.field = h("input", { type: "search", "aria-label": "Find in this PDF", placeholder: "Find in this PDF", autocomplete: "off", spellcheck: "false" });
    this.status = h("span", { class: "match-count num", role: "status" });
    this.case = h(
      "button",
      { type: "button", class: "quiet match-case", "aria-pressed": "false", "aria-label": "Match case", title: "Match case", onclick: () => this.toggle() },
      "Aa",
    );
    this.element = h(
      "div",
      { class: "search", role: "search", hidden: true },
      icon("find"),
      this.field,
      this.status,
      this.case,
      tool("up", "Previous match", () => this.move(-1)),
      tool("down", "Next match", () => this.move(1)),
      tool("close", "Close find", () => this.close()),
    );
    this.field.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.search(), TYPING_MS);
    });
    this.element.addEventListener("keydown", (event) => this.onKey(event));
  }

  onKey(event) {
    if (event.key === "Escape") this.close();
    else if (event.key === "Enter" && event.target === this.field) this.move(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation(); // Escape would stop the run
  }

  open() {
    this.element.hidden = false;
    const selected = String(getSelection()).trim();
    if (selected && selected.length < 100 && !selected.includes("\n")) this.field.value = selected;
    this.field.focus();
    this.field.select();
    if (this.field.value) this.search();
  }

  close() {
    clearTimeout(this.timer);
    this.request += 1;
    this.element.hidden = true;
    this.clear();
    this.pages.element.focus({ preventScroll: true });
  }

  clear() {
    this.matches = [];
    this.current = -1;
    this.status.textContent = "";
    this.status.classList.remove("no-matches");
    this.pages.setMatches(new Map(), null);
  }

  toggle() {
    this.case.setAttribute("aria-pressed", String(this.case.ariaPressed !== "true"));
    this.search();
  }

  /** Search all pages, starting at the current one. */
  async search() {
    const request = ++this.request;
    this.clear();
    const query = this.field.value.trim();
    if (!query) return;
    const start = this.pages.current;
    for (const [from, to] of [
      [start, this.pages.count],
      [0, start],
    ]) {
      for (let at = from; at !== null && at < to && this.matches.length < MAX_MATCHES; ) {
        const answer = await this.ask(query, at);
        if (request !== this.request) return;
        if (!answer) return void (this.status.textContent = "Search failed");
        this.add(answer.matches.filter(([page]) => page < to));
        at = answer.next;
        this.showStatus(at === null || at >= to ? null : at);
      }
    }
    this.showStatus(null, true);
  }

  ask(query, start) {
    const matchCase = this.case.ariaPressed === "true" ? { match_case: 1 } : {};
    return this.pages.file.ask({ as: "pdf", find: query, start, ...matchCase }).catch(() => null);
  }

  add(found) {
    if (!found.length) return;
    const added = found.map(([at, boxes]) => ({ at, boxes }));
    const current = this.matches[this.current];
    this.matches = [...this.matches, ...added].sort((a, b) => a.at - b.at);
    const byPage = new Map();
    for (const match of this.matches) byPage.set(match.at, [...(byPage.get(match.at) ?? []), match]);
    this.byPage = byPage;
    if (current) this.current = this.matches.indexOf(current);
    else this.showMatch(this.matches.indexOf(added[0]));
    this.pages.setMatches(byPage, this.matches[this.current]);
  }

  showStatus(page, done = false) {
    const count = this.matches.length;
    const total = count >= MAX_MATCHES ? `${formatNumber(MAX_MATCHES)}+` : formatNumber(count);
    const progress = done ? "" : page === null ? "…" : `… page ${formatNumber(page + 1)}`;
    this.status.textContent = count ? `${formatNumber(this.current + 1)} of ${total}${progress}` : done ? "No matches" : `searching${progress}`;
    this.status.classList.toggle("no-matches", done && !count);
    this.progress = progress;
    this.status.title = plural(count, "match", "matches");
  }

  move(by) {
    if (!this.matches.length) return void (this.field.value && this.search());
    this.showMatch((this.current + by + this.matches.length) % this.matches.length);
    this.status.textContent = this.status.textContent.replace(/^[\d,]+/, formatNumber(this.current + 1));
  }

  showMatch(at) {
    this.current = at;
    const match = this.matches[at];
    this.pages.goTo(match.at, match.boxes[0]?.[1] ?? 0);
    this.pages.setMatches(this.byPage, match);
  }
}
