// An archive member, presented to a kind's module as a file.

import { h } from "../../core/dom.js";
import { formatBytes } from "../../core/format.js";
import { emit, currentRun } from "../../core/event_stream.js";
import { parentOf } from "../../core/paths.js";
import { loadModule, PreviewFile } from "../file.js";
import { downloadLink, messageView, quietButton, showProgress } from "../parts.js";
import { fetchWithRetry } from "../../core/loading/fetch.js";

/** Stands in for a file inside an archive; requests go to the archive. */
class ArchiveMemberFile extends PreviewFile {
  constructor(memberView, archive, { at, name, size }) {
    const { element, passwords } = archive.preview;
    const setFullScreen = (on) => archive.preview.setFullScreen(on);
    const preview = { element, passwords, setFullScreen, openAs: (kind) => memberView.show(kind), load: () => memberView.show("") };
    super(preview, archive.path, archive.entry && { ...archive.entry, size }, archive.step || "0", false, null);
    this.memberView = memberView;
    this.archive = archive;
    this.at = at;
    this.name = name;
    this.controller = archive.controller;
  }

  get version() {
    return this.archive.version;
  }

  view({ as, ...options } = /** @type {Record<string, any>} */ ({})) {
    return this.archive.view({ as: "archive", member: this.at, ...(as ? { member_as: as } : {}), ...options });
  }

  raw() {
    return this.view({ raw: 1 });
  }

  address(what, options = {}) {
    return what === "files" ? this.raw() : this.view(options);
  }

  /** Return the member's kind, its page module and its view. */
  fetch(options = {}) {
    return super.ask(options);
  }

  async ask(options = {}) {
    return (await this.fetch(options)).view;
  }

  setDetails(text) {
    this.memberView.setDetails(text);
  }

  setTools(...elements) {
    this.memberView.tools.replaceChildren(...elements);
  }
}

/** A member's preview: a header with a way back, and the element of its kind's module. */
export class ArchiveMemberView {
  constructor(archive, { at, name, size, path, onBack }) {
    this.size = size;
    this.member = new ArchiveMemberFile(this, archive, { at, name, size });
    this.details = h("small", { class: "num" });
    this.tools = h("span", { class: "tools" });
    this.canvas = h("div", { class: "inset", tabindex: "0" });
    const back = h("button", { class: "quiet", "aria-label": "Back to archive", onclick: onBack }, h("span", { "aria-hidden": "true" }, "‹"), "Archive");
    const extractButton = quietButton("Extract to workspace", () => this.extract(name, extractButton));
    extractButton.hidden = !currentRun.canEditFiles || !archive.preview.onMove; // a file's own tab has no uploads
    this.element = h(
      "div",
      { class: "member-view" },
      h(
        "div",
        { class: "header" },
        h("span", {}, back),
        h("b", { title: path }, path),
        this.details,
        this.tools,
        h("span", {}, extractButton, downloadLink(this.member)),
      ),
      this.canvas,
    );
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      event.stopPropagation();
      onBack();
    });
    this.setDetails("");
    this.show("");
  }

  async show(as) {
    const request = (this.request = {});
    this.currentView?.close?.();
    this.currentView = null;
    this.tools.replaceChildren();
    const show = (element, className) => {
      this.canvas.className = `inset ${className}`;
      this.canvas.replaceChildren(element);
    };
    const done = showProgress("Loading", (words) => request === this.request && show(words, "message"));
    try {
      const { kind, page, rendered, view } = await this.member.fetch(as ? { as } : {});
      this.member.rendered = rendered;
      const shown = await (await loadModule(page, kind)).open(this.member, view);
      if (request !== this.request) return void shown.close?.();
      this.currentView = shown;
      show(shown.element, `kind-${kind}`);
    } catch (error) {
      if (request === this.request) show(messageView(error.message), "message");
    } finally {
      done();
    }
  }

  /** Upload the member to the folder that contains its archive. */
  async extract(name, button) {
    button.disabled = true;
    try {
      const response = await fetchWithRetry(this.member.raw());
      if (!response.ok) throw new Error(await response.text());
      const folder = parentOf(this.member.path);
      emit("upload", { files: [new File([await response.blob()], name)], folder });
    } catch (error) {
      emit("upload-failed", `Cannot extract ${name}: ${error.message}`);
    } finally {
      button.disabled = false;
    }
  }

  setDetails(text) {
    this.details.textContent = [text, this.size >= 0 ? formatBytes(this.size) : ""].filter(Boolean).join(" · ");
  }

  close() {
    this.request = null;
    this.currentView?.close?.();
  }
}
