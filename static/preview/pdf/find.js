// Search in a PDF: the server searches some pages per request.

import { formatNumber, plural } from "../../core/format.js";
import { FindBar } from "../../core/widgets/find_bar.js";

const MAX_MATCHES = 5000; // matches

export class PdfSearch extends FindBar {
  constructor(pages) {
    super("Find in this PDF", { back: pages.element, matchCase: true });
    this.pages = pages;
    this.matches = [];
    this.current = -1;
    this.request = 0;
  }

  clear() {
    this.request++;
    this.matches = [];
    this.current = -1;
    this.status.textContent = "";
    this.status.classList.remove("no-matches");
    this.pages.setMatches(new Map(), null);
  }

  /** Search all pages, starting at the current one. */
  async search() {
    this.clear();
    const { request } = this;
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
    const matchCase = this.matchesCase ? { match_case: 1 } : {};
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
