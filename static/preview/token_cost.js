// Below the name of a document: its size in words and the tokens of pasting it into a prompt.

import { aboutOf, aboutWords, hasText } from "../core/document_info.js";
import { h } from "../core/dom.js";

const REST = 600; // ms without a change before a file is counted
const MOST = 256 * 1024 ** 2; // bytes

export class Cost {
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
    const counts = entry?.kind === "file" && entry.size > 0 && entry.size <= MOST && file.step === null && hasText(file.name);
    if (!counts) return this.clear();
    if (file !== this.file) this.element.textContent = "Counting words…";
    this.file = file;
    this.element.hidden = false;
    this.waiting = setTimeout(() => this.count(file, version), REST);
    return undefined;
  }

  async count(file, version) {
    const words = await aboutOf(file.path, version).then(aboutWords, () => "");
    if (file !== this.file || version !== file.version) return;
    this.element.textContent = words;
    this.element.hidden = !words;
  }
}
