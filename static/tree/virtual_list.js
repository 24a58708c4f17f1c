// Virtual list: renders the rows near the viewport and the focused one.

import { h } from "../core/dom.js";
import { blank, Row } from "./row.js";

const BEYOND = 8; // rows rendered above and below the viewport

export class View {
  /** `stateOf(spot)` returns a row's state; `onMissing(folders)` is called for rows that are not loaded. */
  constructor(element, forest, { stateOf, onMissing }) {
    Object.assign(this, { element, forest, stateOf, onMissing });
    this.inner = h("div", { class: "rows", role: "presentation" });
    element.append(this.inner);
    this.rows = new Map();
    this.blanks = [];
    this.frame = 0;
    element.addEventListener("scroll", () => this.soon(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(element);
  }

  clear() {
    this.rows.clear();
    this.blanks = [];
    this.inner.replaceChildren();
    this.element.scrollTop = 0;
  }

  get height() {
    return parseFloat(getComputedStyle(this.element).getPropertyValue("--row")) || 26;
  }

  /** The first visible position, and the one after the last. */
  seen() {
    const height = this.height;
    const first = Math.floor(this.element.scrollTop / height);
    return [first, first + Math.ceil(this.element.clientHeight / height) + 1];
  }

  soon() {
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  stretch() {
    this.inner.style.setProperty("--count", this.forest.size);
  }

  draw(focused = this.focused) {
    if (this.frame) cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.focused = focused;
    this.stretch();
    const had = this.inner.contains(document.activeElement);
    const spots = this.places(focused).map((place) => ({ place, ...this.forest.at(place) }));
    this.remove(new Set(spots.map(({ entry }) => entry?.path)));
    const blanks = spots.filter(({ entry }) => !entry);
    let last = null;
    for (const spot of spots) if (spot.entry) last = this.put(spot, last);
    this.fill(blanks.map(({ place }) => place));
    this.keepTabStop(focused);
    if (had && !this.inner.contains(document.activeElement)) this.rows.get(focused)?.element.focus({ preventScroll: true });
    if (blanks.length) this.onMissing(new Set(blanks.map(({ folder }) => folder)));
  }

  remove(kept) {
    for (const [path, row] of this.rows) {
      if (kept.has(path)) continue;
      row.element.remove();
      this.rows.delete(path);
    }
  }

  /** The positions to render. */
  places(focused) {
    const [first, last] = this.seen();
    const from = Math.max(0, first - BEYOND);
    const to = this.element.clientHeight ? Math.min(this.forest.size, last + BEYOND) : 0;
    const places = Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
    const apart = focused ? this.forest.placeOf(focused) : -1;
    if (apart >= 0 && (apart < from || apart >= to)) places[apart < from ? "unshift" : "push"](apart);
    return places;
  }

  /** Place a row after the previous one; do not move rows already in place. */
  put(spot, last) {
    const { entry } = spot;
    let row = this.rows.get(entry.path);
    if (row && row.kind !== entry.kind) {
      row.element.remove();
      row = null;
    }
    row ??= new Row(entry);
    this.rows.set(entry.path, row);
    row.update(entry, this.stateOf(spot));
    const next = last ? last.nextSibling : this.inner.firstChild;
    if (row.element !== next) this.inner.insertBefore(row.element, next);
    return row.element;
  }

  fill(places) {
    while (this.blanks.length < places.length) this.blanks.push(blank());
    for (const extra of this.blanks.splice(places.length)) extra.remove();
    places.forEach((place, index) => {
      this.blanks[index].style.setProperty("--place", place);
      if (!this.blanks[index].isConnected) this.inner.append(this.blanks[index]);
    });
  }

  keepTabStop(focused) {
    const stop = this.rows.get(focused) ?? this.rows.values().next().value;
    for (const row of this.rows.values()) row.attributes({ tabindex: row === stop ? "0" : "-1" });
  }

  rowOf(path) {
    return this.rows.get(path);
  }

  /** Scroll to a row by the smallest distance; centre it if it is far. */
  bring(place) {
    this.stretch();
    const [height, { scrollTop, clientHeight }] = [this.height, this.element];
    const top = place * height;
    const far = top < scrollTop - clientHeight || top > scrollTop + 2 * clientHeight;
    if (far) this.element.scrollTop = top - clientHeight / 2;
    else if (top < scrollTop) this.element.scrollTop = top;
    else if (top + height > scrollTop + clientHeight) this.element.scrollTop = top + height - clientHeight + 6;
    this.draw();
  }

  /** A row to keep in place while rows above it change. */
  anchor() {
    const { scrollTop } = this.element;
    if (!scrollTop) return null;
    const place = Math.ceil(scrollTop / this.height);
    const path = place < this.forest.size ? this.forest.at(place).entry?.path : null;
    return path ? { path, off: place * this.height - scrollTop } : null;
  }

  hold(anchor) {
    const place = anchor ? this.forest.placeOf(anchor.path) : -1;
    if (place < 0) return;
    this.stretch();
    const top = place * this.height - anchor.off;
    if (Math.abs(top - this.element.scrollTop) >= 1) this.element.scrollTop = top;
  }
}
