// Text preview of any size: pages, highlighting, search, go to line, follow, edit.

import { h, icon, iconButton, loadStyles } from "../../core/dom.js";
import { formatNumber } from "../../core/format.js";
import { Editor, findDraft } from "./editor.js";
import { readStored, writeStored } from "../../core/local_storage.js";
import { encodingSelect } from "./encoding.js";
import { TextPager } from "./pager.js";
import { TextSearch } from "./search.js";
import { quietButton, sourceToggle } from "../parts.js";

const LINE_ENDINGS = { lf: "LF", crlf: "CRLF", cr: "CR", mixed: "LF and CRLF" };
const MAX_EDITABLE = 2 * 1024 ** 2;

export const open = (file, first) => new TextView(file, first);

/** A file's source within another kind's element, at a line if given. */
export async function openSource(file, { line } = /** @type {{ line?: number }} */ ({})) {
  await loadStyles("preview/text/text.css");
  const text = new TextView(file, await file.ask({ as: "text" }), { embedded: true });
  if (line) requestAnimationFrame(() => text.toLine(line, false));
  return text;
}

class TextView {
  constructor(file, first, { embedded = false } = {}) {
    this.file = file;
    this.embedded = embedded;
    this.reader = new TextPager(file, { onMove: () => this.updatePosition(), onPages: () => this.search.mark() });
    this.search = new TextSearch(this.reader);
    this.position = h("span", { class: "position num" });
    this.wrapped = readStored("wrap-text", true);
    this.element = h("div", { class: "text", "data-wrap": this.wrapped ? "yes" : "no" }, this.search.element, this.reader.element, this.bar());
    this.onKey = (event) => this.handleKey(event);
    document.addEventListener("keydown", this.onKey);
    this.reader.show(first);
    this.showFormat(first);
    if (!embedded) this.addTools();
  }

  bar() {
    this.wrapper = quietButton("Wrap", () => this.toggleWrap(), { "aria-pressed": String(this.wrapped), title: "Wrap long lines" });
    this.encodingElement = h("span", { class: "encoding" });
    this.lineEnding = h("span", { class: "line-endings", title: "Line endings" });
    this.goTo = h("input", {
      type: "text",
      inputmode: "numeric",
      "aria-label": "Go to line",
      placeholder: "Line",
      title: "Go to a line or a position such as 50%",
      onkeydown: (event) => event.key === "Enter" && this.toLine(this.goTo.value),
    });
    return h(
      "div",
      { class: "about" },
      this.position,
      this.goTo,
      iconButton("start", "Start of the file", () => this.reader.toStart()),
      iconButton("end", "End of the file", () => this.reader.toEnd()),
      iconButton("find", "Find (Ctrl+F)", () => this.search.openWithSelection()),
      this.wrapper,
      this.lineEnding,
      this.encodingElement,
    );
  }

  showFormat(first) {
    const assumed = h("span", { class: "assumed", title: "The text is too short to tell its encoding." }, "assumed");
    const select = encodingSelect(first.encoding, (encoding) => this.setEncoding(encoding));
    this.encodingElement.replaceChildren(...(first.encoding_is_assumed ? [assumed] : []), select);
    this.lineEnding.textContent = LINE_ENDINGS[first.line_ending];
    this.element.classList.toggle("empty", !first.size);
  }

  updatePosition() {
    const { reader } = this;
    const line = reader.pages.length && reader.size ? reader.topLine() : null;
    const percent = reader.size ? Math.floor((100 * reader.top().offset) / reader.size) : 0;
    const total = reader.lines === null ? "" : ` of ${formatNumber(Math.max(reader.lines, line ?? 0))}`;
    this.position.textContent = !reader.size ? "empty" : line === null ? `at ${percent}%` : `line ${formatNumber(line)}${total}`;
  }

  toggleWrap() {
    this.wrapped = !this.wrapped;
    const { wrapped } = this;
    const { offset } = this.reader.top();
    this.element.dataset.wrap = wrapped ? "yes" : "no";
    this.wrapper.setAttribute("aria-pressed", String(wrapped));
    this.reader.rowAt(offset)?.scrollIntoView({ block: "start" });
    writeStored("wrap-text", wrapped);
  }

  async setEncoding(encoding) {
    const first = await this.file.ask({ as: "text", encoding });
    this.reader.show(first, { encoding });
    this.showFormat(first);
    this.search.close();
  }

  async toLine(input, focus = true) {
    const text = String(input).trim();
    const { reader } = this;
    if (/^\d+(\.\d+)?\s*%$/.test(text)) return reader.scrollTo(Math.floor((reader.size * Math.min(100, parseFloat(text))) / 100));
    const line = Number(text.replace(/[,.\s]/g, ""));
    if (!Number.isInteger(line) || line < 1) return undefined;
    const [from, before] = [...reader.counted].filter(([, lines]) => lines < line).sort(([, a], [, b]) => b - a)[0];
    let options = { line: line - 1 - before, start: from };
    for (;;) {
      const { offset, remaining, next } = await reader.ask(options);
      if (reader.closed) return undefined;
      if (offset >= 0 && offset < reader.size) return this.markRow(await this.lineAt(offset, line), focus);
      if (next >= reader.size || offset >= 0) return reader.toEnd();
      this.position.textContent = `finding line ${formatNumber(line)}…`;
      options = { line: remaining, start: next };
    }
  }

  lineAt(offset, line) {
    this.reader.counted.set(offset, line - 1);
    return this.reader.scrollTo(offset);
  }

  markRow(row, focus) {
    this.element.querySelector(".row.current")?.classList.remove("current");
    row?.classList.add("current");
    if (focus) this.reader.element.focus({ preventScroll: true });
    return row;
  }

  handleKey(event) {
    const { key, target } = event;
    const { element, isFullScreen } = this.file.preview;
    const isWholePage = target === document.body && (isFullScreen || document.body.classList.contains("look"));
    if (event.defaultPrevented || (!element.contains(target) && !isWholePage)) return;
    const control = event.ctrlKey || event.metaKey;
    const typing = target.closest("input, textarea, select");
    if (control && key.toLowerCase() === "f" && !event.shiftKey && !this.editor) this.search.openWithSelection();
    else if (control && key.toLowerCase() === "g" && !this.editor) this.goTo.focus();
    else if (!typing && !this.editor && key === "Home") this.reader.toStart();
    else if (!typing && !this.editor && key === "End") this.reader.toEnd();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Add the tools for viewing and editing. */
  addTools() {
    this.tools = sourceToggle(this.file, "text");
    if (this.file.isCurrent && this.reader.size <= MAX_EDITABLE)
      this.tools.push(h("button", { class: "quiet edit", onclick: () => this.edit() }, icon("edit"), "Edit"));
    this.file.setTools(...this.tools);
    if (this.file.isCurrent && findDraft(this.file)) this.edit();
  }

  async edit() {
    if (this.editor) return;
    this.editor = new Editor(this.file, { encoding: this.reader.encoding, wrap: this.wrapped, onLeave: () => this.stopEditing() });
    this.search.close();
    this.element.classList.add("editing");
    this.element.append(this.editor.element);
    this.tools = this.editor.tools;
    this.file.setTools(...this.tools);
    await this.editor.begin();
  }

  async stopEditing() {
    this.editor?.close();
    this.editor?.element.remove();
    this.editor = null;
    this.element.classList.remove("editing");
    await this.update(await this.file.ask({ as: "text", ...this.reader.options }));
    if (!this.embedded) this.addTools();
    this.reader.element.focus();
  }

  async update(next) {
    if (this.editor) return this.editor.onFileChanged();
    this.showFormat({ ...next, encoding: this.reader.options.encoding ?? next.encoding });
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
