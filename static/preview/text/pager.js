// Text of any size in a scroller: loads pages near the viewport and removes far ones.

import { h } from "../../core/dom.js";
import { copiedText, renderRow } from "./rows.js";

const MAX_PAGES = 8; // pages held in the document
const SCREENS_AHEAD = 1.5; // screens loaded ahead
const END_MARGIN = 24; // pixels from the end that count as the end
const MAX_COUNT_REQUESTS = 60; // requests after which counting is given up

export class TextPager {
  /** `onMove()` is called when the view moves, `onPages()` when pages are added or removed. */
  constructor(file, { onMove = () => {}, onPages = () => {} } = {}) {
    this.file = file;
    this.onMove = onMove;
    this.onPages = onPages;
    this.pages = [];
    this.options = {};
    this.size = 0;
    this.bomLength = 0;
    this.lines = null;
    this.busy = false;
    this.element = h("div", { class: "lines", tabindex: "0", role: "document", "aria-label": `Text of ${file.name}` });
    this.element.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.element.addEventListener("copy", (event) => this.copy(event));
    this.watch = new ResizeObserver(() => this.fill());
    this.watch.observe(this.element);
  }

  close() {
    this.closed = true;
    this.watch.disconnect();
  }

  ask(options) {
    return this.file.ask({ as: "text", ...this.options, ...options });
  }

  /** Start with a page, the first or another. */
  show(page, choice = this.options) {
    this.options = { ...choice, line_ending: page.line_ending };
    if (page.encoding !== "utf-8" || choice.encoding) this.options.encoding = page.encoding;
    this.encoding = page.encoding;
    this.lineEnding = page.line_ending;
    this.counted = new Map([[page.bom_length, 0]]);
    this.lines = null;
    this.replace(page);
    this.count();
  }

  replace(page) {
    this.pages = [this.createPage(page)];
    this.element.replaceChildren(this.pages[0].element);
    this.number();
    this.onPages();
    this.fill();
  }

  createPage(page) {
    this.size = page.size;
    this.bomLength = page.bom_length;
    const continued = new Set(page.continued);
    if (page.starts_within_line) continued.add(0);
    const element = h("div", { class: "page" }, ...page.rows.map((pieces, at) => renderRow(pieces, continued.has(at))));
    return { ...page, rows: null, element };
  }

  get atStart() {
    return !this.pages.length || this.pages[0].start <= this.bomLength;
  }

  get atEnd() {
    return !this.pages.length || this.pages.at(-1).end >= this.size;
  }

  /** Whether the end of the text is visible. */
  get following() {
    const { scrollHeight, scrollTop, clientHeight } = this.element;
    return this.atEnd && scrollHeight > clientHeight && scrollHeight - scrollTop - clientHeight < END_MARGIN;
  }

  scrolled() {
    this.onMove();
    this.fill();
  }

  /** Load pages near the viewport, one at a time. */
  async fill() {
    if (this.busy || this.closed || !this.pages.length || !this.element.clientHeight) return;
    this.busy = true;
    try {
      while (!this.closed && (await this.fillOnce()));
    } catch (error) {
      this.file.setDetails(error.message);
    } finally {
      this.busy = false;
    }
  }

  async fillOnce() {
    const { scrollHeight, scrollTop, clientHeight } = this.element;
    const margin = SCREENS_AHEAD * clientHeight;
    const pages = this.pages;
    if (!this.atEnd && scrollHeight - scrollTop - clientHeight < margin) {
      const page = await this.ask({ start: pages.at(-1).end });
      if (this.pages !== pages) return true;
      this.append(page);
      return page.end > page.start;
    }
    if (!this.atStart && scrollTop < margin) {
      const page = await this.ask({ before: pages[0].start });
      if (this.pages !== pages) return true;
      this.prepend(page);
      return page.end > page.start;
    }
    return false;
  }

  append(page) {
    const added = this.createPage(page);
    this.pages.push(added);
    this.element.append(added.element);
    this.keepPosition(() => {
      while (this.pages.length > MAX_PAGES) this.pages.shift().element.remove();
    });
    this.number();
    this.onPages();
  }

  prepend(page) {
    const added = this.createPage(page);
    this.keepPosition(() => {
      this.pages.unshift(added);
      this.element.prepend(added.element);
    });
    while (this.pages.length > MAX_PAGES) this.pages.pop().element.remove();
    this.number();
    this.onPages();
  }

  /** Apply a change and keep the visible text in place. */
  keepPosition(change) {
    const before = this.element.scrollHeight;
    const top = this.element.scrollTop;
    change();
    this.element.scrollTop = top + this.element.scrollHeight - before;
  }

  async toStart() {
    if (!this.atStart) this.replace(await this.ask({ start: this.bomLength }));
    this.element.scrollTop = 0;
  }

  async toEnd() {
    if (!this.atEnd) {
      this.replace(await this.ask({ end: 1 }));
      this.count();
    }
    this.element.scrollTop = this.element.scrollHeight;
  }

  /** Scroll to the row at an offset; return it. */
  async scrollTo(offset) {
    if (!this.rowAt(offset)) {
      this.replace(await this.ask({ around: offset }));
      this.count();
    }
    const found = this.rowAt(offset);
    if (!found) return null;
    const box = found.getBoundingClientRect();
    const view = this.element.getBoundingClientRect();
    if (box.top < view.top || box.bottom > view.bottom) this.element.scrollTop += box.top - view.top - this.element.clientHeight / 3;
    return found;
  }

  rowAt(offset) {
    const page = this.pages.find((each) => offset >= each.start && (offset < each.end || (offset === each.end && each.end === this.size)));
    if (!page) return null;
    let at = 0;
    while (at + 1 < page.offsets.length && page.offsets[at + 1] <= offset) at++;
    return page.element.children[at] ?? null;
  }

  /** The first visible row: its page and index. */
  top() {
    const { top } = this.element.getBoundingClientRect();
    const page = this.pages.find((each) => each.element.getBoundingClientRect().bottom > top + 1) ?? this.pages.at(-1);
    const rows = page?.element.children ?? [];
    let [low, high] = [0, rows.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle].getBoundingClientRect().bottom > top + 1) high = middle;
      else low = middle + 1;
    }
    return { page, at: low, offset: page?.offsets[low] ?? 0 };
  }

  /** The number of the first visible line; null if unknown. */
  topLine() {
    const { page, at } = this.top();
    if (page?.number === null || page?.number === undefined) return null;
    const rows = [...page.element.children].slice(0, at + 1);
    return page.number + rows.filter((each) => !each.classList.contains("continuation")).length;
  }

  /** Number the lines of all pages whose starting line is known. */
  number() {
    let before;
    for (const page of this.pages.toReversed()) {
      // pages that were added before a counted one
      const lines = this.counted.get(page.end);
      if (lines !== undefined && !this.counted.has(page.start)) this.counted.set(page.start, lines - page.line_ends);
    }
    for (const page of this.pages) {
      const lines = this.counted.get(page.start) ?? (before?.end === page.start ? before.numberAfter : undefined);
      page.number = lines === undefined ? null : lines + (page.starts_within_line ? 1 : 0);
      page.numberAfter = lines === undefined ? undefined : lines + page.line_ends;
      page.element.style.counterReset = `line ${page.number ?? 0}`;
      page.element.classList.toggle("unnumbered", page.number === null);
      before = page;
    }
    this.element.style.setProperty("--digits", Math.max(3, String(this.lines ?? before?.numberAfter ?? 999).length));
    this.onMove();
  }

  /** Count lines: first those before the view, then all. */
  async count() {
    const { counted } = this;
    for (const stop of [this.pages[0].start, this.size]) {
      const [from, lines] = [...counted].filter(([offset]) => offset <= stop).sort(([a], [b]) => b - a)[0];
      const total = await this.countTo(counted, from, lines, stop);
      if (total === null) return;
      counted.set(stop, total);
      if (stop === this.size) this.lines = total + (this.endsWithinLine ? 1 : 0);
      this.number();
    }
  }

  async countTo(counted, from, lines, stop) {
    for (let tries = 0; from < stop; tries++) {
      const found = await this.ask({ count: 1, start: from, stop }).catch(() => null);
      if (!found || this.closed || this.counted !== counted || tries > MAX_COUNT_REQUESTS) return null;
      lines += found.lines;
      if (found.next <= from) return null;
      from = found.next;
      this.endsWithinLine = found.ends_within_line;
    }
    return lines;
  }

  /** The file changed: update the view and keep its position. */
  async update(first) {
    const following = this.following;
    const ranges = this.pages.map((page) => `${page.start}-${page.end}-${page.checksum}`).join(",");
    const { unchanged } = await this.ask({ unchanged: ranges });
    if (first.encoding !== this.encoding && !this.options.encoding) return void this.show(first);
    const changed = unchanged.indexOf(false);
    if (changed >= 0 || first.size < this.size) {
      this.counted = new Map([[this.bomLength, 0]]);
      this.lines = null;
    }
    await this.reloadPages(changed < 0 ? this.pages.length - 1 : changed, first.size);
    if (following) await this.toEnd();
    this.counted.delete(this.size);
    this.count();
  }

  /** Reload pages from one on, as far as they reached. */
  async reloadPages(from, size) {
    const pages = this.pages;
    const end = pages.at(-1).end >= this.size ? size : pages.at(-1).end;
    let start = pages[from].start;
    if (start > size) return void this.replace(await this.ask({ end: 1 }));
    const reloaded = [];
    do {
      reloaded.push(await this.ask({ start, max_bytes: Math.max(1, Math.min(49_152, end - start || 49_152)) }));
      start = reloaded.at(-1).end;
    } while (start < end && reloaded.at(-1).end > reloaded.at(-1).start && from + reloaded.length < MAX_PAGES);
    if (this.pages !== pages) return;
    const top = this.element.scrollTop;
    for (const page of pages.splice(from)) page.element.remove();
    for (const page of reloaded) {
      pages.push(this.createPage(page));
      this.element.append(pages.at(-1).element);
    }
    this.element.scrollTop = top;
    this.number();
    this.onPages();
    this.fill();
  }

  copy(event) {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return;
    event.clipboardData.setData("text/plain", copiedText(selection.getRangeAt(0).cloneContents()));
    event.preventDefault();
  }
}
