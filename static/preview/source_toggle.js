// Toggle between the rendered view and the source of a file.

import { h } from "../core/dom.js";

const VIEW_NAMES = { markdown: "Rendered", json: "Tree", html: "Page", svg: "Image", notebook: "Notebook", table: "Table" };

/** Two buttons for the header; `kind` is the rendered kind. None for plain text. */
export function sourceToggle(file, kind, current) {
  if (!VIEW_NAMES[kind]) return [];
  const button = (name, as) =>
    h("button", { class: "quiet", "aria-pressed": String(as === current), onclick: () => as !== current && file.preview.openAs(as) }, name);
  return [h("span", { class: "view-toggle", role: "group", "aria-label": "View" }, button(VIEW_NAMES[kind], ""), button("Source", "text"))];
}
