// Text editor; a conflicting change of the file is shown in the text before saving.

import { h } from "../../core/dom.js";
import { emit, currentRun } from "../../core/event_stream.js";
import { canWrap, editingExtensions, loadCodeMirror, loadLanguage, viewExtensions } from "./code_view.js";
import { quietButton } from "../parts.js";
import { commonEnds, loadMerge } from "../diff/line_changes.js";
import { decodeFile } from "./encoding.js";
import { fetchWithRetry } from "../../core/loading/fetch.js";

const MAX_REMOVED = 100_000; // characters of the file that are shown between two lines of the text
const MAX_LEAVE_MS = 60_000; // between Escape and the Tab that leaves the editor

const drafts = new Map();
const draftKey = (file) => `${currentRun.id}/${file.path}`;

/** A file's unsaved draft, if any. */
export const findDraft = (file) => drafts.get(draftKey(file));

addEventListener("beforeunload", (event) => drafts.size && event.preventDefault());

export class Editor {
  /** `encoding` is the file's; `wrap` wraps long lines; `onLeave()` is called when the user is done. */
  constructor(file, { encoding, wrap, onLeave }) {
    this.file = file;
    this.encoding = encoding;
    this.wrap = wrap;
    this.onLeave = onLeave;
    this.view = null;
    this.version = null;
    this.library = null; // CodeMirror, once it is loaded
    this.state = h("span", { class: "unsaved", role: "status" });
    this.save = h("button", { class: "quiet save", title: "Save (Ctrl+S)", disabled: true, onclick: () => this.saveFile() }, "Save");
    this.leave = h("button", { class: "quiet leave", onclick: () => this.leaveEditor() }, "Done");
    this.tools = [this.state, this.save, this.leave];
    this.alert = h("div", { class: "alert", role: "alert" });
    this.area = h("div", { class: "code-view" });
    this.help = h("p", { class: "hint" }, "Tab indents. Press Escape, then Tab to leave the editor. Ctrl+S saves, Ctrl+F finds and replaces.");
    this.element = h("div", { class: "editor" }, this.alert, this.area, this.help);
    this.element.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** The text as CodeMirror's immutable tree of lines, which is compared without copying it. */
  get text() {
    return this.view.state.doc;
  }

  get dirty() {
    return !this.text.eq(this.saved);
  }

  async begin() {
    const draft = findDraft(this.file);
    try {
      this.loading = loadCodeMirror();
      [this.library] = await Promise.all([this.loading, this.fetch()]);
    } catch (error) {
      return this.showMessage(error.message);
    }
    if (this.closed) return undefined;
    this.createView(draft?.text ?? this.saved);
    if (draft) this.restoreDraft(draft);
    this.onInput();
    return this.view.focus();
  }

  createView(doc) {
    const { EditorState, EditorView, Compartment, indentUnit } = this.library;
    const language = new Compartment();
    this.conflict = new Compartment();
    const unit = /^(\t| {2}| {4})\S/m.exec(doc.sliceString(0, 100_000))?.[1] ?? "    ";
    this.view = new EditorView({
      parent: this.area,
      state: EditorState.create({
        doc,
        extensions: [
          viewExtensions(this.library, { label: `Edit ${this.file.name}`, wrap: this.wrap && canWrap(doc.toString()), language }),
          editingExtensions(this.library),
          indentUnit.of(unit),
          this.conflict.of([]),
          EditorView.contentAttributes.of({ spellcheck: "false" }),
          EditorView.updateListener.of((update) => update.docChanged && this.onInput()),
        ],
      }),
    });
    loadLanguage(this.library, this.file.name, language, this.view);
  }

  /** Continue a draft; the file may have changed since. */
  restoreDraft(draft) {
    this.showMessage("Your unsaved changes were restored.", ["Discard changes", () => this.setText(this.saved)]);
    if (draft.version !== this.version) this.showConflict();
  }

  /** Load the file's current text, version and encoding. */
  async fetch() {
    const response = await fetchWithRetry(this.file.address("files", {}), { cache: "no-store" });
    if (!response.ok) throw new Error("This file can no longer be read.");
    const version = response.headers.get("ETag");
    if (!version) throw new Error("This file cannot be edited here.");
    const { text, write } = decodeFile(new Uint8Array(await response.arrayBuffer()), this.encoding);
    const { Text } = await this.loading;
    this.saved = Text.of(text.split("\n"));
    this.version = version;
    this.write = write;
  }

  onInput() {
    const { dirty } = this;
    if (!this.saving) this.state.textContent = dirty ? "Unsaved changes" : "";
    this.save.disabled = !dirty;
    this.leave.textContent = dirty ? "Discard" : "Done";
    if (dirty) drafts.set(draftKey(this.file), { text: this.text, version: this.version });
    else drafts.delete(draftKey(this.file));
  }

  onKey(event) {
    const saves = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s";
    if (saves) event.preventDefault(), this.saveFile();
    if (event.key === "Escape") this.view?.setTabFocusMode(MAX_LEAVE_MS);
    if (event.defaultPrevented || event.key === "Escape") event.stopPropagation(); // Escape would stop the run, Ctrl+Enter begin one
  }

  async saveFile() {
    if (this.saving || !this.view || !this.dirty) return;
    this.saving = true;
    this.state.textContent = "Saving…";
    const { text } = this;
    try {
      const response = await fetchWithRetry(this.file.address("files", {}), {
        method: "PUT",
        headers: { "If-Match": this.version },
        body: this.write(text.toString()),
      });
      const result = await response.json().catch(() => null);
      if (response.status === 412) await this.resolveConflict();
      else if (!response.ok) throw new Error(result?.error ?? `The server responded with status ${response.status}.`);
      else await this.onSaved(text, response);
    } catch (error) {
      this.showMessage(`Not saved: ${error.message}`);
    } finally {
      this.saving = false;
      this.onInput();
      if (!this.dirty) this.state.textContent = "Saved";
    }
  }

  async onSaved(text, response) {
    const version = response.headers.get("ETag");
    if (version) this.version = version;
    else await this.fetch();
    this.saved = text;
    this.showMessage("");
  }

  /** Conflict: show both versions and let the user choose. */
  async resolveConflict() {
    try {
      await this.fetch();
    } catch (error) {
      return this.showMessage(`Not saved: ${error.message} Your edits are still here.`);
    }
    return this.dirty ? this.showConflict() : this.showMessage("");
  }

  /** Mark in the text how it differs from the file; each change can be taken over or kept. */
  async showConflict() {
    this.showMessage(
      "The file changed on disk; your edits are safe. Choose which version to keep.",
      ["Keep my version", () => this.keepMine()],
      ["Use the model's version", () => this.useFileVersion()],
    );
    const { alert, saved } = this;
    const shown = alert.firstChild;
    const merge = await conflictExtension(saved, this.text).catch((error) => error);
    if (alert.firstChild !== shown || saved !== this.saved) return;
    if (merge instanceof Error) return void shown.append(` ${merge.message}`);
    alert.append(h("p", { class: "legend" }, h("span", { class: "del" }, "− file on disk"), h("span", { class: "add" }, "+ your version")));
    this.view.dispatch({ effects: this.conflict.reconfigure(merge) });
  }

  keepMine() {
    this.showMessage("");
    return this.saveFile();
  }

  useFileVersion() {
    const mine = this.text;
    this.setText(this.saved);
    this.showMessage("The editor now shows the file on disk.", ["Restore my version", () => (this.setText(mine), this.showConflict())]);
  }

  setText(text) {
    this.replaceText(text);
    this.view.focus();
  }

  /** Replace only the part that differs, so that cursor and position stay. */
  replaceText(text) {
    this.showMessage("");
    const [before, after] = [this.text.toString(), text.toString()];
    const { head, tail } = commonEnds(before, after);
    this.view.dispatch({ changes: { from: head, to: before.length - tail, insert: after.slice(head, after.length - tail) } });
    this.onInput();
  }

  /** The file changed, by another writer or by saving. */
  async onFileChanged() {
    if (this.saving || !this.version) return;
    const response = await fetchWithRetry(this.file.address("files", {}), { method: "HEAD", cache: "no-store" }).catch(() => null);
    const version = response?.headers.get("ETag");
    if (!version || version === this.version || this.saving) return;
    if (this.dirty) this.showMessage("The file changed on disk; your edits are safe.", ["Compare", () => this.resolveConflict()]);
    else
      await this.fetch().then(
        () => this.replaceText(this.saved),
        () => {},
      );
  }

  showMessage(text, ...actions) {
    this.alert.replaceChildren(...(text ? [h("p", {}, text), ...actions.map(([label, act]) => quietButton(label, act))] : []));
    if (this.view) this.view.dispatch({ effects: this.conflict.reconfigure([]) });
  }

  leaveEditor() {
    drafts.delete(draftKey(this.file));
    this.ended = true;
    this.onLeave();
  }

  /** Another file was opened: keep the draft until this one is opened again. */
  close() {
    this.closed = true;
    if (!this.ended && this.view && this.dirty)
      emit("notice", { text: `${this.file.name} has unsaved changes. They will be restored when you open it again.` });
    this.view?.destroy();
  }
}

/** Return the extension that shows how the text differs from the file; throws an Error for the user if it cannot. */
async function conflictExtension(fileText, text) {
  const { Chunk, diffConfig, unifiedMergeView } = await loadMerge();
  const chunks = Chunk.build(fileText, text, diffConfig);
  if (chunks.some(({ fromA, toA }) => toA - fromA > MAX_REMOVED)) throw new Error("They differ too much to be shown here.");
  return unifiedMergeView({ original: fileText, diffConfig, collapseUnchanged: {}, mergeControls });
}

function mergeControls(type, act) {
  const decide = (event) => {
    const content = event.target.closest(".cm-content");
    act(event);
    content.focus(); // the button is gone
  };
  return h("button", { class: "quiet", onclick: decide }, type === "accept" ? "Keep mine" : "Use the file's");
}
