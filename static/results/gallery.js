// Image gallery: tiles with reserved sizes, and a large view with previous and next.

import { h, icon, iconButton } from "../core/dom.js";
import { formatBytes } from "../core/format.js";
import { loadFirst, openLightbox } from "../core/widgets/lightbox.js";
import { downloadLink, openButton, rawUrl, viewUrl } from "./output_file.js";

const BROWSER_IMAGE = /\.(png|jpe?g|gif|webp|avif|bmp)$/i;

export class Gallery {
  /** `element(file, make)` returns the tile of a file, created by `make` if needed. */
  constructor(files, element) {
    this.files = files;
    const columns = Math.min(files.length, 4);
    const size = { 1: 1280, 2: 640 }[columns] ?? 320;
    const tiles = files.map((file) => element(file, () => tile(file, size)));
    this.element = h("div", { class: "gallery", "data-count": columns }, ...tiles);
    tiles.forEach(
      (each, at) => (each.querySelector(".open").onclick = () => openLightbox(files.map(large), at, (last) => tiles[last].querySelector(".open").focus())),
    );
  }
}

function tile(file, size) {
  const image = h("img", { alt: "", loading: "lazy", decoding: "async", draggable: "false" });
  const box = h("button", { class: "open", "aria-label": `Enlarge ${file.name}` }, image);
  const explain = (pixels) =>
    image.replaceWith(icon("image"), h("span", { class: "message" }, pixels ? `${pixels}: too large to show` : "cannot be displayed"));
  loadFirst(image, [thumbnail(file, size), rawUrl(file)], explain);
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

/** A file as the large view takes it. */
const large = (file) => ({
  name: file.name,
  about: formatBytes(file.size),
  addresses: fullSize(file),
  links: (close) => {
    const open = iconButton("file", "Open in workspace", () => (close(), file.run.emit("open-file", file.path)));
    return [open, downloadLink(file)].filter(Boolean);
  },
});
