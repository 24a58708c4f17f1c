// Keeps an element at the top of the viewport while its surroundings change size.

const USER_SCROLLS = ["wheel", "touchstart", "pointerdown", "keydown"];

export class ScrollPin {
  /** `scroller` is the scrolled element; scrolling by the user ends the pinning. */
  constructor(scroller) {
    this.scroller = scroller;
    this.observer = new ResizeObserver(() => this.element?.scrollIntoView());
    for (const name of USER_SCROLLS) scroller.addEventListener(name, () => this.release(), { passive: true });
  }

  pin(element) {
    this.release();
    this.element = element;
    element.scrollIntoView();
    for (const each of this.scroller.children) this.observer.observe(each);
  }

  release() {
    this.element = null;
    this.observer.disconnect();
  }
}
