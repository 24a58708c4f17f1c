// Two versions of an image: side by side, with a divider, or blended.

import { h } from "../../core/dom.js";
import { formatBytes, formatNumber } from "../../core/format.js";

const BROWSER_IMAGE = /\.(png|jpe?g|gif|webp|avif|bmp)$/i;
const MODES = [
  ["side-by-side", "Side by side"],
  ["swipe", "Swipe"],
  ["blend", "Blend"],
];

export function renderImageDiff(file, { before, after, step, base = null }, addTool) {
  const old = base === null ? { at: step - 1, when: `before step ${step}` } : { at: base, when: `after step ${base}` };
  const now = { at: step, when: `after step ${step}` };
  const sides = [before && { ...before, ...old, label: "before" }, after && { ...after, ...now, label: "after" }].filter(Boolean);
  const element = h("div", { class: "images side-by-side" }, ...sides.map((side) => figure(file, side)));
  if (sides.length < 2) return { element };
  let chosen = false;
  const slider = h("input", { type: "range", min: "0", max: "100", value: "50", "aria-label": "Visible part of the newer image" });
  slider.addEventListener("input", () => element.style.setProperty("--seen", `${slider.value}%`));
  const bar = h("div", { class: "slider", hidden: true }, h("span", {}, "before"), slider, h("span", {}, "after"));
  element.prepend(bar);
  const buttons = MODES.map(([mode, label]) => h("button", { class: "quiet", onclick: () => ((chosen = true), setMode(mode)) }, label));
  const setMode = (wanted) => {
    element.className = `images ${wanted}`;
    bar.hidden = wanted === "side-by-side";
    MODES.forEach(([mode], index) => buttons[index].setAttribute("aria-pressed", String(mode === wanted)));
  };
  setMode("swipe");
  element.addEventListener("load", () => chosen || sameSize(element) || setMode("side-by-side"), true);
  addTool(h("span", { class: "modes", role: "group", "aria-label": "Comparison mode" }, ...buttons));
  return { element };
}

/** Whether the loaded images have the same size. */
function sameSize(element) {
  const [one, other] = [...element.querySelectorAll("img")].filter((image) => image.naturalWidth);
  return !other || (one.naturalWidth === other.naturalWidth && one.naturalHeight === other.naturalHeight);
}

function figure(file, side) {
  const options = { step: side.at, v: side.hash ?? "" };
  const converted = file.address("view", { as: "image", frame: 0, ...options });
  const image = h("img", { alt: `${file.name} ${side.when}`, draggable: "false" });
  const size = h("span", { class: "num" }, formatBytes(side.size));
  image.addEventListener("load", () => {
    size.textContent = `${formatNumber(image.naturalWidth)} × ${formatNumber(image.naturalHeight)} · ${formatBytes(side.size)}`;
  });
  let usesConverted = !BROWSER_IMAGE.test(file.name);
  image.addEventListener("error", () => {
    if (usesConverted) return image.replaceWith(h("p", { class: "note" }, "This image cannot be displayed."));
    usesConverted = true;
    image.src = converted;
    return undefined;
  });
  image.src = usesConverted ? converted : file.address("files", { inline: 1, ...options });
  return h("figure", { class: side.label }, h("div", { class: "image-frame" }, image), h("figcaption", {}, h("b", {}, side.when), " ", size));
}
