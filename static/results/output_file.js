// An output file (with its `run`): its URLs and actions.

import { h, icon } from "../core/dom.js";
import { formatBytes } from "../core/format.js";

export const fileVersion = ({ modified, size }) => `${modified}-${size}`;

export const rawUrl = (file) => file.run.url(`files/${file.path}`, { inline: "1", v: fileVersion(file) });

/** A link that downloads the file; null for one whose content is not there. */
export function downloadLink(file) {
  const href = file.run.url(`files/${file.path}`);
  const attributes = { class: "download", href, download: file.name.split("/").at(-1), "aria-label": `Download ${file.name}`, title: "Download" };
  return href ? h("a", attributes, icon("download")) : null;
}

export const openButton = (file, attributes = {}, ...children) =>
  h("button", { "aria-label": `Open ${file.name}`, onclick: () => file.run.emit("open-file", file.path), ...attributes }, ...children);

/** The caption of a file: name, size, download. */
export const caption = (file) =>
  h(
    "figcaption",
    {},
    openButton(file, { class: "name", title: file.name }, file.name),
    h("small", { class: "num" }, formatBytes(file.size)),
    downloadLink(file),
  );

/** The URL of an image of the file, rendered by the server's previews. */
export const viewUrl = (file, options) => file.run.url(`view/${file.path}`, { ...options, v: fileVersion(file) });
