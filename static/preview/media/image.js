// Image preview: the file itself if the browser supports it, else a copy made by the server.

import { h, icon, styled } from "../../core/dom.js";
import { number, plural } from "../../core/format.js";
import { emit } from "../../core/session.js";
import { Zoom } from "./zoom.js";

const FIRST = 1280; // pixels of the preview shown before a large image loads

class ImageView {
  constructor(file) {
    this.file = file;
    this.picture = h("img", { alt: file.name, draggable: "false" });
    this.zoom = new Zoom(this.picture, `Image ${file.name}`);
    this.notes = h("div", { class: "notes", role: "status" });
    this.pages = h("span", { class: "pages" });
    this.zoom.bar.prepend(this.pages);
    this.element = this.zoom.element;
    this.element.prepend(this.notes);
    this.page = 0;
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  /** Show the image of a first response; the previous one stays until it has loaded. */
  async show(first) {
    this.first = first;
    this.page = Math.min(this.page, Math.max(0, first.pages.length - 1));
    this.whole = false;
    this.say();
    this.offerComparison();
    this.listPages();
    const [width, height] = this.shape;
    this.zoom.size(width, height);
    this.picture.classList.toggle("clear", first.alpha);
    if (first.source !== "made") return this.load([this.file[first.source === "raw" ? "raw" : "view"]({ as: "image", original: 1 })], true);
    const made = this.file.view({ as: "image", frame: this.page });
    const quick = first.format === "JPEG" ? [this.file.view({ as: "image", thumb: FIRST })] : [];
    return this.load([...quick, made]);
  }

  get shape() {
    return this.first.pages[this.page] ?? [this.first.width, this.first.height];
  }

  /** Load the addresses in turn; if the browser refuses the file itself, use a copy made by the server. */
  async load(addresses, itself = false) {
    const turn = (this.turn = Symbol("load"));
    this.element.setAttribute("aria-busy", "true");
    for (const address of addresses) {
      const fine = await this.take(address, turn);
      if (turn !== this.turn) return;
      if (fine || !itself) continue;
      await this.take(this.file.view({ as: "image", frame: this.page }), turn);
    }
    this.element.removeAttribute("aria-busy");
  }

  async take(address, turn) {
    const next = document.createElement("img");
    next.src = address;
    const shows = () => {
      if (turn !== this.turn) return;
      if (next.naturalWidth && this.first.source !== "made" && !this.whole) this.zoom.size(next.naturalWidth, next.naturalHeight);
      this.put(next);
    };
    const early = setTimeout(() => this.picture.src || shows(), 150);
    try {
      await new Promise((resolve, reject) => Object.assign(next, { onload: resolve, onerror: reject }));
      shows();
      return true;
    } catch {
      if (turn === this.turn) await this.refused(address);
      return false;
    } finally {
      clearTimeout(early);
    }
  }

  put(next) {
    next.alt = this.file.name;
    next.draggable = false;
    next.className = this.picture.className;
    next.style.cssText = this.picture.style.cssText;
    this.picture.replaceWith(next);
    this.picture = this.zoom.picture = next;
    this.zoom.lay();
  }

  /** Return the server's reason for refusing an image. */
  async refused(address) {
    if (!address.includes("/view/")) return;
    this.picture.removeAttribute("src");
    const { error } = await fetch(address).then((answer) => answer.json()).catch(() => ({}));
    this.note(error ?? "This image could not be displayed.", "bad");
  }

  say() {
    const { first } = this;
    const [width, height] = this.shape;
    const frames = first.frames > 1 ? plural(first.frames, "frame") : first.frames ? "" : "animated";
    this.file.tell([`${number(width)} × ${number(height)}`, first.format, first.mode, frames].filter(Boolean).join(" · "));
    this.notes.replaceChildren();
    if (first.cut) this.note("The file is truncated. Only part of the image is shown.", "bad");
    if (first.source === "made" && Math.max(width, height) > first.made) this.reduced();
  }

  /** Offer a comparison with the previous version of an image changed by a step. */
  offerComparison() {
    const { path, preview } = this.file;
    const step = preview.changedIn?.(path, this.file.step ?? undefined);
    if (step === undefined) return;
    const title = `Compare with the version before step ${step}`;
    this.file.tools(h("button", { type: "button", class: "quiet", title, onclick: () => emit("past", { path, step, compared: true }) }, icon("differs"), "Compare"));
  }

  reduced() {
    const open = h("button", { type: "button", class: "quiet", onclick: () => this.everyPixel() }, "Show full size");
    this.note(`Scaled down to ${number(this.first.made)} pixels.`, "", this.first.raw && !this.first.paged ? open : null);
  }

  everyPixel() {
    this.whole = true;
    this.notes.replaceChildren();
    return this.load([this.file.raw()]);
  }

  note(text, mood = "", extra = null) {
    this.notes.append(h("p", { class: mood }, text, extra));
  }

  listPages() {
    const { paged, pages } = this.first;
    if (!paged) return this.pages.replaceChildren();
    const turn = (by) => this.turnTo(this.page + by);
    const names = pages.map(([width, height], at) => h("option", { value: at, selected: at === this.page },
      paged === "page" ? `${at + 1} of ${pages.length}` : `${width} × ${height}`));
    const choice = h("select", { "aria-label": paged === "page" ? "Page" : "Size", onchange: () => this.turnTo(Number(choice.value)) }, ...names);
    this.pages.replaceChildren(
      this.zoom.button("‹", `Previous ${paged}`, () => turn(-1)), choice,
      this.zoom.button("›", `Next ${paged}`, () => turn(1)));
  }

  turnTo(page) {
    if (page < 0 || page >= this.first.pages.length || page === this.page) return undefined;
    this.page = page;
    return this.show(this.first);
  }

  key(event) {
    if (event.defaultPrevented || !this.first.paged || event.target.closest("select")) return;
    const by = { PageUp: -1, PageDown: 1 }[event.key];
    if (!by) return;
    this.turnTo(this.page + by);
    event.preventDefault();
  }
}

export async function open(file, first) {
  await styled("preview/media/media.css");
  const image = new ImageView(file);
  image.show(first);
  return { element: image.element, update: (next) => void image.show(next), noted: () => image.offerComparison(), close: () => image.zoom.close() };
}
