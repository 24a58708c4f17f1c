// Text as it is.

import { h } from "../dom.js";

export function open(file, first) {
  const element = h("pre", { class: "text", tabindex: "0" });
  const update = ({ text }) => (element.textContent = text || "This file is empty.");
  update(first);
  return { element, update };
}
