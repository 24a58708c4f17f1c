// Search in a text: the server finds the offsets, the page their places in the loaded rows.

import { PartSearch } from "../part_search.js";

const MAX_MATCHES = 10_000; // matches; refine more frequent words
const MAX_HIGHLIGHTS = 2000; // highlights on the page

export class TextSearch extends PartSearch {
  constructor(reader) {
    super("Find in this file", reader.element, MAX_MATCHES);
    this.reader = reader;
  }

  bounds() {
    const { reader } = this;
    return [reader.bomLength, reader.top().offset, reader.size];
  }

  ask(start, stop) {
    return this.reader.ask({ find: this.query, match_case: this.matchesCase ? 1 : 0, start, stop });
  }

  async reveal(offset) {
    const row = await this.reader.scrollTo(offset);
    this.mark();
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
  mark() {
    if (!this.query) return highlight(null, []);
    if (this.element.hidden) return undefined;
    this.highlights = [];
    for (const page of this.reader.pages) {
      for (const row of page.element.children) {
        if (this.highlights.length < MAX_HIGHLIGHTS) this.highlights.push(...this.ranges(row));
      }
    }
    const offset = this.matches[this.current];
    const row = offset === undefined ? null : this.reader.rowAt(offset);
    return highlight(row && this.rangeAt(row, offset), this.highlights);
  }
}

function highlight(range, all) {
  if (!globalThis.CSS?.highlights) return;
  CSS.highlights.set("in-file", new Highlight(...all));
  const current = new Highlight(...(range ? [range] : []));
  current.priority = 1;
  CSS.highlights.set("in-file-current", current);
}
