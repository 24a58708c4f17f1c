// HTML output at the end of a run, in the same opaque-origin frame as its preview.

import { h } from "../core/dom.js";
import { caption } from "./output_file.js";
import { kind } from "../preview/loader.js";

export const FRAMED = 2; // pages shown per round; each may use much CPU
const open = new Set();
const ignored = () => {};

/** The figure of a page, which loads when it becomes visible. */
export function framed(file) {
  const place = h("div", { class: "frame kind-page" });
  const seen = new IntersectionObserver(([{ isIntersecting }]) => {
    if (!isIntersecting) return;
    seen.disconnect();
    show(file, place);
  });
  seen.observe(place);
  return h("figure", {}, place, caption(file));
}

async function show(file, place) {
  const { path, name } = file;
  try {
    const module = await kind("page");
    const preview = { fill: ignored, openAs: ignored };
    const page = module.open({ path, name, step: null, tell: ignored, tools: ignored, preview }, { title: "", size: file.size, outside: [] });
    place.replaceChildren(page.element);
    open.add(page);
  } catch (error) {
    place.replaceChildren(h("p", { class: "says" }, error.message));
  }
}

/** Close the pages and remove their listeners. */
export function leaveFrames() {
  for (const page of open) page.close();
  open.clear();
}
