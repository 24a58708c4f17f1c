// SVG preview as an image, so that nothing in it runs or loads.

import { h } from "../../core/dom.js";
import { formatNumber, plural } from "../../core/format.js";
import { downloadLink, messageView, quietButton, sourceToggle } from "../parts.js";
import { ImageZoom } from "./zoom.js";

class SvgPreview {
  constructor(file, first) {
    this.file = file;
    this.image = h("img", { class: "clear", alt: file.name, draggable: "false" });
    this.zoom = new ImageZoom(this.image, `Drawing ${file.name}`, { vector: true });
    this.notes = h("div", { class: "notes", role: "status" });
    this.element = this.zoom.element;
    this.error = h("div", { class: "refusal", hidden: true });
    this.element.prepend(this.notes);
    this.element.append(this.error);
    file.setTools(...sourceToggle(file, ""));
    this.update(first);
  }

  close() {
    this.zoom.close();
  }

  update(first) {
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
    this.error.hidden = visible;
  }

  /** Show why it is not drawn; the source remains available. */
  showError(text) {
    this.next = null;
    this.element.removeAttribute("aria-busy");
    this.setVisible(false);
    this.notes.replaceChildren();
    const source = quietButton("View source", () => this.file.preview.openAs("text"));
    this.error.replaceChildren(messageView(text, downloadLink(this.file), source));
  }
}

export const open = (file, first) => new SvgPreview(file, first);
