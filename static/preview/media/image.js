// Image preview: the file itself if the browser supports it, else a copy made by the server.

import { h, icon } from "../../core/dom.js";
import { formatNumber, plural } from "../../core/format.js";
import { emit } from "../../core/event_stream.js";
import { Marking, markButton } from "../marking.js";
import { quietButton } from "../parts.js";
import { ImageZoom } from "./zoom.js";

const QUICK_SIZE = 1280; // pixels of the preview shown before a large image loads

class ImagePreview {
  constructor(file, first) {
    this.file = file;
    this.image = h("img", { alt: file.name, draggable: "false" });
    this.zoom = new ImageZoom(this.image, `Image ${file.name}`);
    this.notes = h("div", { class: "notes", role: "status" });
    this.pages = h("span", { class: "pages" });
    this.zoom.bar.prepend(this.pages);
    this.zoom.bar.append(...[markButton(() => this.mark())].filter(Boolean));
    this.element = this.zoom.element;
    this.element.prepend(this.notes);
    this.page = 0;
    /** @type {Marking | null} */
    this.marking = null;
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    this.update(first);
  }

  close() {
    this.zoom.close();
  }

  /** Let the user mark places in the image that is shown. */
  mark() {
    if (this.marking || !this.image.naturalWidth) return;
    const [width, height] = this.pageSize;
    const { path, step } = this.file;
    this.marking = new Marking({
      path,
      step,
      part: this.first.page_noun === "page" ? `page ${this.page + 1}` : "",
      size: [width, height],
      unit: "pixels",
      load: async () => this.image,
      onEnd: () => {
        this.marking = null;
        this.zoom.lay(null);
        this.element.classList.remove("marked");
      },
    });
    this.zoom.lay(this.marking.overlay);
    this.element.classList.add("marked");
    this.element.append(this.marking.bar);
    this.marking.overlay.focus();
  }

  update(first) {
    this.show(first);
  }

  /** Show the image of a first response; the previous one stays until it has loaded. */
  async show(first) {
    this.marking?.end(); // its marks are of another picture
    this.first = first;
    this.page = Math.min(this.page, Math.max(0, first.pages.length - 1));
    this.isFullSize = false;
    this.showDetails();
    this.onFileChanged();
    this.listPages();
    const [width, height] = this.pageSize;
    this.zoom.size(width, height);
    this.image.classList.toggle("clear", first.alpha);
    if (first.source !== "converted") return this.load([this.file[first.source === "raw" ? "raw" : "view"]({ as: "image", original: 1 })], true);
    const converted = this.file.view({ as: "image", frame: this.page });
    const quick = first.format === "JPEG" ? [this.file.view({ as: "image", thumb: QUICK_SIZE })] : [];
    return this.load([...quick, converted]);
  }

  get pageSize() {
    return this.first.pages[this.page] ?? [this.first.width, this.first.height];
  }

  /** Load the addresses in turn; if the browser refuses the file itself, use a copy made by the server. */
  async load(addresses, isOriginal = false) {
    const request = (this.request = Symbol("load"));
    this.element.setAttribute("aria-busy", "true");
    for (const address of addresses) {
      const loaded = await this.loadImage(address, request);
      if (request !== this.request) return;
      if (loaded || !isOriginal) continue;
      await this.loadImage(this.file.view({ as: "image", frame: this.page }), request);
    }
    this.element.removeAttribute("aria-busy");
  }

  async loadImage(address, request) {
    const next = document.createElement("img");
    next.src = address;
    const display = () => {
      if (request !== this.request) return;
      if (next.naturalWidth && this.first.source !== "converted" && !this.isFullSize) this.zoom.size(next.naturalWidth, next.naturalHeight);
      this.replaceImage(next);
    };
    const early = setTimeout(() => this.image.src || display(), 150);
    try {
      await new Promise((resolve, reject) => Object.assign(next, { onload: resolve, onerror: reject }));
      display();
      return true;
    } catch {
      if (request === this.request) await this.showRefusal(address);
      return false;
    } finally {
      clearTimeout(early);
    }
  }

  replaceImage(next) {
    next.alt = this.file.name;
    next.draggable = false;
    next.className = this.image.className;
    next.style.cssText = this.image.style.cssText;
    this.image.replaceWith(next);
    this.image = this.zoom.image = next;
    this.zoom.layout();
  }

  /** Return the server's reason for refusing an image. */
  async showRefusal(address) {
    if (!address.includes("/view/")) return;
    this.image.removeAttribute("src");
    const { error } = await fetch(address)
      .then((answer) => answer.json())
      .catch(() => ({}));
    this.addNote(error ?? "This image could not be displayed.", "bad");
  }

  showDetails() {
    const { first } = this;
    const [width, height] = this.pageSize;
    const frames = first.frames > 1 ? plural(first.frames, "frame") : first.frames ? "" : "animated";
    this.file.setDetails([`${formatNumber(width)} × ${formatNumber(height)}`, first.format, first.mode, frames].filter(Boolean).join(" · "));
    this.notes.replaceChildren();
    if (first.truncated) this.addNote("The file is truncated. Only part of the image is shown.", "bad");
    if (first.source === "converted" && Math.max(width, height) > first.max_converted_side) this.offerFullSize();
  }

  /** Offer a comparison with the previous version of an image changed by a step. */
  onFileChanged() {
    const { path, preview } = this.file;
    const step = preview.changedIn?.(path, this.file.step ?? undefined);
    if (step === undefined) return;
    const compare = quietButton("Compare", () => emit("open-version", { path, step, compared: true }), {
      title: `Compare with the version before step ${step}`,
    });
    compare.prepend(icon("diff"));
    this.file.setTools(compare);
  }

  offerFullSize() {
    const open = this.first.browser_displays && !this.first.page_noun ? quietButton("Show full size", () => this.showFullSize()) : null;
    this.addNote(`Scaled down to ${formatNumber(this.first.max_converted_side)} pixels.`, "", open);
  }

  showFullSize() {
    this.isFullSize = true;
    this.notes.replaceChildren();
    return this.load([this.file.raw()]);
  }

  addNote(text, className = "", extra = null) {
    this.notes.append(h("p", { class: className }, text, extra));
  }

  listPages() {
    const { page_noun: noun, pages } = this.first;
    if (!noun) return this.pages.replaceChildren();
    const change = (by) => this.showPage(this.page + by);
    const names = pages.map(([width, height], at) =>
      h("option", { value: at, selected: at === this.page }, noun === "page" ? `${at + 1} of ${pages.length}` : `${width} × ${height}`),
    );
    const choice = h("select", { "aria-label": noun === "page" ? "Page" : "Size", onchange: () => this.showPage(Number(choice.value)) }, ...names);
    this.pages.replaceChildren(
      this.zoom.button("‹", `Previous ${noun}`, () => change(-1)),
      choice,
      this.zoom.button("›", `Next ${noun}`, () => change(1)),
    );
  }

  showPage(page) {
    if (page < 0 || page >= this.first.pages.length || page === this.page) return undefined;
    this.page = page;
    return this.show(this.first);
  }

  onKey(event) {
    if (event.defaultPrevented || !this.first.page_noun || event.target.closest("select")) return;
    const by = { PageUp: -1, PageDown: 1 }[event.key];
    if (!by) return;
    this.showPage(this.page + by);
    event.preventDefault();
  }
}

export const open = (file, first) => new ImagePreview(file, first);
