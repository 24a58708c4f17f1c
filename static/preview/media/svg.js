// SVG preview as an image, so that nothing in it runs or loads.

import { h, icon, styled } from "../../core/dom.js";
import { number, plural } from "../../core/format.js";
import { sides } from "../source_toggle.js";
import { Zoom } from "./zoom.js";

class Drawing {
  constructor(file) {
    this.file = file;
    this.picture = h("img", { class: "clear", alt: file.name, draggable: "false" });
    this.zoom = new Zoom(this.picture, `Drawing ${file.name}`, { drawn: true });
    this.notes = h("div", { class: "notes", role: "status" });
    this.element = this.zoom.element;
    this.why = h("div", { class: "says", role: "status", hidden: true });
    this.element.prepend(this.notes);
    this.element.append(this.why);
    file.tools(...sides(file, "drawing", ""));
  }

  show(first) {
    const { width, height, wrong, sized, elements, title } = first;
    this.first = first;
    const size = `${number(Math.round(width))} × ${number(Math.round(height))}`;
    this.file.tell([sized && size, plural(elements, "element")].filter(Boolean).join(" · "));
    if (wrong) return this.refuse(wrong);
    this.zoom.size(width, height);
    this.picture.alt = title || this.file.name;
    this.load(this.file.view({ as: "drawing", thumb: 1 }));
    return this.say();
  }

  load(address) {
    const next = new Image();
    this.next = next;
    next.onload = () => {
      if (this.next !== next) return;
      this.element.removeAttribute("aria-busy");
      this.shown(true);
      this.picture.src = address;
      this.zoom.lay();
    };
    next.onerror = () => this.next === next && this.refuse("The browser cannot display this drawing.");
    this.element.setAttribute("aria-busy", "true");
    next.src = address;
  }

  say() {
    const { scripts, outside } = this.first;
    const parts = [scripts && "Scripts are disabled", outside && "external resources are not loaded"];
    const text = parts.filter(Boolean).join("; ");
    this.notes.replaceChildren(...(text ? [h("p", {}, `${text[0].toUpperCase()}${text.slice(1)}.`)] : []));
  }

  shown(fine) {
    this.zoom.bar.hidden = this.zoom.stage.hidden = !fine;
    this.why.hidden = fine;
  }

  /** Show why it is not drawn; the source remains available. */
  refuse(text) {
    this.next = null;
    this.element.removeAttribute("aria-busy");
    this.shown(false);
    this.notes.replaceChildren();
    const source = h("button", { type: "button", class: "quiet", onclick: () => this.file.preview.openAs("text") }, "View source");
    const taking = h("a", { class: "quiet", href: this.file.address("files", {}), download: this.file.name }, "Download");
    this.why.replaceChildren(icon("file"), h("p", {}, text), h("div", {}, taking, source));
  }
}

export async function open(file, first) {
  await styled("preview/media/media.css");
  const drawing = new Drawing(file);
  drawing.show(first);
  return { element: drawing.element, update: (next) => drawing.show(next), close: () => drawing.zoom.close() };
}
