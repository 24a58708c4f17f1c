// The large view of pictures over the page, with previous and next.

import { h, icon, iconButton } from "../dom.js";
import { formatNumber } from "../format.js";

const MIN_SWIPE = 40; // pixels of a swipe to another picture
const MAX_PIXELS = 60_000_000; // as in sandbox_ui/preview/media/image.py: browsers show larger ones as white areas
const VECTORS = /[?&]as=svg\b/; // these have no pixels

/**
 * One of the pictures: its `name`, what is said `about` it, the `addresses` to try in turn, and
 * `links(close)`, the elements at the right of its head.
 * @typedef {{ name: string, about: string, addresses: string[], links?: (close: () => void) => Element[] }} LargePicture
 */

/**
 * Load the first of these addresses that is an image which a browser can show; `onNone` receives
 * the size of one that is too large, in words, or an empty text.
 */
export function loadFirst(image, addresses, onNone, onLoad = () => {}, tooLarge = "") {
  const [address, ...rest] = addresses;
  if (!address) return onNone(tooLarge);
  image.onerror = () => loadFirst(image, rest, onNone, onLoad, tooLarge);
  image.onload = () => {
    const { naturalWidth: width, naturalHeight: height } = image;
    if (width * height <= MAX_PIXELS || VECTORS.test(address)) onLoad();
    else loadFirst(image, rest, onNone, onLoad, `${formatNumber(width)} × ${formatNumber(height)} pixels`);
  };
  image.src = address;
  return undefined;
}

/**
 * Show one of several pictures over the page; `onClose` receives the last one viewed.
 * @param {LargePicture[]} pictures
 */
export function openLightbox(pictures, first, onClose) {
  let at = first;
  let pointerStart = null;
  const name = h("b");
  const position = h("small", { class: "num", role: "status" });
  const links = h("span", { class: "links" });
  const stage = h("div", { class: "stage", tabindex: "-1", autofocus: true });
  const single = pictures.length === 1;
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
    const picture = pictures[at];
    const image = h("img", { alt: picture.name, draggable: "false" });
    name.textContent = picture.name;
    position.textContent = [single ? "" : `${formatNumber(at + 1)} of ${formatNumber(pictures.length)}`, picture.about].filter(Boolean).join(" · ");
    links.replaceChildren(...(picture.links?.(() => dialog.close()) ?? []));
    const explain = (size) => stage.replaceChildren(h("p", {}, size ? `This image has ${size}, too many to show it.` : "This image cannot be displayed."));
    loadFirst(image, picture.addresses, explain, () => stage.replaceChildren(image));
    if (!stage.firstChild) stage.append(image);
    for (const next of [pictures[at + 1], pictures[at - 1]]) if (next) loadFirst(new Image(), next.addresses, () => {});
  };
  const turn = (by) => {
    at = (at + by + pictures.length) % pictures.length;
    show();
  };
  dialog.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, PageUp: -1, PageDown: 1 }[event.key];
    if (move && !single) turn(move);
    else if (event.key === "Home" || event.key === "End") turn((event.key === "Home" ? 0 : pictures.length - 1) - at);
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
