// HTML output at the end of a run, in the same opaque-origin frame as its preview.

import { h } from "../core/dom.js";
import { caption } from "./output_file.js";
import { loadModule } from "../preview/file.js";

export const MAX_FRAMES = 2; // pages shown per round; each may use much CPU
const openPages = new Set();
const ignore = () => {};

/** The figure of a page, which loads when it becomes visible. */
export function pageFigure(file) {
  const container = h("div", { class: "frame kind-html" });
  const observer = new IntersectionObserver(([{ isIntersecting }]) => {
    if (!isIntersecting) return;
    observer.disconnect();
    show(file, container);
  });
  observer.observe(container);
  return h("figure", {}, container, caption(file));
}

async function show(file, container) {
  const { path, name } = file;
  try {
    const module = await loadModule("documents/html", "html");
    const preview = { setFullScreen: ignore, openAs: ignore };
    const page = module.open({ path, name, step: null, setDetails: ignore, setTools: ignore, preview }, { title: "", size: file.size, external_urls: [] });
    container.replaceChildren(page.element);
    openPages.add(page);
  } catch (error) {
    container.replaceChildren(h("p", { class: "message" }, error.message));
  }
}

/** Close the pages and remove their listeners. */
export function closeFrames() {
  for (const page of openPages) page.close();
  openPages.clear();
}
