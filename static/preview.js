// A look at one file. Nothing of it is ever run: text is text, images are images.

import { h, icon, picture } from "./dom.js";
import { ago, bytes, kindOf, shownPath } from "./format.js";
import { render } from "./markdown.js";
import { ask, persist, runApi, session } from "./session.js";

const TEXT_BYTES = 256 * 1024;
const DRAWING_BYTES = 8 * 1024 * 1024;

export class Preview {
  constructor(element) {
    this.element = element;
    this.name = h("b");
    this.about = h("small", { class: "num" });
    this.download = h("a", { class: "quiet", download: "" }, "Download");
    const close = h("button", { type: "button", class: "quiet", "aria-label": "Close preview", onclick: () => this.close() }, icon("close"));
    this.canvas = h("div", { class: "canvas", tabindex: "0" });
    element.append(h("div", { class: "hd" }, this.name, this.about, this.download, close), this.canvas);
  }

  close() {
    this.element.hidden = true;
    this.path = null;
    this.canvas.replaceChildren();
  }

  /** Show a file; again only if it has changed since. */
  async show(path, entry = null) {
    const version = entry ? `${entry.changed}-${entry.size}` : "";
    if (path === this.path && version === this.version) return;
    Object.assign(this, { path, version });
    const name = shownPath(path.slice(path.lastIndexOf("/") + 1));
    this.element.hidden = false;
    this.name.textContent = this.name.title = name;
    this.download.href = runApi(`files/${path}`);
    this.download.setAttribute("download", name);
    this.tell(entry);
    const view = await this.view(path, name, version);
    if (path !== this.path || version !== this.version) return;
    this.canvas.className = `canvas ${view.className ? `has-${view.className.split(" ")[0]}` : ""}`;
    this.canvas.replaceChildren(view);
  }

  tell(entry, extra = "") {
    const parts = [extra];
    if (entry) parts.push(bytes(entry.size), `written ${ago(session.now() - entry.changed)}`);
    this.about.textContent = parts.filter(Boolean).join(" · ");
    this.entry = entry;
  }

  async view(path, name, version) {
    const address = `${runApi(`files/${path}`)}?inline=1&v=${version}`;
    const kind = kindOf(name);
    try {
      if (name.toLowerCase().endsWith(".svg")) return await this.drawing(address, name);
      if (/\.html?$/i.test(name)) return this.page(address, name);
      if (kind === "image") return this.image(address, name);
      if (kind === "sound") return h("audio", { src: address, controls: true, autoplay: false, "aria-label": name });
      if (kind === "film") return h("video", { src: address, controls: true, "aria-label": name });
      return await this.text(address, name);
    } catch (error) {
      return h("p", { class: "none" }, error.message);
    }
  }

  image(address, name) {
    const image = picture(address, name);
    image.addEventListener("load", () => this.tell(this.entry, `${image.naturalWidth} × ${image.naturalHeight}`));
    return image;
  }

  /** A drawing in an image element cannot run scripts, and from data: it has no origin. */
  async drawing(address, name) {
    const text = await fetched(address, DRAWING_BYTES);
    const reader = new FileReader();
    await new Promise((resolve) => {
      reader.addEventListener("loadend", resolve);
      reader.readAsDataURL(new Blob([text], { type: "image/svg+xml" }));
    });
    return h("img", { src: reader.result, alt: name });
  }

  /** A page in a frame that has no origin and no network; the server's header says so, too. */
  page(address, name) {
    return h("iframe", { class: "frame", src: address, title: name, sandbox: "allow-scripts", referrerpolicy: "no-referrer" });
  }

  async text(address, name) {
    const text = await fetched(address, TEXT_BYTES);
    if (!text) return h("p", { class: "none" }, "This file is empty.");
    if (!/\.(md|markdown)$/i.test(name)) return h("pre", { class: "text", tabindex: "0" }, text);
    const page = h("div", { class: "page" }, text);
    render(page, text);
    return page;
  }
}

async function fetched(address, most) {
  const response = await persist(address, { headers: { Range: `bytes=0-${most - 1}` } });
  if (response.status === 416) return "";
  if (!response.ok) return ask(address);
  const text = await response.text();
  const size = Number(response.headers.get("content-range")?.split("/")[1] ?? 0);
  return size > most ? `${text}\n\n… ${bytes(size - most)} more; download the file to see all of it.` : text;
}
