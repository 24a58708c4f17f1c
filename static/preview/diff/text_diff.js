// Two versions of a text, unified or side by side.

import { h, iconButton } from "../../core/dom.js";
import { formatMode, formatNumber, plural } from "../../core/format.js";
import { canWrap, loadCodeMirror, loadLanguage, viewExtensions } from "../text/code_view.js";
import { quietButton } from "../parts.js";
import { loadMerge } from "./line_changes.js";

const MIN_SPLIT_WIDTH = 61; // minimum width for two columns, in em: on stage type is large
const MAX_REMOVED = 100_000; // characters of a removed block that can be shown between two lines

/** Show the `text` before and after a step; `addTool` receives buttons for the bar. */
export async function renderTextDiff(file, view, addTool) {
  const [before, after] = [view.text.before, view.text.after].map((text) => text && `${text.replace(/\n$/, "")}\n`);
  const note = newlineNote(view);
  if (before === after) return { message: note || unchangedMessage(view) };
  const [library, merge] = await Promise.all([loadCodeMirror(), loadMerge()]);
  const diff = new TextDiff(file, view, library, merge, before, after);
  const element = h("div", { class: "versions" }, diff.element, note ? h("p", { class: "note" }, note) : null);
  for (const tool of diff.tools()) addTool(tool);
  return { element, close: () => diff.close(), summary: changeCounts(diff.counts) };
}

function unchangedMessage({ before, after, step, base = null }) {
  if (!before || !after) return "The file is empty.";
  if (before.mode !== after.mode) return `Only the permissions changed: ${formatMode(before.mode)} → ${formatMode(after.mode)}.`;
  return base === null ? `Step ${step} did not change this file.` : "The two versions are the same.";
}

function newlineNote({ before, after, text }) {
  const lacks = [text.before, text.after].map((content) => content && !content.endsWith("\n"));
  if (!before || !after || !text.before || !text.after || lacks[0] === lacks[1]) return "";
  return lacks[1] ? "The newline at the end of the file was removed." : "A newline was added at the end of the file.";
}

const changeCounts = ({ added, removed }) => [
  h("b", { class: "add", "aria-label": `${plural(added, "line")} added` }, `+${formatNumber(added)}`),
  h("b", { class: "del", "aria-label": `${plural(removed, "line")} removed` }, `−${formatNumber(removed)}`),
];

class TextDiff {
  /** `before` and `after` are the texts; of a created or deleted file only one is shown. */
  constructor(file, view, library, merge, before, after) {
    const [old, now] = [before, after].map((text) => library.Text.of(text.split("\n")));
    this.file = file;
    this.view = view;
    this.library = library;
    this.merge = merge;
    this.old = old;
    this.now = now;
    this.chosen = null;
    this.counts = merge.countLines(before, after);
    this.wrap = canWrap(before) && canWrap(after);
    this.both = Boolean(view.before && view.after);
    this.chunks = this.both ? merge.Chunk.build(old, now, merge.diffConfig) : [];
    this.needsColumns = this.chunks.some(({ fromA, toA }) => toA - fromA > MAX_REMOVED);
    this.element = h("div", { class: "code-view" });
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    this.size = new ResizeObserver(([{ contentRect }]) => this.layout(this.chosen ?? contentRect.width >= MIN_SPLIT_WIDTH * this.fontSize()));
    this.size.observe(this.element);
    this.layout(false);
  }

  close() {
    this.size.disconnect();
    this.shown?.destroy();
  }

  fontSize() {
    return parseFloat(getComputedStyle(this.element.querySelector(".cm-scroller")).fontSize);
  }

  tools() {
    if (!this.both) return [];
    const tool = (name, label, move) => iconButton(name, label, () => move(this.current));
    const toggle = () => this.layout((this.chosen = !this.split));
    this.splitButton = quietButton("Side by side", toggle, { "aria-pressed": String(this.split), hidden: this.needsColumns });
    return [tool("up", "Previous change", this.merge.goToPreviousChunk), tool("down", "Next change", this.merge.goToNextChunk), this.splitButton];
  }

  layout(wanted) {
    const split = this.both && (wanted || this.needsColumns);
    if (split === this.split) return;
    this.split = split;
    this.splitButton?.setAttribute("aria-pressed", String(split));
    this.shown?.destroy();
    this.language = new this.library.Compartment();
    this.shown = split ? this.columns() : this.both ? this.unified() : this.single();
    this.element.replaceChildren(this.shown.dom);
    loadLanguage(this.library, this.file.name, this.language, ...(split ? [this.shown.a, this.shown.b] : [this.shown]));
    this.current = split ? this.shown.b : this.shown;
    this.markParts(this.current);
  }

  extensions(label) {
    const { EditorState, EditorView, keymap, selectAll } = this.library;
    return [
      viewExtensions(this.library, { label, wrap: this.wrap, language: this.language }),
      EditorState.readOnly.of(true),
      EditorView.editable.of(false),
      EditorView.contentAttributes.of({ tabindex: "0" }),
      EditorState.phrases.of({ "$ unchanged lines": "⋯ $ unchanged lines" }),
      keymap.of([{ key: "Mod-a", run: selectAll }]),
      EditorView.updateListener.of(({ view }) => this.markParts(view)),
    ];
  }

  unified() {
    const { EditorView } = this.library;
    const { merge, old: original, now: doc } = this;
    const changes = merge.unifiedMergeView({ original, mergeControls: false, collapseUnchanged: {}, diffConfig: merge.diffConfig });
    return new EditorView({ doc, extensions: [this.extensions(`Changes to ${this.file.name}`), changes] });
  }

  columns() {
    const { merge, file, old, now, view } = this;
    const base = view.base ?? null;
    const side = (doc, when) => ({ doc, extensions: this.extensions(`${file.name} ${when}`) });
    const earlier = base === null ? `before step ${view.step}` : `after step ${base}`;
    return new merge.MergeView({ a: side(old, earlier), b: side(now, `after step ${view.step}`), collapseUnchanged: {}, diffConfig: merge.diffConfig });
  }

  single() {
    const { EditorView } = this.library;
    const [doc, side] = this.view.after ? [this.now, "cm-merge-b"] : [this.old, "cm-merge-a"];
    return new EditorView({
      doc: doc.slice(0, doc.length - 1), // without the newline at the end
      extensions: [this.extensions(`Changes to ${this.file.name}`), EditorView.editorAttributes.of({ class: `whole-file ${side}` })],
    });
  }

  /** Number the removed lines, and make collapsed lines buttons. */
  markParts(view) {
    for (const part of view.dom.querySelectorAll(".cm-collapsedLines:not([role])")) Object.assign(part, { role: "button", tabIndex: 0 });
    for (const part of view.dom.querySelectorAll(".cm-deletedChunk:not([style])")) {
      const at = view.posAtDOM(part);
      const chunk = this.chunks.find(({ fromB }) => fromB === at);
      if (chunk) part.style.counterSet = `removed ${this.old.lineAt(chunk.fromA).number - 1}`;
    }
  }

  onKey(event) {
    if (!event.target.matches(".cm-collapsedLines") || !["Enter", " "].includes(event.key)) return;
    const content = event.target.closest(".cm-content");
    event.target.click();
    content.focus({ preventScroll: true });
    event.preventDefault();
    event.stopPropagation();
  }
}
