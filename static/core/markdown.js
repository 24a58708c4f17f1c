// Markdown rendered by the server; only known tags are inserted.

import { h } from "./dom.js";
import { api, ask } from "./session.js";

const TAGS = new Set(
  "P BR HR EM STRONG S DEL CODE PRE BLOCKQUOTE UL OL LI H1 H2 H3 H4 H5 H6 TABLE THEAD TBODY TR TH TD A SUP SECTION SPAN INPUT IMG"
    .split(" "),
);
const MATH = "http://www.w3.org/1998/Math/MathML";
const FORMULA = new Set(
  "math mrow mi mo mn ms mtext mspace msup msub msubsup mfrac msqrt mroot mover munder munderover mtable mtr mtd mstyle mpadded mphantom menclose mmultiscripts mprescripts none"
    .split(" "),
);
const OF_FORMULAS = new Set(
  "display displaystyle scriptlevel mathvariant stretchy fence separator form accent accentunder largeop movablelimits symmetric lspace rspace minsize maxsize linethickness columnalign columnspacing columnlines rowspacing rowlines notation width height depth voffset"
    .split(" "),
);
const MARKED = /^#{1,6} |^\s*([-*+]|\d+[.)]) |^\s*(```|>|\|)|`[^`]+`|\*\*|__|\]\(|(^|\s)[*_]\S|\$\S|\\[([]/m;
const COLUMNS = /^\s{4,}\S|\S {3,}\S/m;
const SET = /^\s|\S( {2,}|\t)\S/; // a line that wrapping would make unreadable

/** Render `text` in `element` if it is Markdown; text aligned in columns stays plain. */
export async function render(element, text) {
  if (COLUMNS.test(text) && !text.includes("```")) {
    element.classList.add("columns");
    const lines = text.split(/(?<=\n)/);
    return element.replaceChildren(...lines.map((line) => (SET.test(line) ? line : h("span", { class: "running" }, line))));
  }
  if (!MARKED.test(text)) return element.replaceChildren(text);
  try {
    const { html } = await ask(api("markdown"), { method: "POST", body: text });
    put(element, html);
    element.classList.add("markdown");
  } catch {
    // the plain text remains
  }
  return undefined;
}

/**
 * Fill an element with HTML, keeping known tags only. Links lead to the web;
 * `link(address, made)` may handle other links, `image(address, alt)` creates an element for
 * an image; without it no images are shown.
 */
export function put(element, html, ways = {}) {
  const parsed = new DOMParser().parseFromString(html, "text/html").body;
  element.replaceChildren(...copied(parsed, { root: element, ...ways }));
}

function* copied(parent, ways) {
  for (const node of parent.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) yield document.createTextNode(node.data);
    else if (node.nodeType === Node.ELEMENT_NODE) yield* node.namespaceURI === MATH ? formula(node) : element(node, ways);
  }
}

function* element(node, ways) {
  if (!TAGS.has(node.tagName)) return yield* copied(node, ways);
  if (node.tagName === "IMG") {
    if (ways.image) yield ways.image(node.getAttribute("src") ?? "", node.getAttribute("alt") ?? "");
    return undefined;
  }
  const made = document.createElement(node.tagName);
  if (node.id) made.dataset.anchor = node.id;
  (SPECIAL[node.tagName] ?? (() => {}))(node, made, ways);
  made.append(...copied(node, ways));
  yield made;
  return undefined;
}

const aligned = (node, made) => (made.style.textAlign = node.style.textAlign);

const SPECIAL = {
  TH: aligned,
  TD: aligned,
  A: (node, made, ways) => {
    const address = node.getAttribute("href") ?? "";
    if (/^https?:\/\//i.test(address)) Object.assign(made, { href: address, target: "_blank", rel: "noopener noreferrer nofollow" });
    else if (address.startsWith("#")) within(made, address.slice(1), ways.root);
    else ways.link?.(address, made);
  },
  SPAN: (node, made) => (made.className = [...node.classList].filter((name) => /^(syn-\w+|add|del)$/.test(name)).join(" ")),
  CODE: (node, made) => node.classList.contains("tex") && made.classList.add("tex"),
  SECTION: (_node, made) => (made.className = "footnotes"),
  OL: (node, made) => node.start > 1 && (made.start = node.start),
  INPUT: (node, made) => {
    Object.assign(made, { type: "checkbox", disabled: true, checked: node.hasAttribute("checked") });
    made.setAttribute("aria-label", made.checked ? "done" : "to do");
  },
};

/** A link within the same text. */
function within(made, name, root) {
  made.href = "#";
  made.addEventListener("click", (event) => {
    event.preventDefault();
    const found = [...root.querySelectorAll("[data-anchor]")].find((each) => each.dataset.anchor === decoded(name));
    found?.scrollIntoView({ block: "start" });
  });
}

function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function* formula(node) {
  if (!FORMULA.has(node.localName)) return;
  const made = document.createElementNS(MATH, node.localName);
  for (const { name, value } of node.attributes) if (OF_FORMULAS.has(name)) made.setAttribute(name, value);
  for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) made.append(child.data);
    else if (child.namespaceURI === MATH) made.append(...formula(child));
  }
  yield made;
}
