// Text editor; a conflicting change of the file is shown before saving.

import { h, loadStyles } from "../../core/dom.js";
import { emit, currentRun } from "../../core/event_stream.js";
import { renderDiff } from "./conflict_diff.js";
import { decodeFile } from "./encoding.js";

const drafts = new Map();
const draftKey = (file) => `${currentRun.id}/${file.path}`;

/** A file's unsaved draft, if any. */
export const findDraft = (file) => drafts.get(draftKey(file));

addEventListener("beforeunload", (event) => drafts.size && event.preventDefault());

export class Editor {
  constructor(file, reader, onLeave) {
    Object.assign(this, { file, reader, onLeave, saved: "", version: null });
    const button = (text, kind, act) => h("button", { type: "button", class: `quiet ${kind}`, onclick: act }, text);
    this.state = h("span", { class: "unsaved", role: "status" });
    this.save = h("button", { type: "button", class: "quiet save", title: "Save (Ctrl+S)", onclick: () => this.saveFile() }, "Save");
    this.leave = button("Done", "leave", () => this.leaveEditor());
    this.tools = [this.state, this.save, this.leave];
    this.alert = h("div", { class: "alert", role: "alert" });
    this.area = h("textarea", { "aria-label": `Edit ${file.name}`, spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", disabled: true });
    this.help = h("p", { class: "hint" }, "Tab indents. Press Escape, then Tab to leave the editor. Ctrl+S saves.");
    this.element = h("div", { class: "editor" }, this.alert, this.area, this.help);
    this.area.addEventListener("input", () => this.onInput());
    this.element.addEventListener("keydown", (event) => this.onKey(event));
  }

  get dirty() {
    return this.area.value !== this.saved;
  }

  async begin() {
    await loadStyles("preview/text/text.css");
    const draft = findDraft(this.file);
    try {
      await this.fetch();
    } catch (error) {
      this.showMessage(error.message);
      this.save.disabled = true;
      return;
    }
    this.area.disabled = false;
    if (draft) this.restoreDraft(draft);
    else this.area.value = this.saved;
    this.onInput();
    this.area.focus();
    this.area.setSelectionRange(0, 0);
    this.area.scrollTop = 0;
  }

  /** Continue a draft; the file may have changed since. */
  restoreDraft(draft) {
    this.area.value = draft.text;
    this.showMessage("Your unsaved changes were restored.", ["Discard changes", () => this.setText(this.saved)]);
    if (draft.version === this.version) return;
    this.fileText = this.saved;
    this.showConflict();
  }

  /** Load the file's current text, version and encoding. */
  async fetch() {
    const response = await fetch(this.file.address("files", {}), { cache: "no-store" });
    if (!response.ok) throw new Error("This file can no longer be read.");
    const version = response.headers.get("ETag");
    if (!version) throw new Error("This file cannot be edited here.");
    const { text, write } = decodeFile(new Uint8Array(await response.arrayBuffer()), this.reader.encoding);
    Object.assign(this, { saved: text, version, write });
  }

  onInput() {
    this.state.textContent = this.dirty ? "Unsaved changes" : "";
    this.save.disabled = !this.dirty;
    this.leave.textContent = this.dirty ? "Discard" : "Done";
    if (this.dirty) drafts.set(draftKey(this.file), { text: this.area.value, version: this.version });
    else drafts.delete(draftKey(this.file));
  }

  onKey(event) {
    const control = event.ctrlKey || event.metaKey;
    if (control && event.key.toLowerCase() === "s") this.saveFile();
    else if (event.key === "Escape") this.tabLeaves = true;
    else if (event.key === "Tab" && event.target === this.area && !this.tabLeaves && !control) this.indent(event.shiftKey);
    else return void (event.key !== "Shift" && (this.tabLeaves = false));
    event.preventDefault();
    event.stopPropagation(); // Escape would stop the run
  }

  /** Indent or outdent the selected lines; undoable. */
  indent(back) {
    const { area } = this;
    const [start, end] = [area.selectionStart, area.selectionEnd];
    const unit = /^\t/m.test(area.value) ? "\t" : "    ";
    if (!back && !area.value.slice(start, end).includes("\n")) return void insertText(area, unit);
    const begin = area.value.lastIndexOf("\n", start - 1) + 1;
    const lines = area.value.slice(begin, end).split("\n");
    const indented = lines.map((line) => (back ? line.replace(/^(\t| {1,4})/, "") : line && unit + line)).join("\n");
    area.setSelectionRange(begin, end);
    insertText(area, indented);
    area.setSelectionRange(back || lines.length === 1 ? begin + indented.length : begin, begin + indented.length);
  }

  async saveFile() {
    if (this.saving || !this.dirty) return;
    this.saving = true;
    this.state.textContent = "Saving…";
    const text = this.area.value;
    try {
      const response = await fetch(this.file.address("files", {}), { method: "PUT", headers: { "If-Match": this.version }, body: this.write(text) });
      const result = await response.json().catch(() => null);
      if (response.status === 412) await this.resolveConflict();
      else if (!response.ok) throw new Error(result?.error ?? `The server responded with status ${response.status}.`);
      else await this.onSaved(text, response);
    } catch (error) {
      this.showMessage(`Not saved: ${error.message}`);
    } finally {
      this.saving = false;
      this.onInput();
    }
  }

  async onSaved(text, response) {
    const version = response.headers.get("ETag");
    if (version) Object.assign(this, { version, saved: text });
    else await this.fetch();
    this.saved = text;
    this.showMessage("");
    this.state.textContent = "Saved";
  }

  /** Conflict: show both versions and let the user choose. */
  async resolveConflict() {
    const mine = this.area.value;
    try {
      await this.fetch();
    } catch (error) {
      return this.showMessage(`Not saved: ${error.message} Your edits are still here.`);
    }
    this.fileText = this.saved;
    if (this.fileText === mine) return this.showMessage("");
    return this.showConflict();
  }

  showConflict() {
    this.showMessage("The file changed on disk; your edits are safe. Choose which version to keep.",
      ["Keep my version", () => this.keepMine()], ["Use the model's version", () => this.useFileVersion()]);
    this.alert.append(h("p", { class: "legend" }, h("span", { class: "del" }, "− file on disk"), h("span", { class: "add" }, "+ your version")),
      renderDiff(this.fileText, this.area.value, "Differences between the file on disk and your version"));
  }

  keepMine() {
    this.showMessage("");
    return this.saveFile();
  }

  useFileVersion() {
    const mine = this.area.value;
    this.setText(this.fileText);
    this.showMessage("The editor now shows the file on disk.", ["Restore my version", () => (this.setText(mine), this.showConflict())]);
  }

  setText(text) {
    this.area.value = text;
    this.showMessage("");
    this.onInput();
    this.area.focus();
  }

  /** The file changed, by another writer or by saving. */
  async onFileChanged() {
    if (this.saving || !this.version) return;
    const response = await fetch(this.file.address("files", {}), { method: "HEAD", cache: "no-store" }).catch(() => null);
    const version = response?.headers.get("ETag");
    if (!version || version === this.version || this.saving) return;
    if (!this.dirty) await this.fetch().then(() => this.setText(this.saved), () => {});
    else this.showMessage("The file changed on disk; your edits are safe.", ["Compare", () => this.resolveConflict()]);
  }

  showMessage(text, ...actions) {
    this.alert.replaceChildren(...(text ? [h("p", {}, text), ...actions.map(([label, act]) => h("button", { type: "button", class: "quiet", onclick: act }, label))] : []));
  }

  leaveEditor() {
    drafts.delete(draftKey(this.file));
    this.ended = true;
    this.onLeave();
  }

  /** Another file was opened: keep the draft until this one is opened again. */
  close() {
    if (!this.ended && this.dirty && !this.area.disabled) emit("notice", { text: `${this.file.name} has unsaved changes. They will be restored when you open it again.` });
  }
}

/** Insert text into a field so that the browser can undo it. */
function insertText(area, text) {
  area.focus();
  if (!document.execCommand("insertText", false, text)) area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
}
