// Markdown rendered by the server; only known tags are inserted.

import { h } from "./dom.js";
import { apiUrl, fetchJson } from "./event_stream.js";

const TAGS = new Set(
  "P BR HR EM STRONG S DEL CODE PRE BLOCKQUOTE UL OL LI H1 H2 H3 H4 H5 H6 TABLE THEAD TBODY TR TH TD A SUP SECTION SPAN INPUT IMG"
    .split(" "),
);
const MATH = "http://www.w3.org/1998/Math/MathML";
const FORMULA_TAGS = new Set(
  "math mrow mi mo mn ms mtext mspace msup msub msubsup mfrac msqrt mroot mover munder munderover mtable mtr mtd mstyle mpadded mphantom menclose mmultiscripts mprescripts none"
    .split(" "),
);
const FORMULA_ATTRIBUTES = new Set(
  "display displaystyle scriptlevel mathvariant stretchy fence separator form accent accentunder largeop movablelimits symmetric lspace rspace minsize maxsize linethickness columnalign columnspacing columnlines rowspacing rowlines notation width height depth voffset"
    .split(" "),
);
const MARKDOWN_SYNTAX = /^#{1,6} |^\s*([-*+]|\d+[.)]) |^\s*(```|>|\|)|`[^`]+`|\*\*|__|\]\(|(^|\s)[*_]\S|\$\S|\\[([]/m;
const ALIGNED_COLUMNS = /^\s{4,}\S|\S {3,}\S/m;
const PREFORMATTED_LINE = /^\s|\S( {2,}|\t)\S/; // a line that wrapping would make unreadable

/** Render `text` in `element` if it is Markdown; text aligned in columns stays plain. */
export async function renderMarkdown(element, text) {
  if (ALIGNED_COLUMNS.test(text) && !text.includes("```")) {
    element.classList.add("columns");
    const lines = text.split(/(?<=\n)/);
    return element.replaceChildren(...lines.map((line) => (PREFORMATTED_LINE.test(line) ? line : h("span", { class: "running" }, line))));
  }
  if (!MARKDOWN_SYNTAX.test(text)) return element.replaceChildren(text);
  try {
    const { html } = await fetchJson(apiUrl("markdown"), { method: "POST", body: text });
    insertHtml(element, html);
    element.classList.add("markdown");
  } catch {
    // the plain text remains
  }
  return undefined;
}

/**
 * Fill an element with HTML, keeping known tags only. Links lead to the web;
 * `link(address, copy)` may handle other links, `image(address, alt)` creates an element for
 * an image; without it no images are shown.
 */
export function insertHtml(element, html, handlers = {}) {
  const parsed = new DOMParser().parseFromString(html, "text/html").body;
  element.replaceChildren(...copyChildren(parsed, { root: element, ...handlers }));
}

function* copyChildren(parent, handlers) {
  for (const node of parent.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) yield document.createTextNode(node.data);
    else if (node.nodeType === Node.ELEMENT_NODE) yield* node.namespaceURI === MATH ? copyFormula(node) : copyElement(node, handlers);
  }
}

function* copyElement(node, handlers) {
  if (!TAGS.has(node.tagName)) return yield* copyChildren(node, handlers);
  if (node.tagName === "IMG") {
    if (handlers.image) yield handlers.image(node.getAttribute("src") ?? "", node.getAttribute("alt") ?? "");
    return undefined;
  }
  const copy = document.createElement(node.tagName);
  if (node.id) copy.dataset.anchor = node.id;
  (SPECIAL[node.tagName] ?? (() => {}))(node, copy, handlers);
  copy.append(...copyChildren(node, handlers));
  yield copy;
  return undefined;
}

const copyAlignment = (node, copy) => (copy.style.textAlign = node.style.textAlign);

const SPECIAL = {
  TH: copyAlignment,
  TD: copyAlignment,
  A: (node, copy, handlers) => {
    const address = node.getAttribute("href") ?? "";
    if (/^https?:\/\//i.test(address)) Object.assign(copy, { href: address, target: "_blank", rel: "noopener noreferrer nofollow" });
    else if (address.startsWith("#")) linkToAnchor(copy, address.slice(1), handlers.root);
    else handlers.link?.(address, copy);
  },
  SPAN: (node, copy) => (copy.className = [...node.classList].filter((name) => /^(syn-\w+|add|del)$/.test(name)).join(" ")),
  CODE: (node, copy) => node.classList.contains("tex") && copy.classList.add("tex"),
  SECTION: (_node, copy) => (copy.className = "footnotes"),
  OL: (node, copy) => node.start > 1 && (copy.start = node.start),
  INPUT: (node, copy) => {
    Object.assign(copy, { type: "checkbox", disabled: true, checked: node.hasAttribute("checked") });
    copy.setAttribute("aria-label", copy.checked ? "done" : "to do");
  },
};

/** A link within the same text. */
function linkToAnchor(copy, name, root) {
  copy.href = "#";
  copy.addEventListener("click", (event) => {
    event.preventDefault();
    const target = [...root.querySelectorAll("[data-anchor]")].find((each) => each.dataset.anchor === decodeName(name));
    target?.scrollIntoView({ block: "start" });
  });
}

function decodeName(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function* copyFormula(node) {
  if (!FORMULA_TAGS.has(node.localName)) return;
  const copy = document.createElementNS(MATH, node.localName);
  for (const { name, value } of node.attributes) if (FORMULA_ATTRIBUTES.has(name)) copy.setAttribute(name, value);
  for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.data);
    else if (child.namespaceURI === MATH) copy.append(...copyFormula(child));
  }
  yield copy;
}
