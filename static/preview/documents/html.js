// HTML page in a frame with an opaque origin; external requests are listed, and the user may allow them.

import { h, icon } from "../../core/dom.js";
import { bytes } from "../../core/format.js";
import { api, ask, on, runApi, session } from "../../core/session.js";
import { confined, question } from "./confined_page.js";
import { Outside } from "./external_requests.js";

const FRESH = 30 * 60 * 1000; // a frame token is valid for an hour
const LARGE = 32 * 1024 * 1024;
const NOISE = 1500; // burst of messages allowed
const QUIET = 0.3; // messages per ms afterwards; more would block the page
const PATIENCE = 4000; // ms a page may load before it replaces the previous one
const SANDBOX = { confined: "allow-scripts", unconfined: "allow-scripts", off: "" }; // never allow-same-origin: its scripts would run with our origin
const NOTES = {
  confined: "",
  unconfined: "Scripts are running. This browser cannot keep them offline, so they can read only the page's own folder.",
  off: "Scripts are disabled in this view.",
};
const open_ = new Set();

addEventListener("message", (event) => open_.forEach((page) => page.heard(event)));
on("workspace", ({ folders }) => open_.forEach((page) => page.written(folders)));

class Page {
  constructor(file, first) {
    this.file = file;
    this.outside = new Outside({ onAllow: (allowed) => this.allow(allowed), address: first.outside });
    this.aside = h("div", { class: "aside", role: "status", hidden: true });
    this.frames = h("div", { class: "frames" });
    this.element = h("div", { class: "page" }, this.outside.element, this.aside, this.frames);
    this.allowed = false;
    this.scripts = ""; // script mode; empty until known
    this.messages = this.since = 0;
    this.scroll = { x: 0, y: 0 };
    this.loaded = new Map(); // path → modification time; null until known
    this.path = file.path;
    this.step = (file.step ?? null) === null ? null : Number(file.step);
    this.head(first);
    open_.add(this);
  }

  head({ title, size }) {
    this.file.tell(title);
    const source = h("button", { type: "button", class: "quiet", onclick: () => this.file.preview.openAs("text") }, "Source");
    const reload = h("button", { type: "button", class: "quiet", onclick: () => this.reload(true) }, "Reload");
    this.file.tools(source, reload);
    if (!size) return void this.frames.replaceChildren(h("p", { class: "says" }, "This file is empty."));
    if (size <= LARGE) return void this.show();
    const anyway = h("button", { type: "button", class: "quiet", onclick: () => this.show() }, "Show anyway");
    this.frames.replaceChildren(h("div", { class: "says" }, icon("file"),
      h("p", {}, `This page is large (${bytes(size)}) and may load slowly.`), h("div", {}, anyway)));
  }

  update(first) {
    this.file.tell(first.title);
    if (!this.allowed) this.outside.add(first.outside);
    if (this.frame || first.size <= LARGE) this.reload();
  }

  close() {
    open_.delete(this);
    this.closed = true;
    clearTimeout(this.late);
  }

  allow(allowed) {
    this.allowed = allowed;
    this.made = 0;
    return this.reload(true);
  }

  reload(anew = false) {
    if (anew) this.made = 0;
    return this.show();
  }

  async pass() {
    if (this.made && Date.now() - this.made < FRESH) return;
    const { prefix } = await ask(runApi("frames"), {
      method: "POST",
      body: JSON.stringify({ path: this.file.path, base: base(), allowed: this.allowed, scripts: this.scripts, step: this.step }),
    });
    Object.assign(this, { prefix: base() + prefix, made: Date.now() });
  }

  choose(scripts) {
    this.scripts = scripts;
    return this.reload(true);
  }

  /** Load the page next to the current one, and replace that when the new one is ready. */
  async show() {
    this.scripts ||= (await confined()) ? "confined" : "";
    if (this.closed) return;
    if (!this.scripts) return void this.frames.replaceChildren(question((scripts) => this.choose(scripts)));
    try {
      await this.pass();
    } catch (error) {
      return void this.say(error.message);
    }
    if (this.closed) return;
    this.where();
    this.coming?.remove();
    const frame = h("iframe", {
      title: this.file.name, sandbox: SANDBOX[this.scripts], referrerpolicy: "no-referrer", class: "coming",
      src: this.prefix + this.path,
    });
    this.coming = frame;
    frame.addEventListener("load", () => this.arrived(frame));
    clearTimeout(this.late);
    this.late = setTimeout(() => this.arrived(frame), PATIENCE);
    if (this.frame) this.frames.append(frame);
    else this.frames.replaceChildren(frame);
    if (!this.frame) this.arrived(frame);
  }

  arrived(frame) {
    if (frame !== this.coming && frame !== this.frame) return;
    frame.contentWindow?.postMessage({ studio: "scroll", ...this.scroll }, "*");
    if (frame !== this.coming) return;
    this.coming = null;
    this.frame?.remove();
    this.frame = frame;
    frame.classList.remove("coming");
  }

  /** Handle a message from a frame. It is untrusted: text of a known kind or ignored. */
  heard({ source, data }) {
    const ours = [this.frame, this.coming].find((frame) => frame && frame.contentWindow === source);
    if (!ours || !source || this.noisy() || typeof data?.studio !== "string") return;
    const text = (value) => (typeof value === "string" ? value.slice(0, 300) : "");
    if (data.studio === "asked") this.outside.add([text(data.address)]);
    if (data.studio === "link") this.link(text(data.address));
    if (data.studio === "hello") this.went(text(data.path));
    if (data.studio === "loaded" && Array.isArray(data.paths)) this.took(data.paths.map(text));
    if (data.studio === "escape") this.file.preview.fill(false);
    if (data.studio === "scroll" && ours === this.frame) this.scroll = { x: Number(data.x) || 0, y: Number(data.y) || 0 };
  }

  noisy() {
    const now = performance.now();
    this.messages = Math.max(0, this.messages - (now - this.since) * QUIET) + 1;
    this.since = now;
    if (this.messages < NOISE) return false;
    this.frame?.remove();
    this.coming?.remove();
    this.frame = this.coming = null;
    clearTimeout(this.late);
    this.say("This page was stopped because it sent too many messages.");
    return true;
  }

  went(pathname) {
    const path = pathname.split("/frames/").at(-1).replace(/^[^/]*\//, "");
    if (!path || path === this.path) return;
    this.path = path;
    this.scroll = { x: 0, y: 0 };
    this.where();
  }

  where() {
    const elsewhere = this.path !== this.file.path;
    const back = h("button", { type: "button", class: "quiet", onclick: () => this.back() }, `Back to ${this.file.name}`);
    if (elsewhere) return void this.say("This is another page of the workspace.", back);
    const run = h("button", { type: "button", class: "quiet", onclick: () => this.choose("unconfined") }, "Run scripts");
    this.say(NOTES[this.scripts], ...(this.scripts === "off" ? [run] : []));
  }

  back() {
    this.path = this.file.path;
    this.scroll = { x: 0, y: 0 };
    this.show();
  }

  link(address) {
    if (!/^https?:\/\//.test(address)) return;
    const leave = h("a", { href: address, target: "_blank", rel: "noopener noreferrer", class: "quiet" }, icon("link"), "Open link in new tab");
    this.say(`External link: ${address}`, leave);
  }

  say(words, ...more) {
    this.aside.hidden = !words;
    this.aside.replaceChildren(...(words ? [h("span", { title: words }, words), ...more] : []));
  }

  took(paths) {
    for (const path of paths) {
      const plain = path.split(/[?#]/)[0];
      if (plain && plain !== this.file.path && this.loaded.size < 50 && !this.loaded.has(plain)) {
        this.loaded.set(plain, null);
        this.age(plain).then((changed) => this.loaded.set(plain, changed));
      }
    }
  }

  age(path) {
    return ask(runApi(`entries/${path}`)).then((entry) => entry?.changed ?? 0, () => 0);
  }

  /** Folders were written to: reload the page if a file that it loaded changed. */
  async written(folders) {
    if (this.step !== null) return;
    const touched = [...this.loaded].filter(([path, changed]) =>
      changed !== null && (!folders || folders.includes(path.slice(0, Math.max(0, path.lastIndexOf("/"))))));
    const now = await Promise.all(touched.map(([path]) => this.age(path)));
    if (this.closed || !touched.some(([, changed], at) => now[at] !== changed)) return;
    touched.forEach(([path], at) => this.loaded.set(path, now[at]));
    this.reload();
  }
}

const base = () => new URL("..", api("")).href;

export const open = (file, first) => new Page(file, first);
