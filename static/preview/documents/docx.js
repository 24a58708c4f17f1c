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
    says.textContent = omitted ? `${plural(omitted, "picture")} ${omitted === 1 ? "is" : "are"} not shown here: too large, or of a kind that browsers do not know.` : "";
    file.tell(plural(words, "word"));
  };
  update(first);
  return { element, update };
}
