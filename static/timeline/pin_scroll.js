// Keeps an element at the top of the viewport while its surroundings change size.

const MOVES = ["wheel", "touchstart", "pointerdown", "keydown"];

export class Pin {
  /** `scroller` is the scrolled element; scrolling by the user ends the pinning. */
  constructor(scroller) {
    this.scroller = scroller;
    this.around = new ResizeObserver(() => this.element?.scrollIntoView());
    for (const name of MOVES) scroller.addEventListener(name, () => this.release(), { passive: true });
  }

  hold(element) {
    this.release();
    this.element = element;
    element.scrollIntoView();
    for (const each of this.scroller.children) this.around.observe(each);
  }

  release() {
    this.element = null;
    this.around.disconnect();
  }
}
