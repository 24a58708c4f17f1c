// The two sides of a file: what it shows, and its source.

import { h, styled } from "../dom.js";

const NAMES = { markdown: "Rendered", tree: "Tree", page: "Page", drawing: "Picture", notebook: "Notebook", table: "Table" };

/** Two buttons for the head, `kind` being what is shown beside the source; none for mere text. */
export function sides(file, kind, shown) {
  if (!NAMES[kind]) return [];
  styled("preview/sides.css");
  const button = (name, as) =>
    h("button", { type: "button", class: "quiet", "aria-pressed": String(as === shown), onclick: () => as !== shown && file.preview.openAs(as) }, name);
  return [h("span", { class: "sides", role: "group", "aria-label": "How it is shown" }, button(NAMES[kind], ""), button("Source", "text"))];
}
