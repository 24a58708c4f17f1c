// Base of previews that load parts, such as cells or slides, on scroll.

import { h } from "../core/dom.js";
import { whenNear } from "./on_near_end.js";

export class Parts {
  /**
   * `name` is the name of the parts in responses and on the page; `none` is the message if there
   * are none. Subclasses implement `part(part, at)`, which returns an element, and `about(first)`,
   * which returns the line below.
   */
  constructor(file, first, name, look, none) {
    Object.assign(this, { file, name, none, shown: 0 });
    this.element = h("div", { class: look });
    this.more = h("div", { class: "more", role: "status" }, `Loading more ${name}…`);
    this.update(first);
  }

  close() {
    this.stop?.();
  }

  /** Reload the same number of parts, to keep the scroll position. */
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
