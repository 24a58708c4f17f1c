// Image gallery: tiles with reserved sizes, and a large view with previous and next.

import { h, icon } from "../core/dom.js";
import { bytes } from "../core/format.js";
import { download, lookAt, raw, view } from "./output_file.js";
import { emit } from "../core/session.js";

const BY_ITSELF = /\.(png|jpe?g|gif|webp|avif|bmp)$/i;
const FAR = 40; // pixels of a swipe to another image

export class Gallery {
  /** `element(file, make)` returns the tile of a file, created by `make` if needed. */
  constructor(files, element) {
    this.files = files;
    const few = Math.min(files.length, 4);
    const size = { 1: 1280, 2: 640 }[few] ?? 320;
    const tiles = files.map((file) => element(file, () => tile(file, size)));
    this.element = h("div", { class: "gallery", "data-count": few }, ...tiles);
    tiles.forEach((each, at) => (each.querySelector(".open").onclick = () => large(files, at, (last) => tiles[last].querySelector(".open").focus())));
  }
}

function tile(file, size) {
  const image = h("img", { alt: "", loading: "lazy", decoding: "async", draggable: "false" });
  const box = h("button", { type: "button", class: "open", "aria-label": `Enlarge ${file.name}` }, image);
  load(image, [small(file, size), raw(file)], () => image.replaceWith(icon("image"), h("span", { class: "says" }, "cannot be displayed")));
  return h("figure", { class: "tile" }, box, h("figcaption", {},
    lookAt(file, { class: "name", title: file.name }, file.name.slice(file.name.lastIndexOf("/") + 1)), h("small", { class: "num" }, bytes(file.size)), download(file)));
}

const small = (file, size) => view(file, file.kind === "drawing" ? { as: "drawing", thumb: 1 } : { as: "image", thumb: size });

const whole = (file) => (file.kind === "drawing" ? [small(file, 0)] : BY_ITSELF.test(file.name) ? [raw(file), view(file, { as: "image", frame: 0 })] : [view(file, { as: "image", frame: 0 })]);

/** Load the first of these addresses that is an image. */
function load(image, addresses, onNone) {
  const [address, ...rest] = addresses;
  if (!address) return onNone();
  image.onerror = () => load(image, rest, onNone);
  image.src = address;
  return undefined;
}

/** Show an image over the page; `onClose` receives the last one viewed. */
function large(files, first, onClose) {
  let at = first;
  let began = null;
  const tool = (sign, label, onclick) => h("button", { type: "button", class: "quiet sign", "aria-label": label, title: label, onclick }, icon(sign));
  const name = h("b");
  const place = h("small", { class: "num", role: "status" });
  const links = h("span", { class: "links" });
  const stage = h("div", { class: "stage", tabindex: "-1", autofocus: true });
  const one = files.length === 1;
  const before = h("button", { type: "button", class: "turn before", "aria-label": "Previous image", hidden: one, onclick: () => turn(-1) }, icon("caret"));
  const after = h("button", { type: "button", class: "turn after", "aria-label": "Next image", hidden: one, onclick: () => turn(1) }, icon("caret"));
  const dialog = h("dialog", { class: "large", "aria-label": "Images" },
    h("header", {}, name, place, h("span", { class: "grow" }), links, tool("close", "Close", () => dialog.close())), before, stage, after);
  const show = () => {
    const file = files[at];
    const image = h("img", { alt: file.name, draggable: "false" });
    name.textContent = file.name;
    place.textContent = one ? bytes(file.size) : `${at + 1} of ${files.length} · ${bytes(file.size)}`;
    links.replaceChildren(tool("file", "Open in workspace", () => (dialog.close(), emit("look", file.path))), download(file));
    image.onload = () => stage.replaceChildren(image);
    load(image, whole(file), () => stage.replaceChildren(h("p", {}, "This image cannot be displayed.")));
    if (!stage.firstChild) stage.append(image);
    for (const next of [files[at + 1], files[at - 1]]) if (next) load(new Image(), whole(next), () => {});
  };
  const turn = (by) => {
    at = (at + by + files.length) % files.length;
    show();
  };
  dialog.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, PageUp: -1, PageDown: 1 }[event.key];
    if (move && !one) turn(move);
    else if (event.key === "Home" || event.key === "End") turn((event.key === "Home" ? 0 : files.length - 1) - at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  stage.addEventListener("pointerdown", (event) => (began = event.clientX));
  stage.addEventListener("pointerup", (event) => {
    const moved = event.clientX - (began ?? event.clientX);
    began = null;
    if (Math.abs(moved) > FAR && !one) turn(moved < 0 ? 1 : -1);
    else if (event.target === stage) dialog.close();
  });
  dialog.addEventListener("close", () => (dialog.remove(), onClose(at)));
  document.querySelector(".timeline").append(dialog);
  dialog.showModal();
  show();
}
