// All pictures of a run, in the order of their making: the versions of one file beside each other, and what the model looked at.

import { h, icon, iconButton } from "../core/dom.js";
import { currentRun, emit } from "../core/event_stream.js";
import { aboutPicture, pictureUrl } from "../core/run/sent_pictures.js";
import { formatBytes, formatNumber, plural } from "../core/format.js";
import { fetchJson } from "../core/loading/fetch.js";
import { openDialog } from "../core/widgets/dialog.js";
import { loadFirst, openLightbox } from "../core/widgets/lightbox.js";

const THUMBNAIL = 320; // pixels of the longest side that is asked for

/** @typedef {{ path: string, name: string, kind: string, versions: { step: number, by: string, size: number }[] }} PictureFile */

const atStep = (step) => (step ? `step ${formatNumber(step)}` : "at the start");

/** The steps in which the model looked at a file from one step until before another. */
const looksAt = (run, name, from, until) =>
  run.pictures.all.filter(({ picture, step }) => picture.source === name && from <= step && step < until).map(({ step }) => step);

/**
 * A row of the dialog: a `name`, and `tiles` in order, each with the `step` in which it was made or
 * sent, what is said `about` it, its `addresses` from small to large, and the path of its file.
 * @param {any} run
 * @param {PictureFile} file
 */
function rowOf(run, { path, name, kind, versions }) {
  const as = kind === "svg" ? (step) => ({ as: "svg", thumb: 1, step }) : (step) => ({ as: "image", thumb: THUMBNAIL, step });
  const tiles = versions.map(({ step, by, size }, at) => ({
    step,
    path,
    name,
    about: [atStep(step), by === "user" && step ? "by the user" : "", formatBytes(size)].filter(Boolean).join(" · "),
    seen: looksAt(run, name, step, versions[at + 1]?.step ?? Infinity),
    addresses: [run.url(`view/${path}`, as(step)), run.url(`files/${path}`, { inline: 1, step })],
    large:
      kind === "svg"
        ? [run.url(`view/${path}`, as(step))]
        : [run.url(`files/${path}`, { inline: 1, step }), run.url(`view/${path}`, { as: "image", frame: 0, step })],
  }));
  return { name, tiles, note: plural(versions.length, "version") };
}

/** A row of what the model saw that is none of these files, such as a page. */
function lookRow(run, looks) {
  const tiles = looks.map(({ step, picture }) => {
    const addresses = [pictureUrl(run, picture)];
    return {
      step,
      path: null,
      name: picture.source,
      about: `${step ? `sent in ${atStep(step)}` : "sent with the task"} · ${aboutPicture(picture)}`,
      seen: [],
      addresses,
      large: addresses,
    };
  });
  return { name: looks[0].picture.source, tiles, note: "seen by the model" };
}

/** The rows of the files and of what else the model saw, in the order of their making. */
function rowsOf(run, files) {
  const names = new Set(files.map(({ name }) => name));
  const others = Map.groupBy(
    run.pictures.all.filter(({ picture }) => !names.has(picture.source)),
    ({ picture }) => picture.source,
  );
  const rows = [...files.map((file) => rowOf(run, file)), ...[...others.values()].map((looks) => lookRow(run, looks))];
  return rows.sort((one, other) => one.tiles[0].step - other.tiles[0].step);
}

export async function openPictures() {
  const run = currentRun;
  const { id } = run;
  const { files, more } = await fetchJson(run.url("pictures"));
  if (currentRun.id !== id) return;
  const rows = rowsOf(run, files);
  const tiles = rows.flatMap((row) => row.tiles);
  const large = tiles.map((tile) => ({ name: tile.name, about: tile.about, addresses: tile.large.filter(Boolean), links: (close) => links(tile, close) }));
  const dialog = openDialog(
    { name: "pictures-of-run", title: "Pictures of this run", dismissible: true },
    rows.length ? h("p", {}, `${plural(tiles.length, "picture")}, in the order of their making.`) : h("p", {}, "This run has no pictures yet."),
    h("div", { class: "rows" }, ...rows.map((row) => section(row))),
    more ? h("p", {}, `${plural(more, "more file")} not listed.`) : null,
  );

  const links = (tile, close) => (tile.path ? [iconButton("file", "Open in workspace", () => (close(), openVersion(tile)))] : []);

  function openVersion({ path, step }) {
    dialog.close();
    emit("open-version", { path, step });
  }

  function section({ name, note, tiles: shown }) {
    return h(
      "section",
      {},
      h("h3", {}, h("bdi", {}, name), h("small", { class: "num" }, note)),
      h("div", { class: "versions" }, ...shown.map((tile) => figure(tile))),
    );
  }

  function figure(tile) {
    const image = h("img", { alt: "", loading: "lazy", decoding: "async", draggable: "false" });
    const button = h(
      "button",
      { class: "open", "aria-label": `Enlarge ${tile.name}, ${tile.about}`, onclick: () => openLightbox(large, tiles.indexOf(tile), () => button.focus()) },
      image,
    );
    const explain = (size) => button.replaceChildren(h("span", { class: "none" }, icon("image"), size ? `${size}: too large to show` : "cannot be displayed"));
    loadFirst(image, tile.addresses.filter(Boolean), explain);
    const seen = tile.seen.length
      ? h("small", { class: "seen num" }, `seen by the model in ${tile.seen.length > 1 ? "steps" : "step"} ${tile.seen.map(formatNumber).join(", ")}`)
      : null;
    return h("figure", {}, button, h("figcaption", {}, h("small", { class: "num" }, tile.about), seen));
  }
}
