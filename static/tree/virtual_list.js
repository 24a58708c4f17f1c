// Virtual list: renders the rows near the viewport and the focused one.

import { h } from "../core/dom.js";
import { createPlaceholder, TreeRow } from "./row.js";

const OVERSCAN = 8; // rows rendered above and below the viewport

export class VirtualList {
  /** `stateOf(spot)` returns a row's state; `onMissing(folders)` is called for rows that are not loaded. */
  constructor(element, model, { stateOf, onMissing }) {
    this.element = element;
    this.model = model;
    this.stateOf = stateOf;
    this.onMissing = onMissing;
    this.inner = h("div", { class: "rows", role: "presentation" });
    element.append(this.inner);
    this.rows = new Map();
    this.placeholders = [];
    this.frame = 0;
    element.addEventListener("scroll", () => this.scheduleDraw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(element);
  }

  clear() {
    this.rows.clear();
    this.placeholders = [];
    this.inner.replaceChildren();
    this.element.scrollTop = 0;
  }

  get height() {
    return parseFloat(getComputedStyle(this.element).getPropertyValue("--row")) || 26;
  }

  /** The first visible position, and the one after the last. */
  visibleRange() {
    const height = this.height;
    const first = Math.floor(this.element.scrollTop / height);
    return [first, first + Math.ceil(this.element.clientHeight / height) + 1];
  }

  scheduleDraw() {
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  updateHeight() {
    this.inner.style.setProperty("--count", this.model.size);
  }

  draw(focused = this.focused) {
    if (this.frame) cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.focused = focused;
    this.updateHeight();
    const hadFocus = this.inner.contains(document.activeElement);
    const spots = this.renderedPositions(focused).map((place) => ({ place, ...this.model.at(place) }));
    this.remove(new Set(spots.map(({ entry }) => entry?.path)));
    const missing = spots.filter(({ entry }) => !entry);
    let last = null;
    for (const spot of spots) if (spot.entry) last = this.placeRow(spot, last);
    this.placePlaceholders(missing.map(({ place }) => place));
    this.keepTabStop(focused);
    if (hadFocus && !this.inner.contains(document.activeElement)) this.rows.get(focused)?.element.focus({ preventScroll: true });
    if (missing.length) this.onMissing(new Set(missing.map(({ folder }) => folder)));
  }

  remove(paths) {
    for (const [path, row] of this.rows) {
      if (paths.has(path)) continue;
      row.element.remove();
      this.rows.delete(path);
    }
  }

  /** The positions to render. */
  renderedPositions(focused) {
    const [first, last] = this.visibleRange();
    const from = Math.max(0, first - OVERSCAN);
    const to = this.element.clientHeight ? Math.min(this.model.size, last + OVERSCAN) : 0;
    const places = Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
    const focusedPlace = focused ? this.model.placeOf(focused) : -1;
    if (focusedPlace >= 0 && (focusedPlace < from || focusedPlace >= to)) places[focusedPlace < from ? "unshift" : "push"](focusedPlace);
    return places;
  }

  /** Place a row after the previous one; do not move rows already in place. */
  placeRow(spot, last) {
    const { entry } = spot;
    let row = this.rows.get(entry.path);
    if (row && row.kind !== entry.kind) {
      row.element.remove();
      row = null;
    }
    row ??= new TreeRow(entry);
    this.rows.set(entry.path, row);
    row.update(entry, this.stateOf(spot));
    const next = last ? last.nextSibling : this.inner.firstChild;
    if (row.element !== next) this.inner.insertBefore(row.element, next);
    return row.element;
  }

  placePlaceholders(places) {
    while (this.placeholders.length < places.length) this.placeholders.push(createPlaceholder());
    for (const extra of this.placeholders.splice(places.length)) extra.remove();
    places.forEach((place, index) => {
      this.placeholders[index].style.setProperty("--place", place);
      if (!this.placeholders[index].isConnected) this.inner.append(this.placeholders[index]);
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
  scrollTo(place) {
    this.updateHeight();
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
    const path = place < this.model.size ? this.model.at(place).entry?.path : null;
    return path ? { path, off: place * this.height - scrollTop } : null;
  }

  restore(anchor) {
    const place = anchor ? this.model.placeOf(anchor.path) : -1;
    if (place < 0) return;
    this.updateHeight();
    const top = place * this.height - anchor.off;
    if (Math.abs(top - this.element.scrollTop) >= 1) this.element.scrollTop = top;
  }
}
