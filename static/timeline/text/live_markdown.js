// Markdown of a streaming response: each block is rendered as soon as it is complete.

import { GrowingText, h } from "../../core/dom.js";
import { renderMarkdown } from "../../core/text/markdown.js";

const TOKEN = /`{3,}|~{3,}|`|\$\$|\\\[|\\\]|\n/g;
const PARTIAL_TOKEN = /[`~$\\]+$/; // may be the start of a token
const FORMULA_END = { $$: "$$", "\\[": "\\]" };

/** Text in blocks. The current block is shown as source, except that a display formula appears as code without its delimiters. */
export class LiveMarkdown {
  constructor(element) {
    this.element = element;
    this.pending = "";
    this.live = true;
    this.last = Promise.resolve();
    this.startBlock();
  }

  startBlock() {
    this.block = h("div", { class: "block" });
    this.output = new GrowingText(this.block);
    this.source = "";
    this.line = ""; // text before the next token in its line
    this.code = this.closing = null; // the delimiter that ends the code or formula
    this.element.append(this.block);
  }

  append(text) {
    const all = this.pending + text;
    this.pending = all.match(PARTIAL_TOKEN)?.[0] ?? "";
    const complete = all.slice(0, all.length - this.pending.length);
    let at = 0;
    for (const { 0: token, index } of complete.matchAll(TOKEN)) {
      this.write(complete.slice(at, index));
      this.handleToken(token);
      at = index + token.length;
    }
    this.write(complete.slice(at));
  }

  /** Write text without tokens; `hidden` is for markup that is not shown. */
  write(text, hidden = false) {
    this.source += text;
    this.line += text;
    if (text && !hidden) this.output.append(text, this.closing ? "tex" : "");
  }

  handleToken(token) {
    if (token === "\n") return this.endLine();
    const atStart = !this.line.trim();
    if (this.closing) return this.inFormula(token);
    if (this.code) return this.inCode(token, atStart);
    if (FORMULA_END[token]) return this.openFormula(token, atStart);
    if (token === "`" || (atStart && /^[`~]{3}/.test(token))) this.code = token;
    return this.write(token);
  }

  openFormula(token, atStart) {
    this.write(token, true);
    this.closing = FORMULA_END[token];
    this.displayFormula = atStart; // such a formula may contain empty lines
  }

  inFormula(token) {
    const ends = token === this.closing;
    this.write(token, ends);
    if (ends) this.closing = null;
  }

  inCode(token, atStart) {
    const ends = this.code === "`" ? token === "`" : atStart && token.startsWith(this.code);
    if (ends) this.code = null;
    this.write(token);
  }

  endLine() {
    const empty = !this.line.trim();
    this.write("\n", this.closing && FORMULA_END[this.line.trim()] === this.closing);
    this.line = "";
    const continues = this.closing ? this.displayFormula : this.code && this.code !== "`";
    if (empty && !continues && this.source.trim()) this.endBlock();
  }

  /** Render the block, one at a time, unless the whole text has arrived meanwhile. */
  endBlock() {
    const { block, source } = this;
    this.startBlock();
    this.last = this.last.then(() => this.live && renderMarkdown(block, source.trimEnd()));
  }

  /** End of the text for now: show the text held back. */
  flush() {
    this.write(this.pending);
    this.pending = "";
  }

  /** Stop rendering blocks: the whole text is rendered instead. */
  close() {
    this.flush();
    this.live = false;
  }
}
