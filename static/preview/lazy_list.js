// Base of previews that load parts, such as cells or slides, on scroll.

import { h } from "../core/dom.js";

export class LazyList {
  /**
   * `name` is the name of the parts in responses and on the page; `none` is the message if there
   * are none. Subclasses implement `createPart` and `statusText`.
   */
  constructor(file, first, name, className, none) {
    this.file = file;
    this.name = name;
    this.none = none;
    this.shown = 0;
    this.element = h("div", { class: className });
    this.more = h("div", { class: "more", role: "status" }, `Loading more ${name}…`);
    this.update(first);
  }

  /** Return the element of a part. @returns {HTMLElement} */
  createPart(_part, _at) {
    throw new Error("Subclasses create the parts.");
  }

  /** Return the line below. @returns {string} */
  statusText(_first) {
    throw new Error("Subclasses describe the list.");
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
    this.element.replaceChildren(...parts.map((part, at) => this.createPart(part, at)), this.more);
    if (!parts.length) this.element.replaceChildren(h("p", { class: "dim" }, this.none));
    this.shown = parts.length;
    this.updateStatus();
  }

  updateStatus() {
    this.file.setDetails(this.statusText(this.first));
    this.more.hidden = this.shown >= this.first.total;
    this.stop?.();
    this.stop = this.more.hidden ? null : onNearEnd(this.more, () => this.next());
  }

  async next() {
    if (this.loading) return;
    this.loading = true;
    const { first } = this;
    try {
      const answer = await this.file.ask({ start: this.shown });
      if (first !== this.first || answer.start !== this.shown) return;
      const parts = answer[this.name];
      this.more.before(...parts.map((part, at) => this.createPart(part, answer.start + at)));
      this.shown += parts.length;
      this.updateStatus();
    } catch (error) {
      this.more.textContent = error.message;
      this.stop?.();
    } finally {
      this.loading = false;
    }
  }
}

/** Call `act` when `element` is within one screen of the viewport; return a function that stops it. */
function onNearEnd(element, act) {
  let observer = null;
  const frame = requestAnimationFrame(() => {
    const root = element.closest(".canvas, .inset");
    observer = new IntersectionObserver((seen) => seen.some(({ isIntersecting }) => isIntersecting) && act(), { root, rootMargin: "100%" });
    observer.observe(element);
  });
  return () => {
    cancelAnimationFrame(frame);
    observer?.disconnect();
  };
}
