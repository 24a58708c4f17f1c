// PDF preview: pages, with page number, zoom and search below.

import { h, icon } from "../../core/dom.js";
import { number, plural } from "../../core/format.js";
import { Paper } from "./pages.js";
import { Find } from "./find.js";

const LEVELS = [0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4];
const STEP = 1.2;

class Pdf {
  constructor(file) {
    this.file = file;
    this.paper = new Paper(file, () => this.follow());
    this.find = new Find(this.paper);
    this.notes = h("p", { class: "note", role: "status", hidden: true });
    this.contents = h("nav", { class: "contents", "aria-label": "Contents", hidden: true });
    this.element = h("div", { class: "pdf" }, this.find.element, this.notes, this.contents, this.paper.element, this.bar());
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.paper.element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  bar() {
    const tool = (name, label, act) => h("button", { type: "button", class: "quiet sign", "aria-label": label, title: label, onclick: act }, icon(name));
    const sign = (text, label, act) => h("button", { type: "button", class: "quiet sign", "aria-label": label, title: label, onclick: act }, text);
    this.opener = sign("☰", "Contents", () => this.toggleContents());
    this.page = h("input", { class: "num", inputmode: "numeric", "aria-label": "Page", autocomplete: "off", onchange: () => this.go(), onfocus: () => this.page.select() });
    this.of = h("span", { class: "num of" });
    this.level = h("select", { "aria-label": "Zoom", onchange: () => this.setLevel(this.level.value) },
      h("option", { value: "auto" }, "Automatic"), h("option", { value: "width" }, "Fit width"), h("option", { value: "page" }, "Fit page"),
      ...LEVELS.map((level) => h("option", { value: level }, `${level * 100}%`)));
    this.exact = h("option", { value: "exact", hidden: true });
    this.level.append(this.exact);
    return h("div", { class: "about", role: "toolbar", "aria-label": "Pages and zoom" }, this.opener,
      tool("above", "Previous page", () => this.paper.goTo(this.paper.now - 1)), this.page, this.of, tool("below", "Next page", () => this.paper.goTo(this.paper.now + 1)),
      h("span", { class: "room" }), sign("−", "Zoom out", () => this.nearer(1 / STEP)), this.level, sign("+", "Zoom in", () => this.nearer(STEP)),
      tool("find", "Find", () => this.find.open()));
  }

  show(first) {
    const again = this.first;
    this.first = first;
    this.file.tell([plural(first.pages, "page"), first.title].filter(Boolean).join(" · "));
    this.of.textContent = `of ${number(first.pages)}`;
    this.page.style.setProperty("--digits", String(first.pages).length);
    this.opener.hidden = !first.outline;
    const notes = [first.cut && "The file is truncated. Only the readable part is shown.", first.more && `${number(first.more)} more pages are not shown.`];
    this.notes.textContent = notes.filter(Boolean).join(" ");
    this.notes.hidden = !this.notes.textContent;
    this.paper.take(first);
    if (again && !this.find.element.hidden) this.find.look();
    if (again && !this.contents.hidden) this.list();
  }

  follow() {
    if (!this.page || !this.paper.tops.length) return;
    if (document.activeElement !== this.page) this.page.value = String(this.paper.now + 1);
    this.markPlace();
    const { mode, zoom } = this.paper;
    const level = mode === "zoom" ? (LEVELS.includes(zoom) ? String(zoom) : "exact") : mode;
    this.exact.textContent = `${Math.round(this.paper.percent)}%`;
    this.level.value = level;
    this.level.title = `${Math.round(this.paper.percent)}%`;
  }

  go() {
    const page = parseInt(this.page.value, 10);
    if (page) this.paper.goTo(page - 1);
    this.paper.element.focus({ preventScroll: true });
    this.page.value = String(this.paper.now + 1);
  }

  setLevel(value) {
    if (Number(value)) this.paper.setZoom(Number(value));
    else this.paper.setMode(value);
  }

  nearer(by, x, y) {
    this.paper.setZoom((this.paper.percent / 100) * by, x, y);
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = this.paper.element.getBoundingClientRect();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    this.nearer(Math.exp(-Math.max(-120, Math.min(120, event.deltaY * lines)) / 250), event.clientX - box.left, event.clientY - box.top);
  }

  key(event) {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f") this.find.open();
    else if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select")) return;
    else if (event.key === "+" || event.key === "=") this.nearer(STEP);
    else if (event.key === "-") this.nearer(1 / STEP);
    else if (event.key === "0") this.paper.setMode("auto");
    else if (!this.pan(event)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Arrow keys pan a page wider than the viewport; otherwise they open the next file. */
  pan({ key, target }) {
    const { element } = this.paper;
    const by = { ArrowLeft: -60, ArrowRight: 60 }[key];
    if (!by || !element.contains(target) || element.scrollWidth <= element.clientWidth) return false;
    element.scrollBy(by, 0);
    return true;
  }

  toggleContents() {
    this.contents.hidden = !this.contents.hidden;
    this.opener.setAttribute("aria-expanded", String(!this.contents.hidden));
    if (!this.contents.hidden) this.list();
  }

  /** Hide the contents when an entry is opened in a narrow window. */
  leave(page) {
    if (this.element.clientWidth < 560) this.toggleContents();
    this.paper.goTo(page);
  }

  async list() {
    const { outline } = await this.file.ask({ as: "pdf", outline: 1 }).catch(() => ({ outline: [] }));
    this.contents.replaceChildren(...outline.map(([title, page, level]) =>
      h("button", { type: "button", class: "quiet", "data-page": page, style: `padding-left: ${10 + level * 14}px`, title, onclick: () => this.leave(page) },
        h("span", {}, title || "…"), h("small", { class: "num" }, number(page + 1)))));
    this.markPlace();
  }

  /** Highlight the contents entry of the current page and scroll to it. */
  markPlace() {
    if (this.contents.hidden) return;
    const { now } = this.paper;
    const pageOf = (entry) => Number(entry.dataset.page);
    const entries = [...this.contents.children].filter((entry) => pageOf(entry) <= now);
    const latest = Math.max(...entries.map(pageOf));
    const of = entries.filter((entry) => pageOf(entry) === latest);
    const here = latest === now ? of[0] : of.at(-1); // the first on this page, or the last before it
    const marked = this.contents.querySelector("[aria-current]");
    if (here === marked) return;
    marked?.removeAttribute("aria-current");
    here?.setAttribute("aria-current", "location");
    here?.scrollIntoView({ block: "nearest" });
  }
}

export function open(file, first) {
  const pdf = new Pdf(file);
  pdf.show(first);
  return { element: pdf.element, update: (next) => pdf.show(next), close: () => pdf.paper.close() };
}
