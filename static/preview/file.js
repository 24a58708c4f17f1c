// A file as a kind's module sees it, and the loading of those modules.

import { loadStyles } from "../core/dom.js";
import { runApiUrl } from "../core/event_stream.js";
import { decodePath } from "../core/format.js";
import { fetchJson } from "../core/loading/fetch.js";
import { importModule, moduleAddress } from "../core/loading/import_module.js";
import { source } from "../core/loading/source.js";

/**
 * Load the module of a kind, which the server names as `folder/module`, and the folder's style sheet; a
 * report has its own modules.
 *
 * The module exports `open(file, first)`, which returns (a promise of) an object with `element` and
 * optionally `update(first)`, which takes a new first response and keeps the position,
 * `onFileChanged()`, called after steps that changed the file, and `close()`. `first` is the server's
 * `view` of the file.
 */
export async function loadModule(page, kind) {
  if (source.bundled) return source.bundled.kinds[kind];
  const [, folder] = /^([a-z]+)\/[a-z_]+$/.exec(page) ?? []; // nothing else of this server is imported
  if (!folder) throw new Error("Part of the page could not be loaded.");
  const [module] = await Promise.all([importModule(moduleAddress(`preview/${page}.js`)), loadStyles(`preview/${folder}/${folder}.css`)]);
  return module;
}

export class PreviewFile {
  constructor(preview, path, entry, step, compared, base) {
    this.preview = preview;
    this.path = path;
    this.entry = entry;
    this.step = step;
    this.compared = compared;
    this.base = base; // of a comparison: the earlier step, or null for the one before
    this.rendered = ""; // name of the view beside its source
    this.controller = new AbortController();
    this.name = decodePath(path.slice(path.lastIndexOf("/") + 1));
  }

  /** Whether it is shown as it is now, not as of a step; 0 is before the first one. */
  get isCurrent() {
    return (this.step ?? null) === null;
  }

  get version() {
    return this.entry ? `${this.entry.modified ?? `step-${this.entry.step}`}-${this.entry.size}` : "";
  }

  /** The URL of the server's view of the file with options of its kind. */
  view(options = {}) {
    return this.address(this.compared ? "difference" : "view", options);
  }

  /** The document's password, once the user has entered it; the page forgets it when it is left. */
  get password() {
    return this.preview.passwords.get(this.path) ?? "";
  }

  set password(value) {
    this.preview.passwords.set(this.path, value);
  }

  /**
   * Options for `fetch`. A password is a header, since addresses are stored in histories and logs.
   * @returns {RequestInit}
   */
  get fetchOptions() {
    const { signal } = this.controller;
    if (!this.password) return { signal };
    return { signal, headers: { "X-Document-Password": encodeURIComponent(this.password) }, cache: "no-store" };
  }

  /** The address of a binary view, for an image; of a document with a password, of a copy in memory. */
  async binaryView(options) {
    return this.password ? URL.createObjectURL(await this.fetchBinary(options)) : this.view(options);
  }

  /** Return a binary view; throws an Error with the server's message on refusal. */
  async fetchBinary(options) {
    const response = await fetch(this.view(options), this.fetchOptions);
    if (response.headers.get("Content-Type")?.startsWith("application/json")) throw new Error((await response.json()).error);
    return response.blob();
  }

  /** The URL of the file's bytes, for display by the browser. */
  raw(options = {}) {
    return this.address("files", { inline: 1, ...options });
  }

  address(what, options) {
    const at = this.isCurrent ? {} : { step: this.step };
    const compared = what === "difference" && this.base !== null ? { base: this.base } : {};
    return runApiUrl(`${what}/${this.path}`, { v: this.version, ...at, ...compared, ...options });
  }

  /** Return the server's view with these options; throws an Error with its message on refusal. Never settles once another file is shown. */
  async ask(options = {}) {
    const { signal } = this.controller;
    const response = fetchJson(this.view(options), this.fetchOptions);
    const { view, error } = await response.catch((cause) => (signal.aborted ? new Promise(() => {}) : Promise.reject(cause)));
    if (error) throw new Error(error);
    return view;
  }

  /** Show details next to the name, such as the number of pages. */
  setDetails(text) {
    this.preview.showDetails(this, text);
  }

  /** Add tools to the preview's header. */
  setTools(...elements) {
    if (this === this.preview.file) this.preview.tools.replaceChildren(...elements);
  }
}
