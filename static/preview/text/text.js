// Text preview of any size: pages, highlighting, search, go to line, follow, edit.

import { h, icon, styled } from "../../core/dom.js";
import { number } from "../../core/format.js";
import { Editor, kept } from "./editor.js";
import { Reader } from "./pager.js";
import { Search } from "./search.js";
import { sides } from "../source_toggle.js";

const ENCODINGS = ["utf-8", "utf-16-le", "utf-16-be", "cp1252", "iso8859-1", "iso8859-15", "cp1250", "cp1251", "cp437", "koi8-r", "gb18030", "big5", "shift_jis", "euc_jp", "euc_kr"];
const ENDS = { lf: "LF", crlf: "CRLF", cr: "CR", mixed: "LF and CRLF" };
const EDITABLE = 2 * 1024 ** 2;
const WRAP = "preview-wrap";

const remembered = () => {
  try {
    return localStorage.getItem(WRAP) !== "no";
  } catch {
    return true;
  }
};

export async function open(file, first) {
  const text = new Text(file, first);
  return { element: text.element, update: (next) => text.update(next), close: () => text.close() };
}

/** A file's source within another kind's element, at a line if given. */
export async function source(file, { line } = {}) {
  await styled("preview/text/text.css");
  const text = new Text(file, await file.ask({ as: "text" }), { within: true });
  if (line) requestAnimationFrame(() => text.toLine(line, false));
  return text;
}

class Text {
  constructor(file, first, { within = false } = {}) {
    Object.assign(this, { file, within });
    this.reader = new Reader(file, { onMove: () => this.moved(), onPages: () => this.search.paint() });
    this.search = new Search(this.reader);
    this.where = h("span", { class: "where num" });
    this.element = h("div", { class: "text", "data-wrap": remembered() ? "yes" : "no" }, this.search.element, this.reader.element, this.bar());
    this.onKey = (event) => this.key(event);
    document.addEventListener("keydown", this.onKey);
    this.reader.show(first);
    this.told(first);
    if (!within) this.offer();
  }

  bar() {
    const tool = (name, label, act, more = {}) =>
      h("button", { type: "button", class: "quiet sign", "aria-label": label, title: label, onclick: act, ...more }, icon(name));
    this.wrapper = h("button", { type: "button", class: "quiet", "aria-pressed": String(remembered()), title: "Wrap long lines", onclick: () => this.wrap() }, "Wrap");
    this.script = h("select", { "aria-label": "Encoding", title: "Reopen with another encoding", onchange: () => this.choose(this.script.value) });
    this.lineEnds = h("span", { class: "ends", title: "Line endings" });
    this.goTo = h("input", { type: "text", inputmode: "numeric", "aria-label": "Go to line", placeholder: "Line", title: "Go to a line or a position such as 50%", onkeydown: (event) => event.key === "Enter" && this.toLine(this.goTo.value) });
    return h("div", { class: "about" }, this.where, this.goTo,
      tool("start", "Start of the file", () => this.reader.toStart()), tool("end", "End of the file", () => this.reader.toEnd()),
      tool("find", "Find (Ctrl+F)", () => this.search.open()), this.wrapper, this.lineEnds, this.script);
  }

  told(first) {
    this.named = first.named;
    const names = new Set([first.encoding, ...ENCODINGS]);
    this.script.replaceChildren(...[...names].map((name) => h("option", { value: name, selected: name === first.encoding }, name.toUpperCase())));
    this.script.value = first.encoding;
    this.lineEnds.textContent = ENDS[first.ends];
    this.element.classList.toggle("empty", !first.size);
  }

  moved() {
    const { reader } = this;
    const line = reader.pages.length && reader.size ? reader.topLine() : null;
    const part = reader.size ? Math.floor((100 * reader.top().offset) / reader.size) : 0;
    const all = reader.lines === null ? "" : ` of ${number(Math.max(reader.lines, line ?? 0))}`;
    this.where.textContent = !reader.size ? "empty" : line === null ? `at ${part}%` : `line ${number(line)}${all}`;
  }

  wrap() {
    const wrapped = this.element.dataset.wrap !== "yes";
    const { offset } = this.reader.top();
    this.element.dataset.wrap = wrapped ? "yes" : "no";
    this.wrapper.setAttribute("aria-pressed", String(wrapped));
    this.reader.rowAt(offset)?.scrollIntoView({ block: "start" });
    try {
      localStorage.setItem(WRAP, wrapped ? "yes" : "no");
    } catch {
      // storage is unavailable: applies to this view only
    }
  }

  async choose(encoding) {
    const choice = { encoding };
    const first = await this.file.ask({ as: "text", ...choice });
    this.reader.show(first, { choice });
    this.told(first);
    this.search.close();
  }

  async toLine(asked, byHand = true) {
    const text = String(asked).trim();
    const { reader } = this;
    if (/^\d+(\.\d+)?\s*%$/.test(text)) return reader.to(Math.floor((reader.size * Math.min(100, parseFloat(text))) / 100));
    const line = Number(text.replace(/[,.\s]/g, ""));
    if (!Number.isInteger(line) || line < 1) return undefined;
    const [from, before] = [...reader.counted].filter(([, lines]) => lines < line).sort(([, a], [, b]) => b - a)[0];
    let asking = { line: line - 1 - before, start: from };
    for (;;) {
      const { at, left, upto } = await reader.ask(asking);
      if (reader.closed) return undefined;
      if (at >= 0 && at < reader.size) return this.point(await this.lineAt(at, line), byHand);
      if (upto >= reader.size || at >= 0) return reader.toEnd();
      this.where.textContent = `finding line ${number(line)}…`;
      asking = { line: left, start: upto };
    }
  }

  lineAt(offset, line) {
    this.reader.counted.set(offset, line - 1);
    return this.reader.to(offset);
  }

  point(row, byHand) {
    this.element.querySelector(".row.now")?.classList.remove("now");
    row?.classList.add("now");
    if (byHand) this.reader.element.focus({ preventScroll: true });
    return row;
  }

  key(event) {
    const { key, target } = event;
    const { element, filled } = this.file.preview;
    const alone = target === document.body && (filled || document.body.classList.contains("look"));
    if (event.defaultPrevented || (!element.contains(target) && !alone)) return;
    const control = event.ctrlKey || event.metaKey;
    const typing = target.closest("input, textarea, select");
    if (control && key.toLowerCase() === "f" && !event.shiftKey && !this.editor) this.search.open();
    else if (control && key.toLowerCase() === "g" && !this.editor) this.goTo.focus();
    else if (!typing && !this.editor && key === "Home") this.reader.toStart();
    else if (!typing && !this.editor && key === "End") this.reader.toEnd();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Add the tools for viewing and editing. */
  offer() {
    const tools = sides(this.file, this.named, "text");
    if (!this.file.step && this.reader.size <= EDITABLE) {
      tools.push(h("button", { type: "button", class: "quiet edit", onclick: () => this.edit() }, icon("pen"), "Edit"));
    }
    this.tools = tools;
    this.file.tools(...tools);
    if (!this.file.step && kept(this.file)) this.edit();
  }

  async edit() {
    if (this.editor) return;
    this.editor = new Editor(this.file, this.reader, () => this.read());
    this.search.close();
    this.element.classList.add("editing");
    this.element.append(this.editor.element);
    this.tools = this.editor.tools;
    this.file.tools(...this.tools);
    await this.editor.begin();
  }

  async read() {
    this.editor?.element.remove();
    this.editor = null;
    this.element.classList.remove("editing");
    await this.update(await this.file.ask({ as: "text", ...this.reader.how }));
    if (!this.within) this.offer();
    this.reader.element.focus();
  }

  async update(next) {
    if (this.editor) return this.editor.changed();
    this.told({ ...next, encoding: this.reader.how.encoding ?? next.encoding });
    await this.reader.update(next);
    return undefined;
  }

  close() {
    document.removeEventListener("keydown", this.onKey);
    this.editor?.close();
    this.tools?.forEach((each) => each.remove());
    this.search.close();
    this.reader.close();
  }
}
