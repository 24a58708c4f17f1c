// One page of a PDF: image, selectable text and search matches.

import { h } from "../../core/dom.js";

const MOST_PIXELS = 16e6; // of one image; for more detail only the visible part is requested
const pen = document.createElement("canvas").getContext("2d");
pen.font = "100px sans-serif";

export class Sheet {
  constructor(paper, at) {
    Object.assign(this, { paper, at, width: 0, shown: 0 });
    this.picture = h("img", { alt: "", draggable: "false" });
    this.detail = h("img", { class: "detail", alt: "", draggable: "false", hidden: true });
    this.words = h("div", { class: "words" });
    this.marks = h("div", { class: "marks", "aria-hidden": "true" });
    this.says = h("p", { class: "failed", hidden: true });
    this.element = h("section", { class: "sheet", "aria-label": `Page ${at + 1}`, "data-page": at + 1 },
      this.picture, this.detail, this.marks, this.words, this.says);
  }

  /** Set its position and the scale in pixels per point. */
  lay({ top, left, width, height, scale }) {
    this.scale = scale;
    this.element.style.cssText = `top: ${top}px; left: ${left}px; width: ${width}px; height: ${height}px; --k: ${scale}`;
    if (Math.abs(width - this.laid) > 0.5) this.detail.hidden = true;
    this.laid = width;
    this.area = [width * devicePixelRatio, height * devicePixelRatio];
  }

  get wanted() {
    const [width, height] = this.area;
    return Math.max(1, Math.round(width * Math.min(1, Math.sqrt(MOST_PIXELS / (width * height)))));
  }

  get sharp() {
    return this.shown === this.wanted && this.version === this.paper.file.version;
  }

  /** Request the image at the displayed resolution. */
  async draw() {
    const [width, version] = [this.wanted, this.paper.file.version];
    const next = new Image();
    const address = this.paper.file.view({ as: "pdf", page: this.at, width });
    next.src = address;
    try {
      await next.decode();
      Object.assign(this, { shown: width, version });
      this.picture.src = address;
      this.say("");
    } catch {
      Object.assign(this, { shown: width, version });
      const said = await fetch(address).then((answer) => answer.json()).catch(() => ({}));
      this.say(said.error || "This page could not be displayed.");
    }
  }

  /** Request the visible part of a page that exceeds the image limit. */
  async drawPart(box) {
    const [width] = this.area;
    if (this.wanted >= Math.round(width) - 1) return;
    const own = this.element.getBoundingClientRect();
    const [left, top] = [Math.max(0, box.left - own.left), Math.max(0, box.top - own.top)];
    const [right, bottom] = [Math.min(own.width, box.right - own.left), Math.min(own.height, box.bottom - own.top)];
    if (right - left < 8 || bottom - top < 8) return;
    const px = [left, top, right - left, bottom - top].map((side) => Math.round(side * devicePixelRatio));
    const address = this.paper.file.view({ as: "pdf", page: this.at, width: Math.round(width), clip: px.join(",") });
    const next = new Image();
    next.src = address;
    const asked = (this.part = address);
    await next.decode().catch(() => null);
    if (asked !== this.part || !next.naturalWidth) return;
    this.detail.src = address;
    this.detail.style.cssText = `left: ${left}px; top: ${top}px; width: ${right - left}px; height: ${bottom - top}px`;
    this.detail.hidden = false;
  }

  say(text) {
    this.says.hidden = !text;
    this.says.textContent = text;
    if (text) this.picture.removeAttribute("src");
  }

  /** Add the text layer, invisible until selected. */
  async write() {
    if (this.written === this.paper.file.version) return;
    this.written = this.paper.file.version;
    const { runs, links } = await this.paper.file.ask({ as: "pdf", text: this.at }).catch(() => ({ runs: [], links: [] }));
    this.words.replaceChildren();
    for (const [left, top, width, height, text, ends] of runs) {
      const natural = (pen.measureText(text).width * height) / 100 || 1;
      this.words.append(h("span", {
        style: `left: calc(${left}px * var(--k)); top: calc(${top}px * var(--k)); font-size: calc(${height}px * var(--k)); transform: scaleX(${(width / natural).toFixed(4)})`,
      }, text), ...(ends ? [document.createElement("br")] : []));
    }
    for (const [left, top, width, height, to] of links) {
      this.words.append(h("button", {
        type: "button", class: "leads", title: `Go to page ${to + 1}`, "aria-label": `Go to page ${to + 1}`, style: place(left, top, width, height),
        onclick: () => this.paper.goTo(to),
      }));
    }
  }

  /** Highlight matches on this page; `now` is the current match, if on this page. */
  mark(places, now) {
    this.marks.replaceChildren(...places.flatMap(({ boxes }, at) =>
      boxes.map((box) => h("i", { class: at === now ? "now" : null, style: place(...box) }))));
  }
}

const place = (left, top, width, height) =>
  ["left", "top", "width", "height"].map((name, at) => `${name}: calc(${[left, top, width, height][at]}px * var(--k))`).join("; ");
