// The model's text as Markdown: the server renders it, and only known tags are taken over.

import { api, ask } from "./session.js";

const TAGS = new Set(
  "P BR HR EM STRONG S CODE PRE BLOCKQUOTE UL OL LI H1 H2 H3 H4 H5 H6 TABLE THEAD TBODY TR TH TD A"
    .split(" "),
);
const MARKED = /^#{1,6} |^\s*([-*+]|\d+[.)]) |^\s*(```|>|\|)|`[^`]+`|\*\*|__|\]\(|(^|\s)[*_]\S/m;
const COLUMNS = /^\s{4,}\S|\S {3,}\S/m;

/** Show `text` in `element` as Markdown, where it is any; text set in columns stays as it is. */
export async function render(element, text) {
  if (COLUMNS.test(text) && !text.includes("```")) return void element.classList.add("columns");
  if (!MARKED.test(text)) return;
  try {
    const { html } = await ask(api("markdown"), { method: "POST", body: text });
    put(element, html);
    element.classList.add("markdown");
  } catch {
    // it can be read as it is
  }
}

/** Fill an element with HTML of which only known tags are taken over. */
export function put(element, html) {
  element.replaceChildren(...copied(new DOMParser().parseFromString(html, "text/html").body));
}

function* copied(parent) {
  for (const node of parent.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) yield document.createTextNode(node.data);
    else if (node.nodeType === Node.ELEMENT_NODE) yield* element(node);
  }
}

function* element(node) {
  if (!TAGS.has(node.tagName)) return yield* copied(node);
  const made = document.createElement(node.tagName);
  const address = node.tagName === "A" ? node.getAttribute("href") : null;
  if (address && /^https?:\/\//i.test(address)) {
    Object.assign(made, { href: address, target: "_blank", rel: "noopener noreferrer nofollow" });
  }
  made.append(...copied(node));
  yield made;
}
