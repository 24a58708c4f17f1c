// Search in a file that is only partly loaded: the server searches, part by part.

import { formatNumber } from "../core/format.js";
import { FindBar } from "../core/widgets/find_bar.js";

/**
 * Subclasses implement `bounds()`: begin, current place and end of the file; `ask(start, stop)`, which
 * returns `matches` and the `next` place; `compare(a, b)` for two matches; `reveal(match)`, which scrolls to
 * one; and `mark()`, which marks all matches and the current one.
 */
export class PartSearch extends FindBar {
  constructor(label, back, maxMatches) {
    super(label, { back, matchCase: true });
    this.maxMatches = maxMatches;
    this.request = 0;
    this.reset("");
  }

  reset(query) {
    this.query = query;
    this.matches = [];
    this.current = -1;
    this.searched = 0;
    this.more = false;
    this.done = !query;
    return ++this.request;
  }

  clear() {
    this.reset("");
    this.showStatus();
    this.mark();
  }

  /** Search from the view to the end of the file, then the part before. */
  async search() {
    const request = this.reset(this.field.value);
    this.showStatus();
    this.mark();
    if (!this.query) return;
    const [begin, place, end] = this.bounds();
    try {
      for (const [start, stop] of [
        [place, end],
        [begin, place],
      ]) {
        for await (const found of this.searchPart(start, stop, request)) {
          if (this.current < 0 && found.length) await this.showMatch(this.matches.indexOf(found[0]));
          this.showStatus();
        }
      }
    } catch (error) {
      if (request === this.request) this.status.textContent = error.message;
      return;
    }
    if (request !== this.request) return;
    this.done = true;
    this.showStatus();
  }

  async *searchPart(start, stop, request) {
    const before = this.searched;
    const from = start;
    while (start < stop && request === this.request) {
      const { matches, next } = await this.ask(start, stop);
      if (request !== this.request) return;
      const current = this.matches[this.current];
      this.matches = [...this.matches, ...matches].sort(this.compare);
      if (current !== undefined) this.current = this.matches.indexOf(current);
      this.searched = before + next - from;
      this.more = this.matches.length >= this.maxMatches;
      yield matches;
      if (next <= start || this.more) return;
      start = next;
    }
  }

  showStatus() {
    const { length } = this.matches;
    const [begin, , end] = this.query ? this.bounds() : [0, 0, 0];
    const percent = end > begin ? Math.min(100, Math.floor((100 * this.searched) / (end - begin))) : 100;
    const progress = this.done || this.more ? "" : ` · ${percent}% searched`;
    const total = `${formatNumber(length)}${this.more ? "+" : ""}`;
    if (!this.query) this.status.textContent = "";
    else if (length) this.status.textContent = `${formatNumber(this.current + 1)} of ${total}${progress}`;
    else this.status.textContent = this.done ? "No matches" : `searching${progress}`;
    this.status.classList.toggle("no-matches", Boolean(this.query) && this.done && !length);
  }

  async move(by) {
    clearTimeout(this.timer);
    if (this.field.value !== this.query) return this.search();
    const { length } = this.matches;
    if (length) await this.showMatch((this.current + by + length) % length);
    return this.showStatus();
  }

  async showMatch(index) {
    this.current = index;
    await this.reveal(this.matches[index]);
  }

  bounds() {
    return [0, 0, 0];
  }

  /** @returns {Promise<{ matches: any[], next: number }>} */
  async ask(_start, stop) {
    return { matches: [], next: stop };
  }

  compare(a, b) {
    return a - b;
  }

  async reveal(_match) {}

  mark() {}
}
