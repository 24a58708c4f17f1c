// Previews of a report's files: the page's views of images, videos and tables, and plain ones of the rest.

import { h } from "../core/dom.js";
import { formatNumber, plural } from "../core/format.js";
import { ImageZoom } from "../preview/media/zoom.js";
import * as video from "../preview/media/video.js";
import { Grid } from "../preview/tables/grid.js";
import { renderRow } from "../preview/text/rows.js";

const MAX_TEXT = 400_000; // characters that are shown of a text

/** How each kind is opened, as the modules of static/preview/ are; `textOf(file)` returns a file's text. */
export const createKinds = (textOf) => ({
  image: { open: (file) => openImage(file, false) },
  svg: { open: (file) => openImage(file, true) },
  audio: { open: openAudio },
  video,
  text: { open: (file, { text = textOf(file), note = "" }) => openText(file, text, note) },
  table: { open: openTable },
  html: { open: (file) => openPage(file, textOf(file)) },
});

function openImage(file, vector) {
  const image = h("img", { class: "clear", alt: file.name, draggable: "false" });
  const zoom = new ImageZoom(image, `Image ${file.name}`, { vector });
  image.addEventListener("load", () => {
    const { naturalWidth: width, naturalHeight: height } = image;
    zoom.size(width, height);
    file.setDetails(`${formatNumber(width)} × ${formatNumber(height)}`);
  });
  image.addEventListener("error", () => file.setDetails("This image cannot be displayed."));
  image.src = file.raw();
  return { element: zoom.element, close: () => zoom.close() };
}

function openAudio(file) {
  const audio = h("audio", { controls: true, preload: "metadata", src: file.raw(), "aria-label": file.name });
  return { element: h("div", { class: "audio" }, audio), close: () => audio.pause() };
}

function openText(file, text, note) {
  const lines = text
    .slice(0, MAX_TEXT)
    .replace(/\n$/, "")
    .split(/\r\n|\r|\n/);
  const page = h("div", { class: "page", style: "counter-reset: line 0" }, ...lines.map((line) => renderRow([line], false)));
  const shown = h("div", { class: "lines", tabindex: "0", role: "document", "aria-label": `Text of ${file.name}`, style: "--digits: 4" }, page);
  const cut = text.length > MAX_TEXT ? `The first ${formatNumber(MAX_TEXT)} characters are shown.` : "";
  const about = [note, cut].filter(Boolean).join(" ");
  file.setDetails(text ? plural(lines.length, "line") : "empty");
  return { element: h("div", { class: "text", "data-wrap": "yes" }, shown, about ? h("p", { class: "report-note" }, about) : null) };
}

/** A table, or the sheets of a workbook: { name, rows, note }, whose first rows are the heads. */
function openTable(file, { sheets }) {
  const place = h("div", { class: "table" });
  let grid = null;
  const tabs = sheets.map(({ name }, at) => h("button", { role: "tab", onclick: () => show(at) }, name));
  const show = (at) => {
    const { rows, note } = sheets[at];
    const [names, ...cells] = rows;
    const numbered = cells.map((row, index) => [index + 2, ...row]);
    grid?.close();
    grid = new Grid(viewOf(names, numbered), async (options) => viewOf(names, sorted(numbered, options)), file.name);
    tabs.forEach((tab, index) => tab.setAttribute("aria-selected", String(index === at)));
    grid.footer.describe(note);
    place.replaceChildren(h("div", { class: "sheets", role: "tablist", "aria-label": "Sheets", hidden: sheets.length < 2 }, ...tabs), grid.element);
    file.setDetails(`${plural(cells.length, "row")} × ${plural(names.length, "column")}`);
  };
  show(0);
  return { element: place, close: () => grid.close() };
}

function viewOf(names, rows) {
  const isNumber = (at) => rows.length > 0 && rows.every((row) => !row[at + 1] || Number.isFinite(Number(row[at + 1])));
  const kinds = names.map((_, at) => (isNumber(at) ? "number" : "text"));
  return { names, kinds, types: names.map(() => ""), displayed_rows: rows.length, page_rows: Math.max(1, rows.length), start: 0, rows, irregular_rows: {} };
}

function sorted(rows, { sort, descending = 0 }) {
  if (sort === undefined) return rows;
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  return rows.toSorted((one, other) => (descending ? -1 : 1) * compare(one[sort + 1] ?? "", other[sort + 1] ?? ""));
}

/** A page without its scripts and without a network. */
function openPage(file, text) {
  const frame = h("iframe", { sandbox: "", srcdoc: text, title: `${file.name}, without its scripts`, loading: "lazy" });
  const note = h("p", { class: "report-note" }, "Shown without scripts and without the network.");
  return { element: h("div", { class: "report-page" }, frame, note), close: () => frame.remove() };
}
