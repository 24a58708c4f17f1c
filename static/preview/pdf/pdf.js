// PDF preview: pages, with page number, zoom and search below.

import { h, iconButton } from "../../core/dom.js";
import { formatNumber, plural } from "../../core/format.js";
import { markButton } from "../marking.js";
import { onWheelZoom, showNotes, signButton } from "../parts.js";
import { PdfPages } from "./pages.js";
import { PdfSearch } from "./find.js";
import { passwordForm, unlockedCopyTools } from "./password.js";

const LEVELS = [0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4];
const STEP = 1.2;

class PdfPreview {
  constructor(file) {
    this.file = file;
    this.pages = new PdfPages(file, () => this.updateBar());
    this.search = new PdfSearch(this.pages);
    this.notes = h("p", { class: "note", role: "status", hidden: true });
    this.contents = h("nav", { class: "contents", "aria-label": "Contents", hidden: true });
    this.element = h("div", { class: "pdf" }, this.search.element, this.notes, this.contents, this.pages.element, this.bar());
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    onWheelZoom(this.pages.element, (by, event) => {
      const box = this.pages.element.getBoundingClientRect();
      this.zoomBy(by, event.clientX - box.left, event.clientY - box.top);
    });
  }

  bar() {
    this.contentsButton = signButton("☰", "Contents", () => this.toggleContents());
    this.page = h("input", {
      class: "num",
      inputmode: "numeric",
      "aria-label": "Page",
      autocomplete: "off",
      onchange: () => this.goToTyped(),
      onfocus: () => this.page.select(),
    });
    this.pageCount = h("span", { class: "num page-count" });
    this.level = h(
      "select",
      { "aria-label": "Zoom", onchange: () => this.setLevel(this.level.value) },
      h("option", { value: "auto" }, "Automatic"),
      h("option", { value: "width" }, "Fit width"),
      h("option", { value: "page" }, "Fit page"),
      ...LEVELS.map((level) => h("option", { value: level }, `${level * 100}%`)),
    );
    this.exactZoom = h("option", { value: "exact", hidden: true });
    this.level.append(this.exactZoom);
    const mark = markButton(() => this.pages.mark(this.element));
    return h(
      "div",
      { class: "about", role: "toolbar", "aria-label": "Pages and zoom" },
      this.contentsButton,
      iconButton("up", "Previous page", () => this.pages.goTo(this.pages.current - 1)),
      this.page,
      this.pageCount,
      iconButton("down", "Next page", () => this.pages.goTo(this.pages.current + 1)),
      h("span", { class: "spacer" }),
      signButton("−", "Zoom out", () => this.zoomBy(1 / STEP)),
      this.level,
      signButton("+", "Zoom in", () => this.zoomBy(STEP)),
      mark,
      iconButton("find", "Find", () => this.search.openWithSelection()),
    );
  }

  show(first) {
    const previous = this.first;
    this.first = first;
    this.file.setDetails([plural(first.pages, "page"), first.title].filter(Boolean).join(" · "));
    this.pageCount.textContent = `of ${formatNumber(first.pages)}`;
    this.page.style.setProperty("--digits", String(first.pages).length);
    this.contentsButton.hidden = !first.outline;
    const omitted = first.omitted_pages && `Not shown: ${plural(first.omitted_pages, "more page")}.`;
    showNotes(this.notes, [first.truncated && "The file is truncated. Only the readable part is shown.", omitted].filter(Boolean));
    this.file.setTools(...unlockedCopyTools(this.file));
    this.pages.show(first);
    if (previous && !this.search.element.hidden) this.search.search();
    if (previous && !this.contents.hidden) this.loadContents();
  }

  updateBar() {
    if (!this.page || !this.pages.tops.length) return;
    if (document.activeElement !== this.page) this.page.value = String(this.pages.current + 1);
    this.markEntry();
    const { mode, zoom } = this.pages;
    const level = mode === "zoom" ? (LEVELS.includes(zoom) ? String(zoom) : "exact") : mode;
    this.exactZoom.textContent = `${Math.round(this.pages.percent)}%`;
    this.level.value = level;
    this.level.title = `${Math.round(this.pages.percent)}%`;
  }

  goToTyped() {
    const page = parseInt(this.page.value, 10);
    if (page) this.pages.goTo(page - 1);
    this.pages.element.focus({ preventScroll: true });
    this.page.value = String(this.pages.current + 1);
  }

  setLevel(value) {
    if (Number(value)) this.pages.setZoom(Number(value));
    else this.pages.setMode(value);
  }

  zoomBy(by, x, y) {
    this.pages.setZoom((this.pages.percent / 100) * by, x, y);
  }

  onKey(event) {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f") this.search.openWithSelection();
    else if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select")) return;
    else if (event.key === "+" || event.key === "=") this.zoomBy(STEP);
    else if (event.key === "-") this.zoomBy(1 / STEP);
    else if (event.key === "0") this.pages.setMode("auto");
    else if (!this.pan(event)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Arrow keys pan a page wider than the viewport; otherwise they open the next file. */
  pan({ key, target }) {
    const { element } = this.pages;
    const by = { ArrowLeft: -60, ArrowRight: 60 }[key];
    if (!by || !element.contains(target) || element.scrollWidth <= element.clientWidth) return false;
    element.scrollBy(by, 0);
    return true;
  }

  toggleContents() {
    this.contents.hidden = !this.contents.hidden;
    this.contentsButton.setAttribute("aria-expanded", String(!this.contents.hidden));
    if (!this.contents.hidden) this.loadContents();
  }

  /** Hide the contents when an entry is opened in a narrow window. */
  openEntry(page) {
    if (this.element.clientWidth < 560) this.toggleContents();
    this.pages.goTo(page);
  }

  async loadContents() {
    const { outline } = await this.file.ask({ as: "pdf", outline: 1 }).catch(() => ({ outline: [] }));
    this.contents.replaceChildren(
      ...outline.map(([title, page, level]) =>
        h(
          "button",
          { class: "quiet", "data-page": page, style: `padding-left: ${10 + level * 14}px`, title, onclick: () => this.openEntry(page) },
          h("span", {}, title || "…"),
          h("small", { class: "num" }, formatNumber(page + 1)),
        ),
      ),
    );
    this.markEntry();
  }

  /** Highlight the contents entry of the current page and scroll to it. */
  markEntry() {
    if (this.contents.hidden) return;
    const { current } = this.pages;
    const pageOf = (entry) => Number(entry.dataset.page);
    const entries = [...this.contents.children].filter((entry) => pageOf(entry) <= current);
    const latest = Math.max(...entries.map(pageOf));
    const sameTarget = entries.filter((entry) => pageOf(entry) === latest);
    const currentEntry = latest === current ? sameTarget[0] : sameTarget.at(-1); // the first on this page, or the last before it
    const marked = this.contents.querySelector("[aria-current]");
    if (currentEntry === marked) return;
    marked?.removeAttribute("aria-current");
    currentEntry?.setAttribute("aria-current", "location");
    currentEntry?.scrollIntoView({ block: "nearest" });
  }
}

export function open(file, first) {
  if (first.locked) return { element: passwordForm(file, first.wrong) };
  const pdf = new PdfPreview(file);
  pdf.show(first);
  const update = (next) => (next.locked ? file.preview.open(file, "pdf", "pdf/pdf", next) : pdf.show(next));
  return { element: pdf.element, update, close: () => pdf.pages.close() };
}
