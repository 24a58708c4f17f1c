// A Word document as a page to read.

import { h } from "../dom.js";
import { plural } from "../format.js";
import { fill } from "./foreign.js";

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
