// Markdown of a streaming response: each block is rendered as soon as it is complete.

import { GrowingText, h } from "../core/dom.js";
import { render } from "../core/markdown.js";

const TOKEN = /`{3,}|~{3,}|`|\$\$|\\\[|\\\]|\n/g;
const HELD = /[`~$\\]+$/; // may be the start of a token
const CLOSES = { "$$": "$$", "\\[": "\\]" };

/**
 * Text in blocks. The current block is shown as source, except that a display formula appears
 * as code without its delimiters.
 */
export class LiveMarkdown {
  constructor(element) {
    Object.assign(this, { element, held: "", live: true, last: Promise.resolve() });
    this.begin();
  }

  begin() {
    this.block = h("div", { class: "block" });
    this.shown = new GrowingText(this.block);
    this.source = "";
    this.line = ""; // text before the next token in its line
    this.code = this.closing = null; // the delimiter that ends the code or formula
    this.element.append(this.block);
  }

  add(text) {
    const all = this.held + text;
    this.held = all.match(HELD)?.[0] ?? "";
    const whole = all.slice(0, all.length - this.held.length);
    let at = 0;
    for (const { 0: token, index } of whole.matchAll(TOKEN)) {
      this.write(whole.slice(at, index));
      this.take(token);
      at = index + token.length;
    }
    this.write(whole.slice(at));
  }

  /** Write text without tokens; `mark` is markup that is hidden. */
  write(text, mark = false) {
    this.source += text;
    this.line += text;
    if (text && !mark) this.shown.add(text, this.closing ? "tex" : "");
  }

  take(token) {
    if (token === "\n") return this.endLine();
    const atStart = !this.line.trim();
    if (this.closing) return this.inFormula(token);
    if (this.code) return this.inCode(token, atStart);
    if (CLOSES[token]) return this.openFormula(token, atStart);
    if (token === "`" || (atStart && /^[`~]{3}/.test(token))) this.code = token;
    return this.write(token);
  }

  openFormula(token, atStart) {
    this.write(token, true);
    this.closing = CLOSES[token];
    this.apart = atStart; // such a formula may contain empty lines
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
    this.write("\n", this.closing && CLOSES[this.line.trim()] === this.closing);
    this.line = "";
    const goesOn = this.closing ? this.apart : this.code && this.code !== "`";
    if (empty && !goesOn && this.source.trim()) this.endBlock();
  }

  /** Render the block, one at a time, unless the whole text has arrived meanwhile. */
  endBlock() {
    const { block, source } = this;
    this.begin();
    this.last = this.last.then(() => this.live && render(block, source.trimEnd()));
  }

  /** End of the text for now: show the text held back. */
  flush() {
    this.write(this.held);
    this.held = "";
  }

  /** Stop rendering blocks: the whole text is rendered instead. */
  close() {
    this.flush();
    this.live = false;
  }
}
