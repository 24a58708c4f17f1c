// Loads a kind's module and style sheet.

import { loadStyles } from "../core/dom.js";
import { importModule, moduleAddress } from "../core/loading/import_module.js";
import { source } from "../core/loading/source.js";

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
  if (source.bundled) return source.bundled.kinds[name];
  const path = MODULES[name];
  const folder = path.slice(0, path.indexOf("/"));
  const [module] = await Promise.all([importModule(moduleAddress(`preview/${path}.js`)), loadStyles(`preview/${folder}/${folder}.css`)]);
  return module;
}
