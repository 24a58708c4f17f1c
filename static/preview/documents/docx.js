// Word document preview.

import { h } from "../../core/dom.js";
import { plural } from "../../core/format.js";
import { fill } from "./sanitised_html.js";

export function open(file, first) {
  const sheet = h("article", { class: "sheet" });
  const says = h("p", { class: "notes", role: "note" });
  const element = h("div", { class: "document" }, says, sheet);
  const update = ({ html, words, omitted, empty }) => {
    fill(sheet, html);
    if (empty) sheet.replaceChildren(h("p", { class: "dim" }, "This document has no text."));
    says.hidden = !omitted;
    says.textContent = omitted ? `${plural(omitted, "image")} not shown: too large, or in an unsupported format.` : "";
    file.tell(plural(words, "word"));
  };
  update(first);
  return { element, update };
}
