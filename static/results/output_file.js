// An output file (with its `run`): its URLs and actions.

import { h, icon } from "../core/dom.js";
import { formatBytes } from "../core/format.js";

export const fileVersion = ({ modified, size }) => `${modified}-${size}`;

export const rawUrl = (file) => `${file.run.url(`files/${file.path}`)}?${new URLSearchParams({ inline: "1", v: fileVersion(file) })}`;

export const downloadLink = (file) =>
  h(
    "a",
    { class: "download", href: file.run.url(`files/${file.path}`), download: "", "aria-label": `Download ${file.name}`, title: "Download" },
    icon("download"),
  );

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
export const viewUrl = (file, options) => `${file.run.url(`view/${file.path}`)}?${new URLSearchParams({ ...options, v: fileVersion(file) })}`;
