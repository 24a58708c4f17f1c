// Toggle between the rendered view and the source of a file.

import { h } from "../core/dom.js";

const NAMES = { markdown: "Rendered", tree: "Tree", page: "Page", drawing: "Image", notebook: "Notebook", table: "Table" };

/** Two buttons for the header; `kind` is the rendered kind. None for plain text. */
export function sides(file, kind, shown) {
  if (!NAMES[kind]) return [];
  const button = (name, as) =>
    h("button", { type: "button", class: "quiet", "aria-pressed": String(as === shown), onclick: () => as !== shown && file.preview.openAs(as) }, name);
  return [h("span", { class: "sides", role: "group", "aria-label": "View" }, button(NAMES[kind], ""), button("Source", "text"))];
}
