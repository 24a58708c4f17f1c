// Word document preview.

import { h } from "../../core/dom.js";
import { plural } from "../../core/format.js";
import { insertHtml, loadSanitiser } from "../../core/text/sanitised_html.js";

export async function open(file, first) {
  await loadSanitiser();
  const page = h("article", { class: "page" });
  const notes = h("p", { class: "notes", role: "note" });
  const element = h("div", { class: "document" }, notes, page);
  const update = ({ html, word_count: wordCount, omitted, empty }) => {
    insertHtml(page, html);
    if (empty) page.replaceChildren(h("p", { class: "dim" }, "This document has no text."));
    notes.hidden = !omitted;
    notes.textContent = omitted ? `${plural(omitted, "image")} not shown: too large, or in an unsupported format.` : "";
    file.setDetails(plural(wordCount, "word"));
  };
  update(first);
  return { element, update };
}
