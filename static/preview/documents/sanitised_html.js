// Inserts HTML from files with allowed tags and attributes only.

const TAGS = new Set(
  "P BR HR EM STRONG B I U S SUB SUP SMALL MARK CODE PRE BLOCKQUOTE UL OL LI DL DT DD H1 H2 H3 H4 H5 H6 TABLE CAPTION THEAD TBODY TFOOT TR TH TD A IMG DIV SPAN FIGURE FIGCAPTION KBD SAMP VAR ABBR CITE Q DEL INS DETAILS SUMMARY"
    .split(" "),
);
const DATA_IMAGE = /^data:image\/(png|jpeg|gif|webp|bmp);base64,[A-Za-z0-9+/=\s]+$/;
const MAX_SPAN = 100;

/** Fill an element with HTML sanitised by the server, inserting allowed tags only. */
export function insertSanitised(element, html) {
  const parsed = new DOMParser().parseFromString(html, "text/html").body;
  element.replaceChildren(...copyChildren(parsed, element));
}

function* copyChildren(parent, root) {
  for (const node of parent.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) yield document.createTextNode(node.data);
    else if (node.nodeType !== Node.ELEMENT_NODE) continue;
    else if (TAGS.has(node.tagName)) yield copyElement(node, root);
    else yield* copyChildren(node, root);
  }
}

function copyElement(node, root) {
  const element = document.createElement(node.tagName);
  if (node.id) element.dataset.anchor = node.id;
  if (node.tagName === "IMG") return copyImage(node, element);
  if (node.tagName === "A") setLink(node.getAttribute("href") ?? "", element, root);
  if (node.tagName === "OL" && node.start > 1) element.start = node.start;
  if (node.tagName === "TH" || node.tagName === "TD") {
    if (node.colSpan > 1) element.colSpan = Math.min(node.colSpan, MAX_SPAN);
    if (node.rowSpan > 1) element.rowSpan = Math.min(node.rowSpan, MAX_SPAN);
    element.style.textAlign = node.style.textAlign;
  }
  element.append(...copyChildren(node, root));
  return element;
}

function copyImage(node, element) {
  const address = node.getAttribute("src") ?? "";
  if (!DATA_IMAGE.test(address)) return document.createTextNode(node.alt ? `[${node.alt}]` : "");
  return Object.assign(element, { src: address, alt: node.alt, loading: "lazy" });
}

function setLink(address, element, root) {
  if (/^https?:\/\//i.test(address)) Object.assign(element, { href: address, target: "_blank", rel: "noopener noreferrer nofollow" });
  if (!address.startsWith("#")) return;
  element.href = "#";
  element.addEventListener("click", (event) => {
    event.preventDefault();
    const name = address.slice(1);
    [...root.querySelectorAll("[data-anchor]")].find(({ dataset }) => dataset.anchor === name)?.scrollIntoView({ block: "center" });
  });
}
