// File preview: the server detects a file's kind, the module of that kind shows it.

import { h, icon } from "../core/dom.js";
import { ago, bytes, shownPath } from "../core/format.js";
import { Cost } from "./token_cost.js";
import { kind as kindOf } from "./loader.js";
import { waiting } from "./progress_note.js";
import { ask, emit, runApi, session } from "../core/session.js";

const PAUSE = 250; // ms between two requests for a file that keeps changing
const AGES = 20_000; // ms between updates of the file's displayed age

/**
 * The file as seen by a kind's module. The module exports `open(file, first)`, which returns
 * (a promise of) an object with `element` and optionally `update(first)`, which takes a new
 * first response and keeps the position, `noted()`, called after steps that changed the file,
 * and `close()`. `first` is the server's `view` of the file.
 */
class File {
  constructor(preview, path, entry, step, compared) {
    Object.assign(this, { preview, path, entry, step, compared, left: new AbortController() });
    this.name = shownPath(path.slice(path.lastIndexOf("/") + 1));
  }

  get version() {
    return this.entry ? `${this.entry.changed}-${this.entry.size}` : "";
  }

  /** The URL of the server's view of the file with options of its kind. */
  view(options = {}) {
    return this.address(this.compared ? "difference" : "view", options);
  }

  /** The URL of the file's bytes, for display by the browser. */
  raw(options = {}) {
    return this.address("files", { inline: 1, ...options });
  }

  address(what, options) {
    const at = (this.step ?? null) === null ? {} : { step: this.step };
    const query = new URLSearchParams({ v: this.version, ...at, ...options });
    return `${runApi(`${what}/${this.path}`)}?${query}`;
  }

  /**
   * Return the server's view with these options; throws an Error with its message on refusal.
   * Never settles once another file is shown.
   */
  async ask(options = {}) {
    const { signal } = this.left;
    const answer = ask(this.view(options), { signal });
    const { view, error } = await answer.catch((cause) => (signal.aborted ? new Promise(() => {}) : Promise.reject(cause)));
    if (error) throw new Error(error);
    return view;
  }

  /** Show details next to the name, such as the number of pages. */
  tell(text) {
    this.preview.tell(this, text);
  }

  /** Add tools to the preview's header. */
  tools(...elements) {
    if (this === this.preview.file) this.preview.tools.replaceChildren(...elements);
  }
}

export class Preview {
  /**
   * `onMove(by)` opens the next file (1) or the previous one (-1); without it there are no arrows.
   * `changedIn(path, until)` returns the last step up to `until` that changed a file, if any.
   */
  constructor(element, { onMove, onClose, changedIn = () => undefined } = {}) {
    Object.assign(this, { element, onMove, onClose, changedIn });
    this.name = h("b");
    this.about = h("small", { class: "num" });
    this.busy = h("span", { class: "busy" });
    this.cost = new Cost();
    this.tools = h("span", { class: "tools" });
    this.download = tool("down", "Download", "a", { download: "" });
    this.apart = tool("link", "Open in new tab", "a", { target: "_blank" });
    this.whole = tool("whole", "Full screen", "button", { onclick: () => this.fill(!this.filled) });
    this.canvas = h("div", { class: "canvas", tabindex: "0" });
    this.back = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.openAs("") }, "Back");
    this.current = h("button", { type: "button", class: "quiet current", hidden: true, onclick: () => emit("look", this.path) }, "Current version");
    this.head = h("div", { class: "hd" }, this.name, this.about, this.busy, this.back, this.current, this.tools);
    if (onMove) this.head.append(
      tool("above", "Previous file", "button", { onclick: () => onMove(-1) }),
      tool("below", "Next file", "button", { onclick: () => onMove(1) }));
    this.head.append(this.download, this.apart, this.whole);
    if (onClose) this.head.append(tool("close", "Close preview", "button", { onclick: () => this.close() }));
    element.append(this.head, this.cost.element, this.canvas);
    element.addEventListener("keydown", (event) => this.key(event));
    setInterval(() => this.tellAgain(), AGES);
    this.close();
  }

  close() {
    this.fill(false);
    this.end();
    this.element.hidden = true;
    this.file = this.path = null;
    this.onClose?.();
  }

  end() {
    this.file?.left.abort();
    this.shown?.close?.();
    this.shown = null;
    this.kind = this.chosen = "";
    this.cost.clear();
    this.canvas.replaceChildren();
    this.tools.replaceChildren();
  }

  /**
   * Show a file, or reload the current one if it changed. `step` shows it as of that step,
   * `compared` how the step changed it.
   */
  show(path, entry = null, step = null, compared = false) {
    const same = path === this.path && step === this.file.step && compared === this.file.compared;
    if (same && (!entry || alike(this.file.entry, entry))) return undefined;
    if (same) {
      this.file.entry = entry;
    } else {
      this.end();
      this.path = path;
      this.file = new File(this, path, entry, step, compared);
      this.canvas.scrollTop = 0;
    }
    this.name.textContent = this.name.title = this.file.name;
    this.download.href = this.file.address("files", {});
    this.download.setAttribute("download", this.file.name);
    this.download.hidden = Boolean(unlike(entry));
    this.apart.href = new URL(`look?${new URLSearchParams({ run: session.run, path, ...(step ? { step } : {}), ...(compared ? { compared: 1 } : {}) })}`, document.baseURI).href;
    this.current.hidden = step === null || !this.onMove;
    this.element.hidden = false;
    this.element.classList.remove("gone");
    this.cost.show(this.file);
    return this.look();
  }

  /** A step changed the file: offer a comparison. */
  noted() {
    this.shown?.noted?.();
  }

  /** The file was deleted; keep its last view. */
  gone() {
    if (!this.path || this.element.classList.contains("gone")) return;
    this.element.classList.add("gone");
    this.about.textContent = "This file was deleted.";
  }

  /** Load a file, one request at a time; load again if it changed meanwhile. */
  async look(file = this.file) {
    if (file.looking) return void (file.again = true);
    file.looking = true;
    try {
      do {
        file.again = false;
        await this.lookOnce(file);
        if (file.again) await new Promise((resolve) => setTimeout(resolve, PAUSE));
      } while (file.again && file === this.file);
    } finally {
      file.looking = false;
    }
  }

  async lookOnce(file) {
    this.tell(file);
    const what = unlike(file.entry);
    if (what) return void this.put(file, { element: h("div", { class: "says" }, icon("file"), h("p", {}, what)) });
    const done = waiting(this.shown ? "Reloading" : "Loading", (words) => file === this.file && this.wait(words));
    try {
      await this.see(file);
    } catch (error) {
      if (file === this.file) this.failed(file, error);
    } finally {
      done();
    }
  }

  async see(file) {
    const chosen = this.chosen;
    const { kind, view, error } = await ask(file.view(chosen ? { as: chosen } : {}), { signal: file.left.signal });
    if (file !== this.file) return;
    if (chosen !== this.chosen) return void (file.again = true);
    if (error) this.put(file, sentence(error, kind, file));
    else if (kind === this.kind && this.shown?.update) await this.shown.update(view);
    else await this.open(file, kind, view);
  }

  /** Show that loading takes longer: in the canvas, or next to the name if the canvas is in use. */
  wait(words) {
    if (this.shown) return this.busy.replaceChildren(words);
    this.canvas.className = "canvas says";
    return this.canvas.replaceChildren(h("div", { class: "says" }, icon("file"), words));
  }

  /** Keep the current view if only the connection failed. */
  failed(file, error) {
    const broken = error instanceof TypeError && /fetch|network|load failed/i.test(error.message);
    if (!broken && error.constructor !== Error) console.error(error);
    if (broken && this.kind) this.about.textContent = "Connection lost. This is the last version loaded.";
    else this.put(file, sentence(broken ? "Connection lost." : error.message, "", file, true));
  }

  async open(file, kind, first) {
    const module = await kindOf(kind);
    const shown = await module.open(file, first);
    if (file !== this.file) return void shown.close?.();
    const at = this.kind === kind ? this.canvas.scrollTop : 0;
    this.put(file, shown, kind);
    this.canvas.scrollTop = at;
  }

  /** Show the file as another kind, such as its source or bytes; "" restores the detected kind. */
  async openAs(kind) {
    this.chosen = kind;
    await this.look();
  }

  put(file, shown, kind = "") {
    this.shown?.close?.();
    Object.assign(this, { shown, kind });
    this.back.hidden = !this.chosen;
    this.canvas.className = `canvas ${kind ? `kind-${kind}` : "says"}`;
    this.canvas.replaceChildren(shown.element);
  }

  tell(file, extra = "") {
    if (file !== this.file || this.element.classList.contains("gone")) return;
    const { entry } = file;
    const parts = [file.step && !file.compared ? `version after step ${file.step}` : "", extra];
    if (entry) parts.push(bytes(entry.size), `modified ${ago(session.now() - entry.changed)}`);
    file.extra = extra;
    this.about.textContent = this.about.title = this.told = parts.filter(Boolean).join(" · ");
  }

  /** Update the file's age, unless another message is shown. */
  tellAgain() {
    if (this.file && this.about.textContent === this.told) this.tell(this.file, this.file.extra);
  }

  fill(filled) {
    this.filled = filled;
    this.element.classList.toggle("filled", filled);
    this.whole.setAttribute("aria-pressed", String(filled));
  }

  key(event) {
    if (event.key === "Escape" && this.filled) this.fill(false);
    else if (this.onMove && !typing(event) && !event.altKey && event.key === "ArrowLeft") this.onMove(-1);
    else if (this.onMove && !typing(event) && !event.altKey && event.key === "ArrowRight") this.onMove(1);
    else return;
    event.preventDefault();
    event.stopPropagation(); // Escape would stop the run
  }
}

/** Whether the target element handles a key itself. */
const typing = ({ target, defaultPrevented }) =>
  defaultPrevented || target.closest("input, textarea, select, audio, video, [contenteditable], [role=slider], [role=tree], [role=tablist]");

function tool(sign, label, tag, attributes) {
  const type = tag === "button" ? { type: "button" } : {};
  return h(tag, { class: "quiet sign", "aria-label": label, title: label, ...type, ...attributes }, icon(sign));
}

/** Whether two entries describe the same content. */
const alike = (one, other) => one?.changed === other.changed && one.size === other.size && one.kind === other.kind;

/** Describe an entry that is not a file; empty for files. */
function unlike(entry) {
  if (!entry || entry.kind === "file") return "";
  if (entry.kind === "folder") return "This is a folder. Its files are listed in the tree.";
  if (entry.kind === "link") return `This is a link${entry.to ? ` to “${entry.to}”` : ""}. Links are not followed.`;
  return "This is a pipe, socket or device. It has no content to display.";
}

/** The message if a file cannot be shown: the reason and alternatives. */
function sentence(text, kind, file, again = false) {
  const button = (words, act) => h("button", { type: "button", class: "quiet", onclick: act }, words);
  return { element: h("div", { class: "says" }, icon("file"), h("p", {}, text),
    h("div", {},
      again ? button("Try again", () => file.preview.look()) : null,
      h("a", { class: "quiet", href: file.address("files", {}), download: file.name }, "Download"),
      kind && kind !== "bytes" && file.entry?.size !== 0 ? button("View as hex", () => file.preview.openAs("bytes")) : null)) };
}
