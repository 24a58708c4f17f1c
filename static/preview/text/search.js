// Search in a text that is only partly loaded: the server searches, part by part.

import { formatNumber } from "../../core/format.js";
import { FindBar } from "../../core/widgets/find_bar.js";

const MAX_MATCHES = 10_000; // matches; refine more frequent words
const MAX_HIGHLIGHTS = 2000; // highlights on the page

export class TextSearch extends FindBar {
  constructor(reader) {
    super("Find in this file", { back: reader.element, matchCase: true });
    this.reader = reader;
    this.matches = [];
    this.query = "";
    this.request = 0;
    this.current = -1;
  }

  clear() {
    this.request++;
    this.query = "";
    this.matches = [];
    highlight(null, []);
  }

  /** Search from the view to the end of the file, then the part before. */
  async search() {
    const request = ++this.request;
    this.query = this.field.value;
    this.matches = [];
    this.current = -1;
    this.searched = 0;
    this.more = false;
    this.done = !this.query;
    this.showStatus();
    this.highlightPages();
    if (!this.query) return;
    const { size, bomLength: begin } = this.reader;
    const viewStart = this.reader.top().offset;
    try {
      for (const [start, stop] of [
        [viewStart, size],
        [begin, viewStart],
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
    while (start < stop && request === this.request) {
      const { matches, next } = await this.reader.ask({ find: this.query, match_case: this.matchesCase ? 1 : 0, start, stop });
      if (request !== this.request || this.reader.closed) return;
      const current = this.matches[this.current];
      this.matches = [...this.matches, ...matches].sort((a, b) => a - b);
      if (this.current >= 0) this.current = this.matches.indexOf(current);
      this.searched = before + next - start;
      this.more = this.matches.length >= MAX_MATCHES;
      yield matches;
      if (next <= start || this.more) return;
      start = next;
    }
  }

  showStatus() {
    const { length } = this.matches;
    const percent = this.reader.size ? Math.floor((100 * this.searched) / this.reader.size) : 100;
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
    const offset = this.matches[index];
    const row = await this.reader.scrollTo(offset);
    this.highlightPages();
    const range = row && this.rangeAt(row, offset);
    if (!range) return;
    const [box, view] = [range.getBoundingClientRect(), this.reader.element.getBoundingClientRect()];
    if (box.right > view.right || box.left < view.left) this.reader.element.scrollLeft += box.left - view.left - view.width / 2;
    if (box.top < view.top || box.bottom > view.bottom) this.reader.element.scrollTop += box.top - view.top - view.height / 3;
    highlight(range, this.highlights);
  }

  /** The range of a match: the match at an offset is the n-th of its row. */
  rangeAt(row, offset) {
    const page = this.reader.pages.find((each) => each.element === row.parentElement);
    const begin = page.offsets[[...page.element.children].indexOf(row)];
    const before = this.matches.filter((match) => match >= begin && match < offset).length;
    return this.ranges(row)[before];
  }

  ranges(root) {
    const found = [];
    const normalize = (text) => {
      const lowered = text.toLowerCase();
      return this.matchesCase || lowered.length !== text.length ? text : lowered;
    };
    const query = normalize(this.query);
    const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const parts = [];
    let text = "";
    while (nodes.nextNode()) {
      if (nodes.currentNode.parentElement.classList.contains("invisible")) continue;
      parts.push([text.length, nodes.currentNode]);
      text += /** @type {Text} */ (nodes.currentNode).data;
    }
    text = normalize(text);
    const nodeAt = (offset) => parts.findLast(([start]) => start <= offset);
    for (let at = text.indexOf(query); at >= 0 && found.length < MAX_HIGHLIGHTS; at = text.indexOf(query, at + query.length)) {
      const range = new Range();
      const [[start, first], [end, last]] = [nodeAt(at), nodeAt(at + query.length - 1)];
      range.setStart(first, at - start);
      range.setEnd(last, at + query.length - end);
      found.push(range);
    }
    return found;
  }

  /** Highlight the matches in the loaded pages. */
  highlightPages() {
    if (this.element.hidden) return;
    this.highlights = [];
    if (this.query) {
      for (const page of this.reader.pages) {
        for (const row of page.element.children) {
          if (this.highlights.length < MAX_HIGHLIGHTS) this.highlights.push(...this.ranges(row));
        }
      }
    }
    const offset = this.matches[this.current];
    const row = offset === undefined ? null : this.reader.rowAt(offset);
    highlight(row && this.rangeAt(row, offset), this.highlights);
  }
}

function highlight(range, all) {
  if (!globalThis.CSS?.highlights) return;
  CSS.highlights.set("in-file", new Highlight(...all));
  const current = new Highlight(...(range ? [range] : []));
  current.priority = 1;
  CSS.highlights.set("in-file-current", current);
}
