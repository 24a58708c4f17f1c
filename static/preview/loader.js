// Loads a kind's module and style sheet, with retries if the connection fails.

import { loadStyles } from "../core/dom.js";

const RETRY_DELAYS = [300, 1200]; // ms

/** Module of each kind; its folder has the style sheet. Counterpart of `_MODULES` in sandbox_ui/preview/kinds.py. */
const MODULES = {
  text: "text/text",
  markdown: "text/markdown",
  notebook: "documents/notebook",
  table: "tables/table",
  database: "tables/sqlite",
  image: "media/image",
  svg: "media/svg",
  audio: "media/audio",
  video: "media/video",
  midi: "media/midi",
  font: "media/font",
  pdf: "pdf/pdf",
  document: "documents/docx",
  slides: "documents/pptx",
  html: "documents/html",
  json: "data/json_tree",
  archive: "data/archive",
  hex: "data/hex",
  difference: "diff/diff",
};

export async function loadKind(name) {
  const path = MODULES[name];
  const folder = path.slice(0, path.indexOf("/"));
  const [module] = await Promise.all([importModule(path), loadStyles(`preview/${folder}/${folder}.css`)]);
  return module;
}

async function importModule(path, tries = 0) {
  // Some browsers cache a failed import, so that the same URL would always fail.
  const again = tries ? `?again=${tries}` : "";
  try {
    return await import(`./${path}.js${again}`);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    if (tries === RETRY_DELAYS.length) throw new Error("Part of the page could not be loaded.", { cause: error });
    await new Promise((resolve) => setTimeout(resolve, RETRY_DELAYS[tries]));
    return importModule(path, tries + 1);
  }
}
