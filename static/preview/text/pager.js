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
    Object.assign(this, { file, onMove, onPages, pages: [], options: {}, size: 0, mark: 0, lines: null, busy: false });
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
  show(page, { choice = this.options } = {}) {
    this.options = { ...choice, ends: page.ends };
    if (page.encoding !== "utf-8" || choice.encoding) this.options.encoding = page.encoding;
    Object.assign(this, { encoding: page.encoding, ends: page.ends });
    this.counted = new Map([[page.mark, 0]]);
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
    Object.assign(this, { size: page.size, mark: page.mark });
    const goesOn = new Set(page.goes_on);
    if (page.inside) goesOn.add(0);
    const element = h("div", { class: "page" }, ...page.rows.map((pieces, at) => renderRow(pieces, goesOn.has(at))));
    return { ...page, rows: null, element };
  }

  get atStart() {
    return !this.pages.length || this.pages[0].start <= this.mark;
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
    const near = SCREENS_AHEAD * clientHeight;
    const known = this.pages;
    if (!this.atEnd && scrollHeight - scrollTop - clientHeight < near) {
      const page = await this.ask({ from: known.at(-1).end });
      if (this.pages !== known) return true;
      this.append(page);
      return page.end > page.start;
    }
    if (!this.atStart && scrollTop < near) {
      const page = await this.ask({ before: known[0].start });
      if (this.pages !== known) return true;
      this.prepend(page);
      return page.end > page.start;
    }
    return false;
  }

  append(page) {
    const made = this.createPage(page);
    this.pages.push(made);
    this.element.append(made.element);
    this.keepingPosition(() => {
      while (this.pages.length > MAX_PAGES) this.pages.shift().element.remove();
    });
    this.number();
    this.onPages();
  }

  prepend(page) {
    const made = this.createPage(page);
    this.keepingPosition(() => {
      this.pages.unshift(made);
      this.element.prepend(made.element);
    });
    while (this.pages.length > MAX_PAGES) this.pages.pop().element.remove();
    this.number();
    this.onPages();
  }

  /** Apply a change and keep the visible text in place. */
  keepingPosition(change) {
    const before = this.element.scrollHeight;
    const top = this.element.scrollTop;
    change();
    this.element.scrollTop = top + this.element.scrollHeight - before;
  }

  async toStart() {
    if (!this.atStart) this.replace(await this.ask({ from: this.mark }));
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
      this.replace(await this.ask({ at: offset }));
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
    for (const page of this.pages.toReversed()) { // pages that were added before a counted one
      const lines = this.counted.get(page.end);
      if (lines !== undefined && !this.counted.has(page.start)) this.counted.set(page.start, lines - page.breaks);
    }
    for (const page of this.pages) {
      const lines = this.counted.get(page.start) ?? (before?.end === page.start ? before.after : undefined);
      page.number = lines === undefined ? null : lines + (page.inside ? 1 : 0);
      page.after = lines === undefined ? undefined : lines + page.breaks;
      page.element.style.counterReset = `line ${page.number ?? 0}`;
      page.element.classList.toggle("unnumbered", page.number === null);
      before = page;
    }
    this.element.style.setProperty("--digits", Math.max(3, String(this.lines ?? before?.after ?? 999).length));
    this.onMove();
  }

  /** Count lines: first those before the view, then all. */
  async count() {
    const { counted } = this;
    for (const stop of [this.pages[0].start, this.size]) {
      const [from, lines] = [...counted].filter(([offset]) => offset <= stop).sort(([a], [b]) => b - a)[0];
      const known = await this.countTo(counted, from, lines, stop);
      if (known === null) return;
      counted.set(stop, known);
      if (stop === this.size) this.lines = known + (this.open ? 1 : 0);
      this.number();
    }
  }

  async countTo(counted, from, lines, stop) {
    for (let tries = 0; from < stop; tries++) {
      const found = await this.ask({ count: 1, start: from, stop }).catch(() => null);
      if (!found || this.closed || this.counted !== counted || tries > MAX_COUNT_REQUESTS) return null;
      lines += found.lines;
      if (found.upto <= from) return null;
      from = found.upto;
      this.open = found.open;
    }
    return lines;
  }

  /** The file changed: update the view and keep its position. */
  async update(first) {
    const following = this.following;
    const ranges = this.pages.map((page) => `${page.start}-${page.end}-${page.sum}`).join(",");
    const { same } = await this.ask({ same: ranges });
    if (first.encoding !== this.encoding && !this.options.encoding) return void this.show(first);
    const changed = same.indexOf(false);
    if (changed >= 0 || first.size < this.size) {
      this.counted = new Map([[this.mark, 0]]);
      this.lines = null;
    }
    await this.reloadPages(changed < 0 ? this.pages.length - 1 : changed, first.size);
    if (following) await this.toEnd();
    this.counted.delete(this.size);
    this.count();
  }

  /** Reload pages from one on, as far as they reached. */
  async reloadPages(from, size) {
    const known = this.pages;
    const reach = known.at(-1).end >= this.size ? size : known.at(-1).end;
    let start = known[from].start;
    if (start > size) return void this.replace(await this.ask({ end: 1 }));
    const fresh = [];
    do {
      fresh.push(await this.ask({ from: start, most: Math.max(1, Math.min(49_152, reach - start || 49_152)) }));
      start = fresh.at(-1).end;
    } while (start < reach && fresh.at(-1).end > fresh.at(-1).start && from + fresh.length < MAX_PAGES);
    if (this.pages !== known) return;
    const top = this.element.scrollTop;
    for (const page of known.splice(from)) page.element.remove();
    for (const page of fresh) {
      known.push(this.createPage(page));
      this.element.append(known.at(-1).element);
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
