// One page of a PDF: image, selectable text and search matches.

import { h } from "../../core/dom.js";
import { Marking } from "../marking.js";

const MARKED_WIDTH = 1600; // pixels of a page that is sent with marks
const MAX_PIXELS = 16e6; // of one image; for more detail only the visible part is requested
const measureContext = document.createElement("canvas").getContext("2d");
measureContext.font = "100px sans-serif";

export class PdfPage {
  constructor(pages, at) {
    this.pages = pages;
    this.at = at;
    /** @type {Marking | null} */
    this.marking = null;
    this.width = 0;
    this.shownWidth = 0;
    this.image = h("img", { alt: "", draggable: "false" });
    this.detail = h("img", { class: "detail", alt: "", draggable: "false", hidden: true });
    this.textLayer = h("div", { class: "text-layer" });
    this.highlights = h("div", { class: "marks", "aria-hidden": "true" });
    this.error = h("p", { class: "failed", hidden: true });
    this.element = h(
      "section",
      { class: "page", "aria-label": `Page ${at + 1}`, "data-page": at + 1 },
      this.image,
      this.detail,
      this.highlights,
      this.textLayer,
      this.error,
    );
  }

  /** Set its position and the scale in pixels per point. */
  layout({ top, left, width, height, scale }) {
    this.scale = scale;
    this.element.style.cssText = `top: ${top}px; left: ${left}px; width: ${width}px; height: ${height}px; --k: ${scale}`;
    if (Math.abs(width - this.layoutWidth) > 0.5) this.detail.hidden = true;
    this.layoutWidth = width;
    this.area = [width * devicePixelRatio, height * devicePixelRatio];
  }

  get targetWidth() {
    const [width, height] = this.area;
    return Math.max(1, Math.round(width * Math.min(1, Math.sqrt(MAX_PIXELS / (width * height)))));
  }

  get sharp() {
    return this.shownWidth === this.targetWidth && this.version === this.pages.file.version;
  }

  /** Request the image at the displayed resolution. */
  async draw() {
    const [width, version] = [this.targetWidth, this.pages.file.version];
    const { file } = this.pages;
    const options = { as: "pdf", page: this.at, width };
    const next = new Image();
    try {
      next.src = await file.binaryView(options);
      await next.decode();
      this.shownWidth = width;
      this.version = version;
      setSource(this.image, next.src);
      this.showError("");
    } catch {
      this.shownWidth = width;
      this.version = version;
      const response = await fetch(file.view(options), file.fetchOptions)
        .then((answer) => answer.json())
        .catch(() => ({}));
      this.showError(response.error || "This page could not be displayed.");
    }
  }

  /** Request the visible part of a page that exceeds the image limit. */
  async drawDetail(box) {
    const [width] = this.area;
    if (this.targetWidth >= Math.round(width) - 1) return;
    const pageBox = this.element.getBoundingClientRect();
    const [left, top] = [Math.max(0, box.left - pageBox.left), Math.max(0, box.top - pageBox.top)];
    const [right, bottom] = [Math.min(pageBox.width, box.right - pageBox.left), Math.min(pageBox.height, box.bottom - pageBox.top)];
    if (right - left < 8 || bottom - top < 8) return;
    const pixels = [left, top, right - left, bottom - top].map((side) => Math.round(side * devicePixelRatio));
    const options = { as: "pdf", page: this.at, width: Math.round(width), clip: pixels.join(",") };
    const next = new Image();
    this.nextDetail = next;
    next.src = await this.pages.file.binaryView(options).catch(() => "");
    await next.decode().catch(() => null);
    if (next !== this.nextDetail || !next.naturalWidth) return void forget(next.src);
    setSource(this.detail, next.src);
    this.detail.style.cssText = `left: ${left}px; top: ${top}px; width: ${right - left}px; height: ${bottom - top}px`;
    this.detail.hidden = false;
  }

  /** Let the user mark places on the page. */
  mark(bar) {
    const { file } = this.pages;
    this.marking = new Marking({
      path: file.path,
      part: `page ${this.at + 1}`,
      step: file.step,
      size: this.pages.size(this.at),
      unit: "points",
      load: async () => {
        const image = new Image();
        image.src = await file.binaryView({ as: "pdf", page: this.at, width: MARKED_WIDTH });
        await image.decode();
        forget(image.src);
        return image;
      },
      onEnd: () => (this.marking = null),
    });
    this.element.append(this.marking.overlay);
    bar.append(this.marking.bar);
    this.marking.overlay.focus({ preventScroll: true });
  }

  /** Remove the page. */
  remove() {
    this.marking?.end();
    this.element.remove();
    for (const image of [this.image, this.detail]) forget(image.src);
  }

  showError(text) {
    this.error.hidden = !text;
    this.error.textContent = text;
    if (text) this.image.removeAttribute("src");
  }

  /** Add the text layer, invisible until selected. */
  async loadText() {
    if (this.textVersion === this.pages.file.version) return;
    this.textVersion = this.pages.file.version;
    const { runs, links } = await this.pages.file.ask({ as: "pdf", text: this.at }).catch(() => ({ runs: [], links: [] }));
    this.textLayer.replaceChildren();
    for (const [left, top, width, height, text, endsLine] of runs) {
      const natural = (measureContext.measureText(text).width * height) / 100 || 1;
      this.textLayer.append(
        h(
          "span",
          {
            style: `left: calc(${left}px * var(--k)); top: calc(${top}px * var(--k)); font-size: calc(${height}px * var(--k)); transform: scaleX(${(width / natural).toFixed(4)})`,
          },
          text,
        ),
        ...(endsLine ? [document.createElement("br")] : []),
      );
    }
    for (const [left, top, width, height, to] of links) {
      this.textLayer.append(
        h("button", {
          class: "page-link",
          title: `Go to page ${to + 1}`,
          "aria-label": `Go to page ${to + 1}`,
          style: boxStyle(left, top, width, height),
          onclick: () => this.pages.goTo(to),
        }),
      );
    }
  }

  /** Highlight matches on this page; `current` is the current match, if on this page. */
  highlight(matches, current) {
    this.highlights.replaceChildren(
      ...matches.flatMap(({ boxes }, at) => boxes.map((box) => h("i", { class: at === current ? "current" : null, style: boxStyle(...box) }))),
    );
  }
}

const boxStyle = (left, top, width, height) =>
  ["left", "top", "width", "height"].map((name, at) => `${name}: calc(${[left, top, width, height][at]}px * var(--k))`).join("; ");

/** Show another image, and release the one in memory that was shown before. */
function setSource(image, address) {
  const before = image.src;
  image.src = address;
  if (before !== image.src) forget(before);
}

function forget(address) {
  if (address.startsWith("blob:")) URL.revokeObjectURL(address);
}
