// Markdown rendered by the server.

import { h } from "../dom.js";
import { apiUrl } from "../event_stream.js";
import { fetchJson } from "../loading/fetch.js";
import { insertHtml, loadSanitiser } from "./sanitised_html.js";

const MARKDOWN_SYNTAX = /^#{1,6} |^\s*([-*+]|\d+[.)]) |^\s*(```|>|\|)|`[^`]+`|\*\*|__|\]\(|(^|\s)[*_]\S|\$\S|\\[([]/m;
const ALIGNED_COLUMNS = /^\s{4,}\S|\S {3,}\S/m;
const PREFORMATTED_LINE = /^\s|\S( {2,}|\t)\S/; // a line that wrapping would make unreadable

let missingNoted = false;

/** Render `text` in `element` if it is Markdown; text aligned in columns stays plain. */
export async function renderMarkdown(element, text) {
  if (ALIGNED_COLUMNS.test(text) && !text.includes("```")) {
    element.classList.add("columns");
    const lines = text.split(/(?<=\n)/);
    return element.replaceChildren(...lines.map((line) => (PREFORMATTED_LINE.test(line) ? line : h("span", { class: "running" }, line))));
  }
  if (!MARKDOWN_SYNTAX.test(text)) return element.replaceChildren(text);
  try {
    const [{ html }] = await Promise.all([fetchJson(apiUrl("markdown"), { method: "POST", body: text, repeatable: true }), loadSanitiser()]);
    insertHtml(element, html);
    element.classList.add("markdown");
  } catch (error) {
    if (error.library) noteMissing(element, error); // the plain text remains
  }
  return undefined;
}

function noteMissing(element, { message }) {
  if (!missingNoted) element.append(h("p", { class: "dim" }, `Markdown is shown as plain text. ${message}`));
  missingNoted = true;
}
