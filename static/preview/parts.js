// A file shown part by part, such as its cells or slides: more of them as the end comes near.

import { h } from "../dom.js";
import { whenNear } from "./near.js";

export class Parts {
  /**
   * `name` is what the parts are called in an answer and on the page; `none` is said where there
   * are none. Who extends this has `part(part, at)`, an element, and `about(first)`, the line below.
   */
  constructor(file, first, name, look, none) {
    Object.assign(this, { file, name, none, shown: 0 });
    this.element = h("div", { class: look });
    this.more = h("div", { class: "more", role: "status" }, `More ${name} …`);
    this.update(first);
  }

  close() {
    this.stop?.();
  }

  /** The parts anew, as many as there were, so that the place stays. */
  async update(first) {
    const parts = first[this.name];
    while (parts.length < Math.min(this.shown, first.total)) {
      const next = await this.file.ask({ start: parts.length });
      if (!next[this.name].length) break;
      parts.push(...next[this.name]);
    }
    this.first = first;
    this.element.replaceChildren(...parts.map((part, at) => this.part(part, at)), this.more);
    if (!parts.length) this.element.replaceChildren(h("p", { class: "dim" }, this.none));
    this.shown = parts.length;
    this.told();
  }

  told() {
    this.file.tell(this.about(this.first));
    this.more.hidden = this.shown >= this.first.total;
    this.stop?.();
    this.stop = this.more.hidden ? null : whenNear(this.more, () => this.next());
  }

  async next() {
    if (this.asking) return;
    this.asking = true;
    const { first } = this;
    try {
      const answer = await this.file.ask({ start: this.shown });
      if (first !== this.first || answer.start !== this.shown) return;
      const parts = answer[this.name];
      this.more.before(...parts.map((part, at) => this.part(part, answer.start + at)));
      this.shown += parts.length;
      this.told();
    } catch (error) {
      this.more.textContent = error.message;
      this.stop?.();
    } finally {
      this.asking = false;
    }
  }
}
