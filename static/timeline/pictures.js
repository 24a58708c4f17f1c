// The exact pictures that the model got, on a tool's card or at a message; a click shows one large.

import { h, icon } from "../core/dom.js";
import { formatNumber, plural } from "../core/format.js";
import { aboutPicture, pictureUrl } from "../core/run/sent_pictures.js";
import { openLightbox } from "../core/widgets/lightbox.js";

/** @typedef {import("../core/run/sent_pictures.js").Look} Look */

/** Where a picture was sent, in words. */
const placeOf = ({ where, step, round }) => (where === "message" ? (round > 1 ? `message ${round}` : "the task") : `step ${step}`);

/** The pictures of a run as the large view takes them. */
const largeViews = (run, looks) =>
  looks.map((look) => ({
    name: look.picture.source,
    about: `${placeOf(look)} · ${aboutPicture(look.picture)}`,
    addresses: [pictureUrl(run, look.picture)].filter(Boolean),
  }));

/**
 * Show one of the run's pictures large, with all others beside it.
 * @param {Look} look
 */
function enlarge(run, look, back) {
  const looks = run.pictures.all;
  const at = looks.findIndex(
    (each) => each.where === look.where && each.step === look.step && each.call_id === look.call_id && each.picture.file === look.picture.file,
  );
  if (at < 0) openLightbox(largeViews(run, [look]), 0, () => back.focus());
  else openLightbox(largeViews(run, looks), at, () => back.focus());
}

/** An image of a picture, in a button that shows it large. */
function pictureButton(run, look, attributes, size) {
  const { picture } = look;
  const url = pictureUrl(run, picture);
  const image = h("img", {
    src: url || null,
    alt: `Picture of ${picture.source}`,
    loading: "lazy",
    decoding: "async",
    draggable: "false",
    ...size,
  });
  const button = h("button", { "aria-label": `Enlarge ${picture.source}`, title: picture.source, ...attributes }, image);
  button.addEventListener("click", (event) => {
    event.preventDefault(); // of a card, which would open or close
    event.stopPropagation();
    enlarge(run, look, button);
  });
  const showMissing = (text) => {
    button.disabled = true;
    button.replaceChildren(icon("image"), h("span", { class: "message" }, text));
  };
  image.addEventListener("error", () => showMissing("This picture is not in the run’s record any more."));
  if (!url) showMissing("The report does not contain this picture.");
  return button;
}

/** The pictures that were sent at one place, in their order. */
export class PictureList {
  /** @param {Look[]} looks */
  constructor(run, looks) {
    this.run = run;
    this.looks = looks;
    this.notes = looks.map(() => h("small", { class: "dropped", hidden: true }));
    const figures = looks.map((look, at) => this.figure(look, this.notes[at]));
    this.element = h("div", { class: "sent-pictures", role: "group", "aria-label": `${plural(looks.length, "picture")} sent to the model` }, ...figures);
    this.showDropped();
  }

  figure(look, note) {
    const { width, height, source } = look.picture;
    return h(
      "figure",
      {},
      pictureButton(this.run, look, { class: "open" }, { width, height }),
      h("figcaption", {}, h("b", { dir: "auto" }, source), h("small", { class: "num" }, aboutPicture(look.picture)), note),
    );
  }

  /** Say of which pictures the model no longer gets the bytes, at the moment that is shown. */
  showDropped() {
    const step = this.run.moment?.step ?? Infinity;
    this.looks.forEach(({ dropped }, at) => {
      const is = dropped !== null && dropped <= step;
      this.notes[at].hidden = !is;
      this.notes[at].textContent = is ? `no longer sent since step ${formatNumber(dropped)}` : "";
    });
    this.element.classList.toggle(
      "dropped",
      this.notes.every(({ hidden }) => !hidden),
    );
  }
}
