// How a step changed a file: lines, images or the facts of both versions.

import { h } from "../../core/dom.js";
import { formatBytes, formatMode, formatNumber, plural } from "../../core/format.js";
import { emit } from "../../core/event_stream.js";
import { quietButton } from "../parts.js";
import { renderTextDiff } from "./text_diff.js";

const BROWSER_IMAGE = /\.(png|jpe?g|gif|webp|avif|bmp)$/i;
const MODES = [
  ["side-by-side", "Side by side"],
  ["swipe", "Swipe"],
  ["blend", "Blend"],
];

export async function open(file, view) {
  const { before, after, step } = view;
  const between = hasBase(view);
  const title = between ? `from step ${view.base} to step ${step}` : `${changeVerb(before, after)} step ${step}`;
  const bar = h("div", { class: "about" }, h("span", {}, title));
  const element = h("div", { class: "difference" }, bar);
  const tools = [];
  const content = await RENDERERS[view.display](file, view, (tool) => tools.push(tool));
  const message = view.reason || content.message;
  if (message) element.append(h("p", { class: "note" }, message));
  if (content.element) element.append(content.element);
  if (after?.kind === "file" && after.kept !== false) tools.push(versionButton(file, step));
  bar.append(...(content.summary ?? []), h("span", { class: "grow" }), ...tools);
  file.setDetails(between ? `changes from step ${view.base} to ${step}` : `changes in step ${step}`);
  return { element, close: content.close };
}

const RENDERERS = { text: renderTextDiff, images: renderImageDiff, metadata: renderFacts };

/** Whether two steps' versions are compared, instead of those before and after one step. */
const hasBase = ({ base }) => (base ?? null) !== null;

const changeVerb = (before, after) => (!before ? "created by" : !after ? "deleted by" : "changed by");

function versionButton(file, step) {
  const openVersion = () => emit("open-version", { path: file.path, step: Number(step) });
  const inStudio = Boolean(document.querySelector(".workspace"));
  if (!inStudio) return h("a", { class: "quiet", href: versionUrl(step) }, `After step ${step}`);
  return quietButton(`After step ${step}`, openVersion, { title: `Show the file after step ${step}` });
}

function versionUrl(step) {
  const address = new URL(location.href);
  address.searchParams.delete("compared");
  address.searchParams.set("step", step);
  return address.href;
}

/** Sizes and hashes, for contents that cannot be displayed. */
function renderFacts(file, { before, after, step, base = null }) {
  /** @type {[string, (side: any) => string][]} */
  const facts = [
    ["kind", (side) => side.kind],
    ["size", (side) => (side.kind === "file" ? `${formatBytes(side.size)} (${plural(side.size, "byte")})` : "")],
    ["target", (side) => side.target ?? ""],
    ["permissions", (side) => formatMode(side.mode)],
    ["SHA-256", (side) => side.hash ?? ""],
  ];
  const rows = facts.map(([name, describe]) => [name, before ? describe(before) : "", after ? describe(after) : ""]);
  const line = ([name, old, now]) =>
    h("tr", { class: before && after && old !== now ? "differs" : null }, h("th", { scope: "row" }, name), h("td", {}, old), h("td", {}, now));
  const downloadLink = (side, at) =>
    side?.kind === "file" && side.kept !== false ? h("a", { class: "quiet", href: file.address("files", { step: at }), download: file.name }, "Download") : "";
  return {
    element: h(
      "table",
      { class: "facts" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td"),
          h("th", { scope: "col" }, !before ? "did not exist" : base === null ? `before step ${step}` : `after step ${base}`),
          h("th", { scope: "col" }, after ? `after step ${step}` : "deleted"),
        ),
      ),
      h(
        "tbody",
        {},
        ...rows.filter(([, old, now]) => old || now).map(line),
        h("tr", {}, h("td"), h("td", {}, downloadLink(before, base ?? step - 1)), h("td", {}, downloadLink(after, step))),
      ),
    ),
  };
}

/** Two versions of an image: side by side, with a divider, or blended. */
function renderImageDiff(file, { before, after, step, base = null }, addTool) {
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
  const buttons = MODES.map(([mode, label]) => quietButton(label, () => ((chosen = true), setMode(mode))));
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
