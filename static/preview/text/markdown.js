// Markdown preview: images and links of the workspace only, no images from the network.

import { h, isModified } from "../../core/dom.js";
import { emit, runApiUrl, currentRun } from "../../core/event_stream.js";
import { fetchJson } from "../../core/loading/fetch.js";
import { insertHtml, loadSanitiser } from "../../core/text/sanitised_html.js";
import { sourceToggle } from "../parts.js";

const HEADINGS = "h1, h2, h3";
const MIN_HEADINGS = 5; // minimum headings for a table of contents
const MAX_ENTRIES = 400; // entries of the table of contents
const IMAGE = /\.(png|jpe?g|gif|webp|avif|bmp|svg)$/i;
const DATA_IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,/i;

export async function open(file, first) {
  await loadSanitiser();
  const article = h("article", { class: "page markdown" });
  const element = h("div", { class: "page-scroller" }, article);
  const update = (next) => show(file, article, next);
  file.setTools(...sourceToggle(file, ""));
  update(first);
  return { element, update };
}

function show(file, article, { html, truncated, empty }) {
  insertHtml(article, html, { image: (address, alt) => imageElement(file, address, alt), link: (address, anchor) => link(file, address, anchor) });
  const headings = [...article.querySelectorAll(HEADINGS)];
  for (const heading of headings) heading.dataset.anchor ??= slug(heading.textContent);
  if (headings.length >= MIN_HEADINGS) article.prepend(tableOfContents(headings));
  if (empty) article.append(h("p", { class: "dim" }, "This file is empty."));
  if (truncated) article.append(h("p", { class: "truncated" }, "Only the first 200,000 characters are shown. The source view shows the whole file."));
}

const slug = (text) =>
  text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s+/g, "-");

function tableOfContents(headings) {
  const entry = (heading) =>
    h(
      "li",
      { class: heading.tagName.toLowerCase() },
      h("button", { class: "inline", onclick: () => heading.scrollIntoView({ block: "start" }) }, heading.textContent),
    );
  return h("details", { class: "outline" }, h("summary", {}, "Contents"), h("ul", {}, ...headings.slice(0, MAX_ENTRIES).map(entry)));
}

/** Resolve an address in the file to a workspace path, percent-encoded; null if outside. */
function resolvePath(file, address) {
  const plain = address.replace(/[?#].*$/, "");
  const absolute = /^\/?workspace\//.test(plain) ? plain.replace(/^\/?workspace\//, "/") : plain;
  const parts = absolute.startsWith("/") ? [] : file.path.split("/").slice(0, -1);
  for (const part of absolute.split("/")) {
    if (part === "..") {
      if (!parts.length) return null;
      parts.pop();
    } else if (part && part !== ".") {
      parts.push(encodePart(part));
    }
  }
  return parts.length ? parts.join("/") : null;
}

function encodePart(part) {
  if (/^(%[\da-f]{2}|[\w.~!$&'()*+,;=:@-])*$/i.test(part)) return part;
  return encodeURIComponent(part.replace(/%(?![\da-f]{2})/gi, "%25")).replace(/%25([\da-f]{2})/gi, "%$1");
}

function link(file, address, anchor) {
  if (/^[a-z][a-z\d+.-]*:/i.test(address) || address.startsWith("//")) return;
  const path = resolvePath(file, address);
  if (!path) return;
  anchor.href = new URL(`look?${new URLSearchParams({ run: currentRun.id, path })}`, document.baseURI).href;
  anchor.addEventListener("click", (event) => {
    if (!document.querySelector(".workspace") || isModified(event)) return;
    event.preventDefault();
    emit("open-file", path);
  });
}

function imageElement(file, address, alt) {
  if (DATA_IMAGE.test(address)) return h("img", { src: address, alt });
  const external = /^(?:https?:)?\/\/([^/?#]+)/i.exec(address);
  if (external) {
    const href = address.startsWith("//") ? `https:${address}` : address;
    return note(h("a", { href, target: "_blank", rel: "noopener noreferrer nofollow" }, `image at ${external[1]}`), ", not loaded");
  }
  const path = /^[a-z][a-z\d+.-]*:/i.test(address) ? null : resolvePath(file, address);
  const name = alt || address.split("/").at(-1).slice(0, 80);
  if (!path) return note(`image “${name}” is outside the workspace`);
  const container = h("span", { class: "picture" });
  container.append(note(`image “${name}”…`));
  loadImage(path, name, container).catch(() => container.replaceChildren(note(`image “${name}” cannot be displayed`)));
  return container;
}

async function loadImage(path, name, container) {
  const entry = await fetchJson(runApiUrl(`entries/${path}`));
  if (!entry) return container.replaceChildren(note(`image “${name}” not found`));
  if (!IMAGE.test(path)) return container.replaceChildren(note(`“${name}” is not a supported image`));
  const src = /\.svg$/i.test(path)
    ? runApiUrl(`view/${path}`, { as: "svg", thumb: 1, v: entry.modified })
    : runApiUrl(`files/${path}`, { inline: 1, v: entry.modified });
  const image = h("img", { src, alt: name, loading: "lazy" });
  image.addEventListener("error", () => container.replaceChildren(note(`image “${name}” cannot be displayed`)));
  return container.replaceChildren(image);
}

const note = (...words) => h("span", { class: "dim image-placeholder" }, ...words);
