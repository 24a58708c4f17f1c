// Video preview with the browser's own player.

import { h } from "../../core/dom.js";
import { formatClock } from "../../core/format.js";
import { determineDuration, mediaUrl, playbackError, reloadMedia, unload } from "./player.js";

const POSTER = 0.1; // seconds: the first frame is often black

class VideoPreview {
  constructor(file, first) {
    this.file = file;
    this.first = first;
    this.media = h("video", { controls: true, preload: "metadata", playsinline: true, controlslist: "nodownload", "aria-label": file.name });
    this.element = h("div", { class: "video" }, this.media);
    determineDuration(this.media);
    for (const name of ["loadedmetadata", "durationchange"]) this.media.addEventListener(name, () => this.showDetails());
    this.media.addEventListener("error", () => this.onError());
    this.media.src = `${mediaUrl(file)}#t=${POSTER}`;
    this.showDetails();
  }

  showDetails() {
    const { videoWidth, videoHeight, duration } = this.media;
    const parts = [this.first.codec];
    if (videoWidth) parts.push(`${videoWidth} × ${videoHeight}`);
    else if (this.media.readyState) parts.push("no video track");
    if (Number.isFinite(duration)) parts.push(formatClock(duration));
    this.file.setDetails(parts.filter(Boolean).join(" · "));
  }

  update(first) {
    this.first = first;
    if (this.errorView) this.element.replaceChildren(this.media);
    this.errorView = null;
    reloadMedia(this.media, mediaUrl(this.file));
    this.showDetails();
  }

  close() {
    this.closed = true;
    unload(this.media);
  }

  onError() {
    if (this.closed || this.errorView || !this.media.getAttribute("src")) return;
    const { codec } = this.first;
    this.errorView = playbackError(this.file, codec ? `this video (${codec})` : "this video");
    this.element.replaceChildren(this.errorView);
  }
}

export const open = (file, first) => new VideoPreview(file, first);
