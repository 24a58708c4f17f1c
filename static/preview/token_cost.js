// Below the name of a document: its size in words and the tokens of pasting it into a prompt.

import { fetchDocumentInfo, formatDocumentInfo, mayHaveText } from "../core/run/document_info.js";
import { h } from "../core/dom.js";

const DELAY_MS = 600; // ms without a change before a file is counted
const MAX_SIZE = 256 * 1024 ** 2; // bytes

export class TokenCost {
  constructor() {
    this.element = h("p", { class: "cost num", hidden: true });
  }

  clear() {
    clearTimeout(this.waiting);
    this.file = null;
    this.element.hidden = true;
  }

  /** Reserve the space at once, to avoid a layout shift. */
  show(file) {
    const { entry, version } = file;
    clearTimeout(this.waiting);
    const countable = entry?.kind === "file" && entry.size > 0 && entry.size <= MAX_SIZE && file.step === null && mayHaveText(file.name);
    if (!countable) return this.clear();
    if (file !== this.file) this.element.textContent = "Counting words…";
    this.file = file;
    this.element.hidden = false;
    this.waiting = setTimeout(() => this.count(file, version), DELAY_MS);
    return undefined;
  }

  async count(file, version) {
    const text = await fetchDocumentInfo(file.path, version).then(formatDocumentInfo, () => "");
    if (file !== this.file || version !== file.version) return;
    this.element.textContent = text;
    this.element.hidden = !text;
  }
}
