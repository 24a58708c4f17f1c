// An archive member, presented to a kind's module as a file.

import { h, icon } from "../../core/dom.js";
import { formatBytes } from "../../core/format.js";
import { emit, currentRun } from "../../core/event_stream.js";
import { parentOf } from "../../core/paths.js";
import { loadKind } from "../loader.js";
import { showProgress } from "../progress_note.js";
import { fetchWithRetry } from "../../core/loading/fetch.js";

/** Stands in for a file inside an archive; requests go to the archive. */
class ArchiveMemberFile {
  constructor(memberView, archive, at, name, size) {
    this.memberView = memberView;
    this.archive = archive;
    this.at = at;
    this.name = name;
    this.step = archive.step || "0";
    this.path = archive.path;
    this.entry = archive.entry && { ...archive.entry, size };
    this.preview = { element: archive.preview.element, setFullScreen: (on) => archive.preview.setFullScreen(on), openAs: (kind) => memberView.show(kind) };
  }

  get version() {
    return this.archive.version;
  }

  view({ as, ...options } = /** @type {{ as?: string }} */ ({})) {
    return this.archive.view({ as: "archive", member: this.at, ...(as ? { member_as: as } : {}), ...options });
  }

  raw() {
    return this.archive.view({ as: "archive", member: this.at, raw: 1 });
  }

  address(what, options = {}) {
    return what === "files" ? this.raw() : this.view(options);
  }

  async ask(options = {}) {
    const { as, ...rest } = options;
    const { view } = await this.archive.ask({ as: "archive", member: this.at, ...(as ? { member_as: as } : {}), ...rest });
    return view;
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
    this.member = new ArchiveMemberFile(this, archive, at, name, size);
    this.details = h("small", { class: "num" });
    this.tools = h("span", { class: "tools" });
    this.canvas = h("div", { class: "inset", tabindex: "0" });
    const back = h("button", { class: "quiet", "aria-label": "Back to archive", onclick: onBack }, h("span", { "aria-hidden": "true" }, "‹"), "Archive");
    const downloadLink = h("a", { class: "quiet", href: this.member.raw(), download: name }, "Download");
    const extractButton = h("button", { class: "quiet", onclick: () => this.extract(name, extractButton) }, "Extract to workspace");
    extractButton.hidden = !currentRun.canEditFiles || !archive.preview.onMove; // a file's own tab has no uploads
    this.element = h(
      "div",
      { class: "member-view" },
      h("div", { class: "header" }, h("span", {}, back), h("b", { title: path }, path), this.details, this.tools, h("span", {}, extractButton, downloadLink)),
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
    const done = showProgress("Loading", (words) => request === this.request && this.showMessage(words));
    try {
      const { kind, view } = await this.member.archive.ask({ as: "archive", member: this.member.at, ...(as ? { member_as: as } : {}) });
      const shown = await (await loadKind(kind)).open(this.member, view);
      if (request !== this.request) return void shown.close?.();
      this.currentView = shown;
      this.canvas.className = `inset kind-${kind}`;
      this.canvas.replaceChildren(shown.element);
    } catch (error) {
      if (request === this.request) this.showMessage(h("p", {}, error.message));
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

  showMessage(words) {
    this.canvas.className = "inset message";
    this.canvas.replaceChildren(h("div", { class: "message" }, icon("file"), words));
  }

  setDetails(text) {
    this.details.textContent = [text, this.size >= 0 ? formatBytes(this.size) : ""].filter(Boolean).join(" · ");
  }

  close() {
    this.request = null;
    this.currentView?.close?.();
  }
}
