// One file that a run made: its addresses, and what can be done with it.

import { h, icon } from "./dom.js";
import { emit, runApi } from "./session.js";

export const version = ({ changed, size }) => `${changed}-${size}`;

export const raw = (file) => `${runApi(`files/${file.path}`)}?${new URLSearchParams({ inline: 1, v: version(file) })}`;

export const download = (file) => h("a", { class: "load", href: runApi(`files/${file.path}`), download: "", "aria-label": `Download ${file.name}`, title: "Download" }, icon("down"));

export const lookAt = (file, attributes = {}, ...children) =>
  h("button", { type: "button", "aria-label": `Look at ${file.name}`, onclick: () => emit("look", file.path), ...attributes }, ...children);

/** The address of a picture of it, as the server's previews make them. */
export const view = (file, options) => `${runApi(`view/${file.path}`)}?${new URLSearchParams({ ...options, v: version(file) })}`;
