// HTML page in a frame with an opaque origin; external requests are listed, and the user may allow them.

import { h, icon } from "../../core/dom.js";
import { formatBytes } from "../../core/format.js";
import { apiUrl, currentRun, on, runApiUrl } from "../../core/event_stream.js";
import { fetchJson } from "../../core/loading/fetch.js";
import { isConfined, confinementPrompt } from "./confined_page.js";
import { messageView, quietButton } from "../parts.js";
import { ExternalRequests } from "./external_requests.js";

const TOKEN_REUSE_MS = 30 * 60 * 1000; // a frame token is valid for an hour
const MAX_AUTOMATIC = 32 * 1024 * 1024;
const MAX_BURST = 1500; // burst of messages allowed
const MAX_RATE = 0.3; // messages per ms afterwards; more would block the page
const LOAD_TIMEOUT_MS = 4000; // ms a page may load before it replaces the previous one
const SANDBOX = { confined: "allow-scripts", unconfined: "allow-scripts", off: "" }; // never allow-same-origin: its scripts would run with our origin
const NOTES = {
  confined: "",
  unconfined: "Scripts are running. This browser cannot keep them offline, so they can read only the page's own folder.",
  off: "Scripts are disabled in this view.",
};
const openPages = new Set();
/** What the user chose for a page, by its address: the same in the preview and among the results. */
const choices = new Map();

addEventListener("message", (event) => openPages.forEach((page) => page.onMessage(event)));
on("workspace", ({ folders }) => openPages.forEach((page) => page.onFilesChanged(folders)));

class HtmlPreview {
  constructor(file, first) {
    this.file = file;
    this.externalRequests = new ExternalRequests({ onAllow: (allowed) => this.allow(allowed), addresses: first.external_urls });
    this.noteElement = h("div", { class: "aside", role: "status", hidden: true });
    this.frames = h("div", { class: "frames" });
    this.element = h("div", { class: "html" }, this.externalRequests.element, this.noteElement, this.frames);
    this.allowed = false;
    this.scripts = ""; // script mode; empty until known
    this.messages = this.since = 0;
    this.scroll = { x: 0, y: 0 };
    this.loaded = new Map(); // path → modification time; null until known
    this.path = file.path;
    this.isHarmless = isDemonstration() && !first.external_urls.length;
    this.step = (file.step ?? null) === null ? null : Number(file.step);
    this.addTools(first);
    openPages.add(this);
  }

  addTools({ title, size }) {
    this.file.setDetails(title);
    const source = quietButton("Source", () => this.file.preview.openAs("text"));
    this.file.setTools(
      source,
      quietButton("Reload", () => this.reload(true)),
    );
    if (!size) return void this.frames.replaceChildren(h("p", { class: "message" }, "This file is empty."));
    if (size <= MAX_AUTOMATIC) return void this.show();
    const showButton = quietButton("Show anyway", () => this.show());
    this.frames.replaceChildren(messageView(`This page is large (${formatBytes(size)}) and may load slowly.`, showButton));
  }

  update(first) {
    this.file.setDetails(first.title);
    if (!this.allowed) this.externalRequests.add(first.external_urls);
    if (this.frame || first.size <= MAX_AUTOMATIC) this.reload();
  }

  close() {
    openPages.delete(this);
    this.closed = true;
    clearTimeout(this.loadTimer);
  }

  allow(allowed) {
    this.allowed = allowed;
    this.tokenTime = 0;
    return this.reload(true);
  }

  reload(newToken = false) {
    if (newToken) this.tokenTime = 0;
    return this.show();
  }

  async requestToken() {
    if (this.tokenTime && Date.now() - this.tokenTime < TOKEN_REUSE_MS) return;
    const { prefix } = await fetchJson(runApiUrl("frames"), {
      method: "POST",
      body: JSON.stringify({ path: this.file.path, base: base(), allow_external: this.allowed, scripts: this.scripts, step: this.step }),
    });
    this.prefix = base() + prefix;
    this.tokenTime = Date.now();
  }

  /** The user has chosen whether scripts run: for this file, wherever it is shown. */
  setScripts(scripts) {
    choices.set(runApiUrl(this.file.path), scripts);
    for (const page of openPages) if (page.file.path === this.file.path) page.useScripts(scripts);
  }

  useScripts(scripts) {
    this.scripts = scripts;
    return this.reload(true);
  }

  /** How scripts run; empty where the user is to choose. A demonstration of the studio contacts no other host. */
  async scriptMode() {
    if (await isConfined()) return "confined";
    return choices.get(runApiUrl(this.file.path)) ?? (this.isHarmless ? "off" : "");
  }

  /** Load the page next to the current one, and replace that when the new one is ready. */
  async show() {
    this.scripts ||= await this.scriptMode();
    if (this.closed) return;
    if (!this.scripts) return void this.frames.replaceChildren(confinementPrompt((scripts) => this.setScripts(scripts)));
    try {
      await this.requestToken();
    } catch (error) {
      return void this.showNote(error.message);
    }
    if (this.closed) return;
    this.showLocation();
    this.nextFrame?.remove();
    const frame = h("iframe", {
      title: this.file.name,
      sandbox: SANDBOX[this.scripts],
      referrerpolicy: "no-referrer",
      class: "loading",
      src: this.prefix + this.path,
    });
    this.nextFrame = frame;
    frame.addEventListener("load", () => this.onLoaded(frame));
    clearTimeout(this.loadTimer);
    this.loadTimer = setTimeout(() => this.onLoaded(frame), LOAD_TIMEOUT_MS);
    if (this.frame) this.frames.append(frame);
    else this.frames.replaceChildren(frame);
    if (!this.frame) this.onLoaded(frame);
  }

  onLoaded(frame) {
    if (frame !== this.nextFrame && frame !== this.frame) return;
    frame.contentWindow?.postMessage({ studio: "scroll", ...this.scroll }, "*");
    if (frame !== this.nextFrame) return;
    this.nextFrame = null;
    this.frame?.remove();
    this.frame = frame;
    frame.classList.remove("loading");
  }

  /** Handle a message from a frame. It is untrusted: text of a known kind or ignored. */
  onMessage({ source, data }) {
    const sender = [this.frame, this.nextFrame].find((frame) => frame && frame.contentWindow === source);
    if (!sender || !source || this.isFlooding() || typeof data?.studio !== "string") return;
    const text = (value) => (typeof value === "string" ? value.slice(0, 300) : "");
    if (data.studio === "blocked") this.externalRequests.add([text(data.address)]);
    if (data.studio === "link") this.offerLink(text(data.address));
    if (data.studio === "navigated") this.onNavigated(text(data.path));
    if (data.studio === "loaded" && Array.isArray(data.paths)) this.onResourcesLoaded(data.paths.map(text));
    if (data.studio === "escape") this.file.preview.setFullScreen(false);
    if (data.studio === "scroll" && sender === this.frame) this.scroll = { x: Number(data.x) || 0, y: Number(data.y) || 0 };
  }

  isFlooding() {
    const now = performance.now();
    this.messages = Math.max(0, this.messages - (now - this.since) * MAX_RATE) + 1;
    this.since = now;
    if (this.messages < MAX_BURST) return false;
    this.frame?.remove();
    this.nextFrame?.remove();
    this.frame = this.nextFrame = null;
    clearTimeout(this.loadTimer);
    this.showNote("This page was stopped because it sent too many messages.");
    return true;
  }

  onNavigated(pathname) {
    const path = pathname
      .split("/frames/")
      .at(-1)
      .replace(/^[^/]*\//, "");
    if (!path || path === this.path) return;
    this.path = path;
    this.scroll = { x: 0, y: 0 };
    this.showLocation();
  }

  showLocation() {
    const otherPage = this.path !== this.file.path;
    const back = quietButton(`Back to ${this.file.name}`, () => this.back());
    if (otherPage) return void this.showNote("This is another page of the workspace.", back);
    const run = quietButton("Run scripts", () => this.setScripts("unconfined"));
    this.showNote(NOTES[this.scripts], ...(this.scripts === "off" ? [run] : []));
  }

  back() {
    this.path = this.file.path;
    this.scroll = { x: 0, y: 0 };
    this.show();
  }

  offerLink(address) {
    if (!/^https?:\/\//.test(address)) return;
    const openLink = h("a", { href: address, target: "_blank", rel: "noopener noreferrer", class: "quiet" }, icon("link"), "Open link in new tab");
    this.showNote(`External link: ${address}`, openLink);
  }

  showNote(words, ...more) {
    this.noteElement.hidden = !words;
    this.noteElement.replaceChildren(...(words ? [h("span", { title: words }, words), ...more] : []));
  }

  onResourcesLoaded(paths) {
    for (const path of paths) {
      const plain = path.split(/[?#]/)[0];
      if (plain && plain !== this.file.path && this.loaded.size < 50 && !this.loaded.has(plain)) {
        this.loaded.set(plain, null);
        this.modifiedTime(plain).then((changed) => this.loaded.set(plain, changed));
      }
    }
  }

  modifiedTime(path) {
    return fetchJson(runApiUrl(`entries/${path}`)).then(
      (entry) => entry?.modified ?? 0,
      () => 0,
    );
  }

  /** Folders were written to: reload the page if a file that it loaded changed. */
  async onFilesChanged(folders) {
    if (this.step !== null) return;
    const candidates = [...this.loaded].filter(
      ([path, changed]) => changed !== null && (!folders || folders.includes(path.slice(0, Math.max(0, path.lastIndexOf("/"))))),
    );
    const now = await Promise.all(candidates.map(([path]) => this.modifiedTime(path)));
    if (this.closed || !candidates.some(([, changed], at) => now[at] !== changed)) return;
    candidates.forEach(([path], at) => this.loaded.set(path, now[at]));
    this.reload();
  }
}

/** Whether the studio's own script made the files of the run. */
const isDemonstration = () => currentRun.status?.metered === false && !currentRun.imported;

const base = () => new URL("..", apiUrl("")).href;

export const open = (file, first) => new HtmlPreview(file, first);
