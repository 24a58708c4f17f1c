// Pictures of the examples, recorded from real runs by tests/pictures/gallery.py: still, or moving while
// the pointer or the focus is on them; and the recordings' texts.

import { h } from "../core/dom.js";
import { fetchJson } from "../core/loading/fetch.js";

const PICTURE_WIDTH = 480;
const PICTURE_HEIGHT = 300;
const address = (file) => new URL(`ui/gallery/${file}`, document.baseURI).href;
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const touch = matchMedia("(hover: none)");

let recordings = null;

/** The recordings by name; fetched once, when the page is idle. */
export function fetchRecordings() {
  recordings ??= fetchJson(address("runs.json")).catch(() => {
    recordings = null;
    return {};
  });
  return recordings;
}

/** The name of an example's recording. */
export const recordingName = (example) => example.demonstration || example.title.toLowerCase().split(" ").join("-");

/** A picture of what an example makes. It moves while `mover`, by default the picture, has the pointer or the focus; on a touch screen, while it is in view. */
export function examplePicture(name, { mover = null, moving = true } = {}) {
  const image = h("img", {
    class: "picture",
    src: address(`${name}-still.webp`),
    width: PICTURE_WIDTH,
    height: PICTURE_HEIGHT,
    alt: "",
    loading: "lazy",
    decoding: "async",
  });
  if (!moving) return image;
  const show = (moves) => {
    const wanted = address(moves && !calm.matches ? `${name}.webp` : `${name}-still.webp`);
    if (image.src !== wanted) image.src = wanted;
  };
  const surface = mover ?? image;
  for (const name_ of ["pointerenter", "focusin"]) surface.addEventListener(name_, () => show(true));
  for (const name_ of ["pointerleave", "focusout"]) surface.addEventListener(name_, () => show(false));
  if (touch.matches) new IntersectionObserver(([entry]) => show(entry.isIntersecting), { threshold: 0.95 }).observe(image);
  return image;
}

/** A picture that moves at once, unless the user prefers less motion. */
export function movingPicture(name) {
  const file = !calm.matches ? `${name}.webp` : `${name}-still.webp`;
  return h("img", { class: "picture", src: address(file), width: PICTURE_WIDTH, height: PICTURE_HEIGHT, alt: "", decoding: "async" });
}

/** Whether the user asks for no motion. */
export const prefersCalm = () => calm.matches;
