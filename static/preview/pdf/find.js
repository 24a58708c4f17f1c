// Search in a PDF: the server searches some pages per request.

import { PartSearch } from "../part_search.js";

const MAX_MATCHES = 5000; // matches

export class PdfSearch extends PartSearch {
  constructor(pages) {
    super("Find in this PDF", pages.element, MAX_MATCHES);
    this.pages = pages;
  }

  bounds() {
    return [0, this.pages.current, this.pages.count];
  }

  async ask(start, stop) {
    const { matches, next } = await this.pages.file.ask({ as: "pdf", find: this.query, start, match_case: this.matchesCase ? 1 : 0 });
    return { matches: matches.filter(([page]) => page < stop).map(([at, boxes]) => ({ at, boxes })), next: Math.min(next ?? stop, stop) };
  }

  compare(a, b) {
    return a.at - b.at;
  }

  async reveal(match) {
    this.pages.goTo(match.at, match.boxes[0]?.[1] ?? 0);
    this.mark();
  }

  showStatus() {
    super.showStatus();
    this.mark();
  }

  mark() {
    this.pages.setMatches(
      Map.groupBy(this.matches, ({ at }) => at),
      this.matches[this.current],
    );
  }
}
