// Search in a run: the server searches all of it, the page steps through the matches.

import { h } from "../core/dom.js";
import { formatNumber, plural } from "../core/format.js";
import { fetchJson } from "../core/loading/fetch.js";
import { FindBar } from "../core/widgets/find_bar.js";
import { Highlights, matchRanges, toRange } from "../core/widgets/highlights.js";

export class RunSearch extends FindBar {
  /** `goTo(place)` scrolls to a location and returns its element. */
  constructor(run, box, thread, goTo) {
    super("Find in run", { back: thread, element: box });
    this.run = run;
    this.thread = thread;
    this.goTo = goTo;
    this.matches = [];
    this.query = "";
    this.current = 0;
    this.highlights = new Highlights("found");
    this.context = h("span", { class: "line" });
    box.append(this.context);
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || !run.started) return;
      if (/** @type {Element} */ (event.target).closest?.("input, textarea, select, [contenteditable], [role=dialog]")) return;
      event.preventDefault();
      this.open();
    });
  }

  clear() {
    this.query = "";
    this.matches = [];
    this.highlights.clear();
  }

  /** Search for the current text and show the first match. */
  async search() {
    this.current = 0;
    if (await this.fetch()) await this.show();
  }

  async move(by) {
    clearTimeout(this.timer);
    if (this.field.value !== this.query) return this.search();
    if (this.run.running && !(await this.fetch())) return undefined; // new events may contain matches
    const { length } = this.matches;
    if (length) this.current = (this.current + by + length) % length;
    return this.show();
  }

  /** Fetch the matches of the current text; return whether they are up to date. */
  async fetch() {
    const query = this.field.value;
    this.query = query;
    try {
      const { matches } = query ? await fetchJson(this.run.url(`find?q=${encodeURIComponent(query)}`)) : { matches: [] };
      if (query !== this.query) return false;
      this.matches = matches;
    } catch {
      this.status.textContent = "Search failed";
      return false;
    }
    return true;
  }

  async show() {
    const { matches, current, query } = this;
    this.highlights.clear();
    this.status.textContent = !query ? "" : matches.length ? `${formatNumber(current + 1)} of ${plural(matches.length, "match", "matches")}` : "No matches";
    this.status.classList.toggle("no-matches", Boolean(query) && !matches.length);
    this.context.textContent = matches.length ? `${describeLocation(matches[current])}: ${matches[current].line}` : "";
    for (const each of this.thread.children) this.highlight(each);
    if (!matches.length) return;
    const element = await this.goTo(matches[current]);
    if (element && this.query === query) this.scrollToMatch(element);
  }

  /** Highlight the matches in an element added to the page. */
  highlight(element) {
    if (!this.query || this.element.hidden) return;
    for (const range of matchRanges(element, this.query)) this.highlights.add(range);
  }

  /** Scroll to the first match in a location. */
  scrollToMatch(element) {
    const ranges = [...matchRanges(element, this.query)].map(toRange);
    const holder = (range) => range.startContainer.parentElement;
    const visible = ranges.filter((each) => holder(each).closest("details:not([open])") || each.getClientRects().length);
    const range = visible.find((each) => !holder(each).closest("summary")) ?? visible[0];
    if (!range) return;
    const details = holder(range).closest("summary") ? null : holder(range).closest("details");
    if (details) details.open = true;
    const text = holder(range).closest("pre");
    if (text) text.scrollTop += range.getBoundingClientRect().top - text.getBoundingClientRect().top - 40;
    const [match, view] = [range.getBoundingClientRect(), this.thread.getBoundingClientRect()];
    if (match.top < view.top || match.bottom > view.bottom) this.thread.scrollTop += match.top - view.top - 80;
  }
}

function describeLocation({ part, step }) {
  if (part === "step") return `step ${step}`;
  return part === "asked" ? "task" : "answer";
}
