// Image gallery: tiles with reserved sizes, and a large view with previous and next.

import { h, icon, iconButton } from "../core/dom.js";
import { formatBytes, formatNumber } from "../core/format.js";
import { downloadLink, openButton, rawUrl, viewUrl } from "./output_file.js";

const BROWSER_IMAGE = /\.(png|jpe?g|gif|webp|avif|bmp)$/i;
const MIN_SWIPE = 40; // pixels of a swipe to another image

export class Gallery {
  /** `element(file, make)` returns the tile of a file, created by `make` if needed. */
  constructor(files, element) {
    this.files = files;
    const columns = Math.min(files.length, 4);
    const size = { 1: 1280, 2: 640 }[columns] ?? 320;
    const tiles = files.map((file) => element(file, () => tile(file, size)));
    this.element = h("div", { class: "gallery", "data-count": columns }, ...tiles);
    tiles.forEach((each, at) => (each.querySelector(".open").onclick = () => openLightbox(files, at, (last) => tiles[last].querySelector(".open").focus())));
  }
}

function tile(file, size) {
  const image = h("img", { alt: "", loading: "lazy", decoding: "async", draggable: "false" });
  const box = h("button", { class: "open", "aria-label": `Enlarge ${file.name}` }, image);
  loadFirst(image, [thumbnail(file, size), rawUrl(file)], () => image.replaceWith(icon("image"), h("span", { class: "message" }, "cannot be displayed")));
  return h(
    "figure",
    { class: "tile" },
    box,
    h(
      "figcaption",
      {},
      openButton(file, { class: "name", title: file.name }, file.name.slice(file.name.lastIndexOf("/") + 1)),
      h("small", { class: "num" }, formatBytes(file.size)),
      downloadLink(file),
    ),
  );
}

const thumbnail = (file, size) => viewUrl(file, file.kind === "svg" ? { as: "svg", thumb: 1 } : { as: "image", thumb: size });

const fullSize = (file) =>
  file.kind === "svg"
    ? [thumbnail(file, 0)]
    : BROWSER_IMAGE.test(file.name)
      ? [rawUrl(file), viewUrl(file, { as: "image", frame: 0 })]
      : [viewUrl(file, { as: "image", frame: 0 })];

/** Load the first of these addresses that is an image. */
function loadFirst(image, addresses, onNone) {
  const [address, ...rest] = addresses;
  if (!address) return onNone();
  image.onerror = () => loadFirst(image, rest, onNone);
  image.src = address;
  return undefined;
}

/** Show an image over the page; `onClose` receives the last one viewed. */
function openLightbox(files, first, onClose) {
  let at = first;
  let pointerStart = null;
  const name = h("b");
  const position = h("small", { class: "num", role: "status" });
  const links = h("span", { class: "links" });
  const stage = h("div", { class: "stage", tabindex: "-1", autofocus: true });
  const single = files.length === 1;
  const previousButton = h("button", { class: "navigate before", "aria-label": "Previous image", hidden: single, onclick: () => turn(-1) }, icon("caret"));
  const nextButton = h("button", { class: "navigate after", "aria-label": "Next image", hidden: single, onclick: () => turn(1) }, icon("caret"));
  const dialog = h(
    "dialog",
    { class: "lightbox", "aria-label": "Images" },
    h(
      "header",
      {},
      name,
      position,
      h("span", { class: "grow" }),
      links,
      iconButton("close", "Close", () => dialog.close()),
    ),
    previousButton,
    stage,
    nextButton,
  );
  const show = () => {
    const file = files[at];
    const image = h("img", { alt: file.name, draggable: "false" });
    name.textContent = file.name;
    position.textContent = single ? formatBytes(file.size) : `${formatNumber(at + 1)} of ${formatNumber(files.length)} · ${formatBytes(file.size)}`;
    const open = iconButton("file", "Open in workspace", () => (dialog.close(), file.run.emit("open-file", file.path)));
    links.replaceChildren(...[open, downloadLink(file)].filter(Boolean));
    image.onload = () => stage.replaceChildren(image);
    loadFirst(image, fullSize(file), () => stage.replaceChildren(h("p", {}, "This image cannot be displayed.")));
    if (!stage.firstChild) stage.append(image);
    for (const next of [files[at + 1], files[at - 1]]) if (next) loadFirst(new Image(), fullSize(next), () => {});
  };
  const turn = (by) => {
    at = (at + by + files.length) % files.length;
    show();
  };
  dialog.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, PageUp: -1, PageDown: 1 }[event.key];
    if (move && !single) turn(move);
    else if (event.key === "Home" || event.key === "End") turn((event.key === "Home" ? 0 : files.length - 1) - at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  stage.addEventListener("pointerdown", (event) => (pointerStart = event.clientX));
  stage.addEventListener("pointerup", (event) => {
    const moved = event.clientX - (pointerStart ?? event.clientX);
    pointerStart = null;
    if (Math.abs(moved) > MIN_SWIPE && !single) turn(moved < 0 ? 1 : -1);
    else if (event.target === stage) dialog.close();
  });
  dialog.addEventListener("close", () => (dialog.remove(), onClose(at)));
  document.querySelector(".gradio-container").append(dialog);
  dialog.showModal();
  show();
}
