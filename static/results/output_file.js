// An output file: its URLs and actions.

import { h, icon } from "../core/dom.js";
import { bytes } from "../core/format.js";
import { emit, runApi } from "../core/session.js";

export const version = ({ changed, size }) => `${changed}-${size}`;

export const raw = (file) => `${runApi(`files/${file.path}`)}?${new URLSearchParams({ inline: 1, v: version(file) })}`;

export const download = (file) => h("a", { class: "load", href: runApi(`files/${file.path}`), download: "", "aria-label": `Download ${file.name}`, title: "Download" }, icon("down"));

export const lookAt = (file, attributes = {}, ...children) =>
  h("button", { type: "button", "aria-label": `Open ${file.name}`, onclick: () => emit("look", file.path), ...attributes }, ...children);

/** The caption of a file: name, size, download. */
export const caption = (file) => h("figcaption", {},
  lookAt(file, { class: "name", title: file.name }, file.name), h("small", { class: "num" }, bytes(file.size)), download(file));

/** The URL of an image of the file, rendered by the server's previews. */
export const view = (file, options) => `${runApi(`view/${file.path}`)}?${new URLSearchParams({ ...options, v: version(file) })}`;
