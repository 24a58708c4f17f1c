// Markdown, rendered.

import { h } from "../dom.js";
import { put } from "../markdown.js";

export function open(file, first) {
  const element = h("article", { class: "page markdown" });
  const update = ({ html }) => put(element, html);
  update(first);
  return { element, update };
}
