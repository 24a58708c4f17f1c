// SVG preview as an image, so that nothing in it runs or loads.

import { h, icon } from "../../core/dom.js";
import { formatNumber, plural } from "../../core/format.js";
import { sourceToggle } from "../source_toggle.js";
import { ImageZoom } from "./zoom.js";

class SvgPreview {
  constructor(file) {
    this.file = file;
    this.image = h("img", { class: "clear", alt: file.name, draggable: "false" });
    this.zoom = new ImageZoom(this.image, `Drawing ${file.name}`, { vector: true });
    this.notes = h("div", { class: "notes", role: "status" });
    this.element = this.zoom.element;
    this.errorElement = h("div", { class: "message", role: "status", hidden: true });
    this.element.prepend(this.notes);
    this.element.append(this.errorElement);
    file.setTools(...sourceToggle(file, "svg", ""));
  }

  show(first) {
    const { width, height, error, has_size: hasSize, elements, title } = first;
    this.first = first;
    const size = `${formatNumber(Math.round(width))} × ${formatNumber(Math.round(height))}`;
    this.file.setDetails([hasSize && size, plural(elements, "element")].filter(Boolean).join(" · "));
    if (error) return this.showError(error);
    this.zoom.size(width, height);
    this.image.alt = title || this.file.name;
    this.load(this.file.view({ as: "svg", thumb: 1 }));
    return this.showNotes();
  }

  load(address) {
    const next = new Image();
    this.next = next;
    next.onload = () => {
      if (this.next !== next) return;
      this.element.removeAttribute("aria-busy");
      this.setVisible(true);
      this.image.src = address;
      this.zoom.layout();
    };
    next.onerror = () => this.next === next && this.showError("The browser cannot display this drawing.");
    this.element.setAttribute("aria-busy", "true");
    next.src = address;
  }

  showNotes() {
    const { scripts, external_resources: externalResources } = this.first;
    const parts = [scripts && "Scripts are disabled", externalResources && "external resources are not loaded"];
    const text = parts.filter(Boolean).join("; ");
    this.notes.replaceChildren(...(text ? [h("p", {}, `${text[0].toUpperCase()}${text.slice(1)}.`)] : []));
  }

  setVisible(visible) {
    this.zoom.bar.hidden = this.zoom.stage.hidden = !visible;
    this.errorElement.hidden = visible;
  }

  /** Show why it is not drawn; the source remains available. */
  showError(text) {
    this.next = null;
    this.element.removeAttribute("aria-busy");
    this.setVisible(false);
    this.notes.replaceChildren();
    const sourceButton = h("button", { class: "quiet", onclick: () => this.file.preview.openAs("text") }, "View source");
    const downloadLink = h("a", { class: "quiet", href: this.file.address("files", {}), download: this.file.name }, "Download");
    this.errorElement.replaceChildren(icon("file"), h("p", {}, text), h("div", {}, downloadLink, sourceButton));
  }
}

export function open(file, first) {
  const drawing = new SvgPreview(file);
  drawing.show(first);
  return { element: drawing.element, update: (next) => drawing.show(next), close: () => drawing.zoom.close() };
}
