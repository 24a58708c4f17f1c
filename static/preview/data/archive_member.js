// An archive member, presented to a kind's module as a file.

import { h, icon } from "../../core/dom.js";
import { bytes } from "../../core/format.js";
import { kind as kindOf } from "../loader.js";
import { waiting } from "../progress_note.js";

/** Stands in for a file inside an archive; requests go to the archive. */
class Member {
  constructor(within, archive, at, name, size) {
    Object.assign(this, { within, archive, at, name, step: archive.step || "0" });
    this.path = archive.path;
    this.entry = archive.entry && { ...archive.entry, size };
    this.preview = { element: archive.preview.element, fill: (filled) => archive.preview.fill(filled), openAs: (kind) => within.show(kind) };
  }

  get version() {
    return this.archive.version;
  }

  view({ as, ...options } = {}) {
    return this.archive.view({ as: "archive", member: this.at, ...(as ? { inner: as } : {}), ...options });
  }

  raw() {
    return this.archive.view({ as: "archive", member: this.at, take: 1 });
  }

  address(what, options = {}) {
    return what === "files" ? this.raw() : this.view(options);
  }

  async ask(options = {}) {
    const { as, ...rest } = options;
    const { view } = await this.archive.ask({ as: "archive", member: this.at, ...(as ? { inner: as } : {}), ...rest });
    return view;
  }

  tell(text) {
    this.within.tell(text);
  }

  tools(...elements) {
    this.within.tools.replaceChildren(...elements);
  }
}

/** A member's preview: a header with a way back, and the element of its kind's module. */
export class Within {
  constructor(archive, { at, name, size, path, onBack }) {
    Object.assign(this, { size });
    this.member = new Member(this, archive, at, name, size);
    this.about = h("small", { class: "num" });
    this.tools = h("span", { class: "tools" });
    this.canvas = h("div", { class: "inset", tabindex: "0" });
    const back = h("button", { type: "button", class: "quiet", "aria-label": "Back to archive", onclick: onBack }, h("span", { "aria-hidden": "true" }, "‹"), "Archive");
    const take = h("a", { class: "quiet", href: this.member.raw(), download: name }, "Download");
    this.element = h("div", { class: "within" }, h("div", { class: "hd" }, h("span", {}, back), h("b", { title: path }, path), this.about, this.tools, h("span", {}, take)), this.canvas);
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      event.stopPropagation();
      onBack();
    });
    this.tell("");
    this.show("");
  }

  async show(as) {
    const turn = (this.turn = {});
    this.shown?.close?.();
    this.shown = null;
    this.tools.replaceChildren();
    const done = waiting("Loading", (words) => turn === this.turn && this.says(words));
    try {
      const { kind, view } = await this.member.archive.ask({ as: "archive", member: this.member.at, ...(as ? { inner: as } : {}) });
      const shown = await (await kindOf(kind)).open(this.member, view);
      if (turn !== this.turn) return void shown.close?.();
      this.shown = shown;
      this.canvas.className = `inset kind-${kind}`;
      this.canvas.replaceChildren(shown.element);
    } catch (error) {
      if (turn === this.turn) this.says(h("p", {}, error.message));
    } finally {
      done();
    }
  }

  says(words) {
    this.canvas.className = "inset says";
    this.canvas.replaceChildren(h("div", { class: "says" }, icon("file"), words));
  }

  tell(text) {
    this.about.textContent = [text, this.size >= 0 ? bytes(this.size) : ""].filter(Boolean).join(" · ");
  }

  close() {
    this.turn = null;
    this.shown?.close?.();
  }
}
