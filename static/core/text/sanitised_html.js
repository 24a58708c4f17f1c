// Inserts HTML that comes from files, models and users. The server sanitises it first; DOMPurify
// does so again in the page, so that neither has to be perfect.

import { h } from "../dom.js";
import { decodePath } from "../format.js";
import { loadLibrary } from "../loading/libraries.js";

const TAGS =
  "p br hr em strong b i u s sub sup small mark code pre blockquote ul ol li dl dt dd h1 h2 h3 h4 h5 h6 table caption thead tbody tfoot tr th td a img div span figure figcaption kbd samp var abbr cite q del ins details summary section input";
const ATTRIBUTES = "id class href src alt start colspan rowspan style type checked form";
const OPTIONS = {
  USE_PROFILES: { mathMl: true },
  ADD_TAGS: TAGS.split(" "),
  ADD_ATTR: ATTRIBUTES.split(" "),
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  SANITIZE_DOM: false, // no id reaches the page, see adapt
  RETURN_DOM: true,
};
const CLASSES = /^(syn-\w+|add|del|tex|footnotes)$/;
const DATA_IMAGE = /^data:image\/(png|jpeg|gif|webp|bmp);base64,[A-Za-z0-9+/=\s]+$/;
const MAX_SPAN = 100;

let purify = null;

/** Load what `insertHtml` needs; throws an Error with a message for the user. */
export async function loadSanitiser() {
  purify ??= (await loadLibrary("dompurify")).default;
}

/** @typedef {{ link?: (address: string, anchor: HTMLElement) => void, image?: (address: string, alt: string) => Element | null }} HtmlHandlers */

/**
 * Fill an element with HTML, keeping allowed tags and attributes only; call `loadSanitiser` before.
 * Links lead to the web or to a place in the same HTML; `link(address, anchor)` may handle others.
 * `image(address, alt)` returns an element for an image; without it only inline images are shown.
 */
export function insertHtml(element, html, { link, image = inlineImage } = /** @type {HtmlHandlers} */ ({})) {
  const body = purify.sanitize(html, OPTIONS);
  for (const each of body.querySelectorAll("*")) adapt(each, { root: element, link, image });
  element.replaceChildren(...body.childNodes);
}

function adapt(element, handlers) {
  const { id } = element;
  const { textAlign } = element.style;
  const href = element.getAttribute("href");
  const classes = [...element.classList].filter((name) => CLASSES.test(name));
  for (const name of ["id", "style", "href", "class"]) element.removeAttribute(name);
  if (id) element.dataset.anchor = id;
  if (textAlign) element.style.textAlign = textAlign;
  if (classes.length) element.className = classes.join(" ");
  if (element.localName === "a" && href !== null) setLink(element, href, handlers);
  if (element.localName === "img") element.replaceWith(handlers.image(element.getAttribute("src") ?? "", element.alt));
  if (element.localName === "input") element.replaceWith(checkbox(element));
  if (element.colSpan > MAX_SPAN) element.colSpan = MAX_SPAN;
  if (element.rowSpan > MAX_SPAN) element.rowSpan = MAX_SPAN;
}

function inlineImage(address, alt) {
  if (DATA_IMAGE.test(address)) return h("img", { src: address, alt, loading: "lazy" });
  return document.createTextNode(alt ? `[${alt}]` : "");
}

function checkbox({ checked }) {
  return h("input", { type: "checkbox", disabled: true, checked, "aria-label": checked ? "done" : "to do" });
}

function setLink(element, address, { root, link }) {
  if (/^https?:\/\//i.test(address)) Object.assign(element, { href: address, target: "_blank", rel: "noopener noreferrer nofollow" });
  else if (address.startsWith("#")) linkToAnchor(element, address.slice(1), root);
  else link?.(address, element);
}

/** A link within the same text. */
function linkToAnchor(element, name, root) {
  element.href = "#";
  element.addEventListener("click", (event) => {
    event.preventDefault();
    const target = [...root.querySelectorAll("[data-anchor]")].find(({ dataset }) => dataset.anchor === decodePath(name));
    target?.scrollIntoView({ block: "start" });
  });
}
