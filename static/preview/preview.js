// File preview: the server detects a file's kind, the module of that kind shows it.

import { h, icon, iconButton } from "../core/dom.js";
import { formatAge, formatBytes } from "../core/format.js";
import { TokenCost } from "./token_cost.js";
import { loadModule, PreviewFile } from "./file.js";
import { downloadLink, messageView, quietButton, showProgress } from "./parts.js";
import { emit, currentRun } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { source } from "../core/loading/source.js";

const MIN_INTERVAL_MS = 250; // ms between two requests for a file that keeps changing
const AGE_REFRESH_MS = 20_000; // ms between updates of the file's displayed age

/** @typedef {{ onMove?: (by: number) => void, onClose?: () => void, changedIn?: (path: string, until: number) => number | undefined, keepsLast?: () => boolean }} PreviewHandlers */

export class Preview {
  /**
   * `onMove(by)` opens the next file (1) or the previous one (-1); without it there are no arrows.
   * `changedIn(path, until)` returns the last step up to `until` that changed a file, if any.
   * `keepsLast()` says whether the last file stays in sight until the next one is loaded.
   */
  constructor(element, { onMove, onClose, changedIn, keepsLast } = /** @type {PreviewHandlers} */ ({})) {
    this.element = element;
    this.onMove = onMove;
    this.onClose = onClose;
    this.changedIn = changedIn ?? (() => undefined);
    this.keepsLast = keepsLast ?? (() => false);
    this.passwords = new Map(); // path → password
    this.name = h("b");
    this.details = h("small", { class: "num" });
    this.busy = h("span", { class: "busy" });
    this.cost = new TokenCost();
    this.tools = h("span", { class: "tools" });
    this.download = iconLink("download", "Download", { download: "" });
    this.newTab = iconLink("link", "Open in new tab", { target: "_blank", hidden: Boolean(source.bundled) });
    this.fullScreen = iconButton("fullscreen", "Full screen", () => this.setFullScreen(!this.isFullScreen));
    this.canvas = h("div", { class: "canvas", tabindex: "0" });
    this.back = quietButton("Back", () => this.openAs(""), { hidden: true });
    this.currentVersion = h("button", { class: "quiet current", hidden: true, onclick: () => emit("open-current", this.path) }, "Current version");
    this.head = h("div", { class: "header" }, this.name, this.details, this.busy, this.back, this.currentVersion, this.tools);
    if (onMove)
      this.head.append(
        iconButton("up", "Previous file", () => onMove(-1), { class: "quiet icon-button other-file" }),
        iconButton("down", "Next file", () => onMove(1), { class: "quiet icon-button other-file" }),
      );
    this.head.append(this.download, this.newTab, this.fullScreen);
    if (onClose) this.head.append(iconButton("close", "Close preview", () => this.close()));
    element.append(this.head, this.cost.element, this.canvas);
    element.addEventListener("keydown", (event) => this.onKey(event));
    setInterval(() => this.refreshAge(), AGE_REFRESH_MS);
    this.close();
  }

  close() {
    this.setFullScreen(false);
    this.clear();
    this.element.hidden = true;
    this.file = this.path = null;
    this.onClose?.();
  }

  /** Show nothing; with `keep` the last view stays in sight until the next one is there. */
  clear(keep = false) {
    this.file?.controller.abort();
    this.kind = this.chosen = "";
    this.cost.clear();
    this.tools.replaceChildren();
    if (keep && this.currentView) return void this.canvas.classList.add("last");
    this.currentView?.close?.();
    this.currentView = null;
    this.canvas.replaceChildren();
    this.canvas.scrollTop = 0;
  }

  /** Show a file, or reload it if it changed: as of `step`, or `compared`: how the step changed it, or how it changed since the step `base`. */
  show(path, entry = null, step = null, compared = false, base = null) {
    const same = path === this.path && step === this.file.step && compared === this.file.compared && base === this.file.base;
    if (same && (!entry || sameContent(this.file.entry, entry))) return undefined;
    if (same) {
      this.file.entry = entry;
    } else {
      this.clear(this.keepsLast());
      this.path = path;
      this.file = new PreviewFile(this, path, entry, step, compared, base);
    }
    this.name.textContent = this.name.title = this.file.name;
    this.download.href = this.file.address("files", {});
    this.download.setAttribute("download", this.file.name);
    this.download.hidden = Boolean(nonFileMessage(entry));
    this.newTab.href = new URL(
      `look?${new URLSearchParams({ run: currentRun.id, path, ...(step ? { step } : {}), ...(compared ? { compared: "1" } : {}), ...(base === null ? {} : { base }) })}`,
      document.baseURI,
    ).href;
    this.currentVersion.hidden = step === null || !this.onMove;
    this.element.hidden = false;
    this.element.classList.remove("deleted");
    if (entry?.kind !== "absent") this.cost.show(this.file);
    return this.load();
  }

  /** A step changed the file: offer a comparison. */
  onFileChanged() {
    this.currentView?.onFileChanged?.();
  }

  /** The file was deleted; keep its last view. */
  markDeleted() {
    if (!this.path || this.element.classList.contains("deleted")) return;
    this.element.classList.add("deleted");
    this.details.textContent = "This file was deleted.";
  }

  /** Load a file, one request at a time; load again if it changed meanwhile. */
  async load(file = this.file) {
    if (file.loading) return void (file.reload = true);
    file.loading = true;
    try {
      do {
        file.reload = false;
        await this.loadOnce(file);
        if (file.reload) await new Promise((resolve) => setTimeout(resolve, MIN_INTERVAL_MS));
      } while (file.reload && file === this.file);
    } finally {
      file.loading = false;
    }
  }

  async loadOnce(file) {
    this.showDetails(file);
    const message = nonFileMessage(file.entry);
    if (message) return void this.display({ element: messageView(message) });
    const done = showProgress(this.kind ? "Reloading" : "Loading", (words) => file === this.file && this.showWaiting(words));
    try {
      await this.fetchView(file);
    } catch (error) {
      if (file === this.file) this.showError(file, error);
    } finally {
      done();
    }
  }

  async fetchView(file) {
    const chosen = this.chosen;
    const { kind, page, rendered, view, error } = await fetchJson(file.view(chosen ? { as: chosen } : {}), file.fetchOptions);
    if (file !== this.file) return;
    if (chosen !== this.chosen) return void (file.reload = true);
    if (error) this.display(errorView(error, kind, file));
    else if (kind === this.kind && this.currentView?.update) await this.currentView.update(view);
    else await this.open(Object.assign(file, { rendered }), kind, page, view);
  }

  /** Show that loading takes longer: in the canvas, or next to the name if the canvas is in use. */
  showWaiting(words) {
    if (this.currentView) return this.busy.replaceChildren(words);
    this.canvas.className = "canvas message";
    return this.canvas.replaceChildren(h("div", { class: "message" }, icon("file"), words));
  }

  /** Keep the current view if only the connection failed. */
  showError(file, error) {
    const broken = error.status === 0 || (error instanceof TypeError && /fetch|network|load failed/i.test(error.message));
    if (!broken && error.constructor !== Error) console.error(error);
    if (broken && this.kind) this.details.textContent = "Connection lost. This is the last version loaded.";
    else this.display(errorView(broken ? "Connection lost." : error.message, "", file, true));
  }

  async open(file, kind, page, first) {
    const module = await loadModule(page, kind);
    const view = await module.open(file, first);
    if (file !== this.file) return void view.close?.();
    const at = this.kind === kind ? this.canvas.scrollTop : 0;
    this.display(view, kind);
    this.canvas.scrollTop = at;
  }

  /** Show the file as another kind, such as its source or bytes; "" restores the detected kind. */
  async openAs(kind) {
    this.chosen = kind;
    await this.load();
  }

  display(shown, kind = "") {
    this.currentView?.close?.();
    this.currentView = shown;
    this.kind = kind;
    this.back.hidden = !this.chosen;
    this.canvas.className = `canvas ${kind ? `kind-${kind}` : "message"}`;
    this.canvas.replaceChildren(shown.element);
  }

  showDetails(file, extra = "") {
    if (file !== this.file || this.element.classList.contains("deleted")) return;
    const { entry } = file;
    if (entry?.kind === "absent") return void (this.details.textContent = this.detailsText = "");
    const parts = [versionName(file), extra];
    if (entry) parts.push(formatBytes(entry.size));
    if (entry?.modified !== undefined) parts.push(`modified ${formatAge(currentRun.now() - entry.modified)}`);
    file.extra = extra;
    this.details.textContent = this.details.title = this.detailsText = parts.filter(Boolean).join(" · ");
  }

  /** Update the file's age, unless another message is shown. */
  refreshAge() {
    if (this.file && this.details.textContent === this.detailsText) this.showDetails(this.file, this.file.extra);
  }

  setFullScreen(on) {
    this.isFullScreen = on;
    this.element.classList.toggle("full-screen", on);
    this.fullScreen.setAttribute("aria-pressed", String(on));
  }

  onKey(event) {
    if (event.key === "Escape" && this.isFullScreen) this.setFullScreen(false);
    else if (this.onMove && !handlesKeys(event) && !event.altKey && event.key === "ArrowLeft") this.onMove(-1);
    else if (this.onMove && !handlesKeys(event) && !event.altKey && event.key === "ArrowRight") this.onMove(1);
    else return;
    event.preventDefault();
    event.stopPropagation(); // Escape would stop the run
  }
}

/** Whether the target element handles a key itself. */
const handlesKeys = ({ target, defaultPrevented }) =>
  defaultPrevented || target.closest("input, textarea, select, audio, video, [contenteditable], [role=slider], [role=tree], [role=tablist]");

const iconLink = (name, label, attributes) => h("a", { class: "quiet icon-button", "aria-label": label, title: label, ...attributes }, icon(name));

/** Whether two entries describe the same content. */
const sameContent = (one, other) =>
  one !== null && one.modified === other.modified && one.step === other.step && one.size === other.size && one.kind === other.kind;

/** Say which version of a file is shown; nothing of the current one, nor of a comparison. */
function versionName({ step, compared, isCurrent }) {
  if (isCurrent || compared) return "";
  return step ? `version after step ${step}` : "as it was given";
}

/** Describe an entry that is not a file; empty for files. */
function nonFileMessage(entry) {
  if (entry?.kind === "absent") return `This file was not there after step ${entry.step}.`;
  if (entry?.not_kept) return `This version of the file was not kept: ${entry.not_kept}.`;
  if (!entry || entry.kind === "file") return "";
  if (entry.kind === "folder") return "This is a folder. Its files are listed in the tree.";
  if (entry.kind === "link") return `This is a link${entry.target ? ` to “${entry.target}”` : ""}. Links are not followed.`;
  return "This is a pipe, socket or device. It has no content to display.";
}

/** The message if a file cannot be shown: the reason and alternatives. */
function errorView(text, kind, file, again = false) {
  const actions = [downloadLink(file)];
  if (again) actions.unshift(quietButton("Try again", () => file.preview.load()));
  if (kind && kind !== "hex" && file.entry?.size !== 0) actions.push(quietButton("View as hex", () => file.preview.openAs("hex")));
  return { element: messageView(text, ...actions) };
}
