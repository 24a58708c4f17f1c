// The files of a report: downloads from the data in it, and media that it contains once.

import { h } from "../core/dom.js";

/** Show the download buttons, and fill the media whose data another element has. */
export function enableDownloads(page) {
  for (const copy of page.querySelectorAll("[data-copy-of]")) copy.src = sourceOf(page, copy.dataset.copyOf);
  for (const button of page.querySelectorAll("button[data-content]")) {
    button.hidden = false;
    button.addEventListener("click", () => download(page, button.dataset));
  }
}

const sourceOf = (page, id) => page.getElementById(id).src;

function download(page, { content, name }) {
  const element = page.getElementById(`content-${content}`);
  const base64 = element.localName === "script" ? element.textContent : element.src.slice(element.src.indexOf(",") + 1);
  const url = URL.createObjectURL(new Blob([bytesOf(base64)]));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** The bytes of a text in base64. */
export function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}
