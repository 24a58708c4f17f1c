// Pinned runs as cards above the list, with a picture of what each made.

import { h, hasChanged, icon } from "../core/dom.js";
import { apiUrl } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { runTitle, runUrl, stateElement } from "../core/run/run_summary.js";

const MAX_CARDS = 8;
const PICTURE_PIXELS = 480;

/** Fill the section with the pinned runs; errors leave it as it is. */
export async function fillPinnedCards(section) {
  let runs;
  try {
    ({ runs } = await fetchJson(apiUrl(`runs?${new URLSearchParams({ pinned: "1", limit: `${MAX_CARDS}` })}`)));
  } catch {
    return;
  }
  if (!hasChanged(section, runs)) return;
  section.replaceChildren(h("h3", {}, "Pinned"), h("div", { class: "tiles" }, ...runs.map(card)));
}

function card(row) {
  return h(
    "a",
    { class: "tile", href: runUrl(row.run), "data-run": row.run },
    picture(row),
    h("b", { dir: "auto" }, runTitle(row)),
    h("small", {}, stateElement(row), row.model ?? ""),
  );
}

/** The newest picture that the run made, or a mark that it made none. */
function picture(row) {
  const [path] = row.images ?? [];
  const none = () => h("span", { class: "picture none" }, icon("file"));
  if (!path) return none();
  const options = path.toLowerCase().endsWith(".svg") ? "as=svg&thumb=1" : `as=image&thumb=${PICTURE_PIXELS}`;
  const image = h("img", {
    class: "picture",
    src: apiUrl(`runs/${row.run}/view/${path}?${options}&v=${row.at}`),
    width: 480,
    height: 300,
    alt: "",
    loading: "lazy",
    decoding: "async",
  });
  image.addEventListener("error", () => image.replaceWith(none()), { once: true });
  return image;
}
