// Video preview with the browser's own player.

import { h } from "../../core/dom.js";
import { clock } from "../../core/format.js";
import { measure, refusal, renew, source } from "./player.js";

const POSTER = 0.1; // seconds: the first frame is often black

class Film {
  constructor(file, first) {
    this.file = file;
    this.first = first;
    this.media = h("video", { controls: true, preload: "metadata", playsinline: true, controlslist: "nodownload", "aria-label": file.name });
    this.element = h("div", { class: "film" }, this.media);
    measure(this.media);
    for (const name of ["loadedmetadata", "durationchange"]) this.media.addEventListener(name, () => this.tell());
    this.media.addEventListener("error", () => this.refused());
    this.media.src = `${source(file)}#t=${POSTER}`;
    this.tell();
  }

  tell() {
    const { videoWidth, videoHeight, duration } = this.media;
    const parts = [this.first.codec];
    if (videoWidth) parts.push(`${videoWidth} × ${videoHeight}`);
    else if (this.media.readyState) parts.push("no video track");
    if (Number.isFinite(duration)) parts.push(clock(duration));
    this.file.tell(parts.filter(Boolean).join(" · "));
  }

  update(first) {
    this.first = first;
    if (this.failed) this.element.replaceChildren(this.media);
    this.failed = null;
    renew(this.media, source(this.file));
    this.tell();
  }

  close() {
    this.closed = true;
    this.media.pause();
    this.media.removeAttribute("src");
    this.media.load();
  }

  refused() {
    if (this.closed || this.failed || !this.media.getAttribute("src")) return;
    const { codec } = this.first;
    this.failed = refusal(this.file, codec ? `this video (${codec})` : "this video");
    this.element.replaceChildren(this.failed);
  }
}

export const open = (file, first) => new Film(file, first);
