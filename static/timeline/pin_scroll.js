// Keeps an element at the top of the viewport while its surroundings change size.

import { scrollWithin } from "../core/dom.js";

/** Events that precede scrolling by the user. */
export const USER_SCROLLS = ["wheel", "touchstart", "pointerdown", "keydown"];

export class ScrollPin {
  /** `scroller` is the scrolled element; scrolling by the user ends the pinning. */
  constructor(scroller) {
    this.scroller = scroller;
    this.observer = new ResizeObserver(() => this.element && scrollWithin(this.element, this.scroller));
    for (const name of USER_SCROLLS) scroller.addEventListener(name, () => this.release(), { passive: true });
  }

  pin(element) {
    this.release();
    this.element = element;
    scrollWithin(element, this.scroller);
    for (const each of this.scroller.children) this.observer.observe(each);
  }

  release() {
    this.element = null;
    this.observer.disconnect();
  }
}
