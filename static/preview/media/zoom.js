// Image zoom: buttons, Ctrl and wheel, pinch, keys, dragging.

import { h } from "../../core/dom.js";
import { onWheelZoom } from "../parts.js";

const STEPS = [0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32];
const SMALL_IMAGE = 64; // pixels; smaller images are enlarged
const DRAWING_SIZE = 512; // pixels to which a drawing, sharp at any size, is enlarged
const MIN_DRAG = 3;

/** An element with an image in it; `size(width, height)` sets its size in pixels. */
export class ImageZoom {
  constructor(image, label, { vector = false } = {}) {
    this.image = image;
    this.vector = vector;
    this.width = this.height = this.zoom = 1;
    this.overlay = null; // over the image, of its size
    this.fitting = true;
    this.field = h("div", { class: "field" }, image);
    this.stage = h("div", { class: "stage", tabindex: "0", role: "group", "aria-label": label }, this.field);
    this.level = h("button", { class: "quiet num level", onclick: () => this.toggle() });
    this.bar = h(
      "div",
      { class: "zoombar", role: "toolbar", "aria-label": "Zoom" },
      this.button("−", "Zoom out", () => this.step(-1)),
      this.level,
      this.button("+", "Zoom in", () => this.step(1)),
    );
    this.element = h("div", { class: "zoomed" }, this.stage, this.bar);
    onWheelZoom(this.stage, (by, event) => this.zoomTo(this.zoom * by, event.clientX, event.clientY));
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    this.touches = new Map();
    this.stage.addEventListener("pointerdown", (event) => this.onPointerDown(event));
    this.stage.addEventListener("pointermove", (event) => this.onPointerMove(event));
    for (const name of ["pointerup", "pointercancel"]) this.stage.addEventListener(name, (event) => this.onPointerUp(event));
    this.observer = new ResizeObserver(() => this.layout());
    this.observer.observe(this.stage);
  }

  button(text, label, onclick) {
    return h("button", { class: "quiet", "aria-label": label, title: label, onclick }, text);
  }

  /** Lay an element over the image, of its size; null for none. */
  lay(overlay) {
    this.overlay = overlay;
    if (overlay) this.field.append(overlay);
    this.layout();
  }

  size(width, height) {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
    this.layout();
  }

  /** The scale that fits the whole image; only tiny images are enlarged. */
  get fit() {
    const longest = Math.max(this.width, this.height);
    const tiny = longest < SMALL_IMAGE ? Math.floor((SMALL_IMAGE * 2) / longest) : 1;
    const maxScale = this.vector ? Math.max(1, DRAWING_SIZE / longest) : tiny;
    const { clientWidth, clientHeight } = this.stage;
    return Math.min(maxScale, Math.max(1, clientWidth - 32) / this.width, Math.max(1, clientHeight - 32) / this.height);
  }

  get minimum() {
    return Math.min(this.fit, STEPS[0]);
  }

  layout() {
    if (!this.stage.clientWidth) return;
    if (this.fitting) this.zoom = this.fit;
    const { width, height, zoom, image, field, stage } = this;
    for (const each of [image, this.overlay].filter(Boolean)) {
      each.style.width = `${Math.max(1, width * zoom)}px`;
      each.style.height = `${Math.max(1, height * zoom)}px`;
    }
    image.classList.toggle("pixels", !this.vector && zoom * devicePixelRatio >= 3);
    const overflows = field.offsetWidth > stage.clientWidth || field.offsetHeight > stage.clientHeight;
    stage.classList.toggle("wide", overflows);
    const percent = zoom * 100;
    const level = `${percent < 10 ? percent.toFixed(1) : Math.round(percent)}%`;
    this.level.textContent = level;
    const label = this.fitting ? "Show at 100%" : "Fit to window";
    this.level.title = label;
    this.level.setAttribute("aria-label", `${level}: ${label.toLowerCase()}`);
  }

  /** Zoom around a point of the viewport; default: its centre. */
  zoomTo(zoom, x, y) {
    const { stage, image } = this;
    const box = stage.getBoundingClientRect();
    const [atX, atY] = [x ?? box.left + box.width / 2, y ?? box.top + box.height / 2];
    const before = image.getBoundingClientRect();
    const fraction = [(atX - before.left) / before.width, (atY - before.top) / before.height];
    this.fitting = false;
    this.zoom = Math.min(STEPS.at(-1) * 4, Math.max(this.minimum, zoom));
    this.layout();
    const after = image.getBoundingClientRect();
    stage.scrollLeft += after.left + fraction[0] * after.width - atX;
    stage.scrollTop += after.top + fraction[1] * after.height - atY;
  }

  step(by) {
    const steps = by > 0 ? STEPS : [...STEPS].reverse();
    this.zoomTo(steps.find((each) => (each - this.zoom) * by > 0.001) ?? this.zoom * 2 ** by);
  }

  toggle() {
    if (this.fitting && Math.abs(this.zoom - 1) > 0.001) this.zoomTo(1);
    else this.zoomToFit();
  }

  zoomToFit() {
    this.fitting = true;
    this.layout();
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { "+": 1, "=": 1, "-": -1 }[event.key];
    if (step) this.step(step);
    else if (event.key === "0") this.zoomToFit();
    else if (event.key === "1") this.zoomTo(1);
    else if (!this.pan(event.key)) return;
    event.preventDefault();
  }

  /** Arrow keys pan an image wider than the viewport; otherwise they open the next file. */
  pan(key) {
    const by = { ArrowLeft: [-80, 0], ArrowRight: [80, 0], ArrowUp: [0, -80], ArrowDown: [0, 80] }[key];
    const { stage } = this;
    if (!by || (by[0] && stage.scrollWidth <= stage.clientWidth)) return false;
    stage.scrollBy(...by);
    return true;
  }

  onPointerDown(event) {
    this.touches.set(event.pointerId, event);
    if (event.pointerType !== "touch" && event.button === 0) this.dragged = { x: event.clientX, y: event.clientY, moved: false };
    if (this.touches.size === 2) this.pinched = { distance: this.touchDistance(), zoom: this.zoom };
  }

  onPointerMove(event) {
    if (!this.touches.has(event.pointerId)) return;
    this.touches.set(event.pointerId, event);
    if (this.touches.size === 2 && this.pinched) {
      const [a, b] = [...this.touches.values()];
      this.zoomTo((this.pinched.zoom * this.touchDistance()) / this.pinched.distance, (a.clientX + b.clientX) / 2, (a.clientY + b.clientY) / 2);
    } else if (this.dragged) {
      this.drag(event);
    }
  }

  drag(event) {
    const [x, y] = [event.clientX - this.dragged.x, event.clientY - this.dragged.y];
    if (!this.dragged.moved && Math.hypot(x, y) < MIN_DRAG) return;
    if (!this.dragged.moved) this.stage.setPointerCapture(event.pointerId);
    this.stage.scrollBy(-x, -y);
    this.stage.classList.add("dragged");
    this.dragged = { x: event.clientX, y: event.clientY, moved: true };
  }

  onPointerUp(event) {
    this.touches.delete(event.pointerId);
    this.pinched = this.dragged = null;
    this.stage.classList.remove("dragged");
  }

  touchDistance() {
    const [a, b] = [...this.touches.values()];
    return Math.max(1, Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY));
  }

  close() {
    this.observer.disconnect();
  }
}
