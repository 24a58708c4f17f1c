// One run in the list: title, state, facts and thumbnails.

import { h, icon } from "../core/dom.js";
import { bytes, count, number, plural, seconds } from "../core/format.js";
import { api } from "../core/session.js";
import { tone, words } from "../core/run_states.js";
import { firstUnsent } from "../composer/unsent_text.js";

export const NAMELESS = "Untitled run";

const DAY = new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long" });
const FAR_DAY = new Intl.DateTimeFormat("en", { day: "numeric", month: "long", year: "numeric" });
const TIME = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hour12: false });

/** Return the group heading for the day of a timestamp. */
export function dayOf(at, now) {
  const [day, today] = [new Date(at * 1000), new Date(now * 1000)];
  const apart = Math.round((midnight(today) - midnight(day)) / 86_400_000);
  if (apart <= 0) return "Today";
  if (apart === 1) return "Yesterday";
  return (apart < 300 ? DAY : FAR_DAY).format(day);
}

const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());

export const timeOf = (at) => TIME.format(new Date(at * 1000));

export const titleOf = (row) => row.title || NAMELESS;

/** A draft as a list row, titled by its unsent text, or else by its files. */
export function draftRow({ run, at, files, names, size }) {
  const rest = files - names.length;
  const named = [...names, ...(rest > 0 ? [`${number(rest)} more`] : [])].join(", ");
  return { run, at, files, size, draft: true, state: "draft", title: firstUnsent(run) || named || "Empty draft" };
}

export const addressOf = (run) => {
  const address = new URL(document.baseURI);
  address.search = new URLSearchParams({ run });
  address.hash = "";
  return address.href;
};

/** A run's state as a word with its colour. */
export function stateOf(row) {
  if (row.problem) return h("span", { class: "how", "data-tone": "bad" }, h("span", { class: "dot" }), "unreadable");
  if (!row.state) return null;
  const head = { ...row, progress: null };
  return h("span", { class: "how", "data-tone": tone(head), "data-live": row.alive, title: row.reason || null },
    h("span", { class: "dot" }), words(head));
}

/** Return the duration, up to now for an active run. */
export const tookOf = (row, now) => seconds(row.seconds + (row.alive ? Math.max(0, now - row.began) : 0));

/** Elements with a run's facts, next to its title. */
export function factsOf(row, now) {
  if (row.problem) return [stateOf(row), h("span", {}, row.problem)];
  if (!row.state) return [];
  if (row.draft) return [stateOf(row), h("span", { class: "num" }, row.files ? plural(row.files, "file") : "no files"), h("span", { class: "num space" }, bytes(row.size))];
  const took = row.alive || row.seconds >= 0.1 ? h("span", { class: "took num" }, tookOf(row, now)) : null;
  return [
    stateOf(row),
    h("span", { class: "by" }, row.model + (row.mode === "plain" ? ", no sandbox" : "")),
    row.steps ? h("span", { class: "num" }, plural(row.steps, "step")) : null,
    tokens(row),
    took,
    row.size ? h("span", { class: "num space", title: spaceOf(row) }, bytes(row.size)) : null,
  ].filter(Boolean);
}

/** Describe the components of a run's size. */
const spaceOf = ({ size, workspace = 0, versions = 0 }) =>
  `On disk: ${bytes(workspace)} files, ${bytes(versions)} file versions, ${bytes(size - workspace - versions)} log.
Versions shared by several runs are counted in each of them.`;

function tokens({ metered, estimated, prompt_tokens: read, generated_tokens: written }) {
  const sum = read + written;
  if (!sum) return metered ? null : h("span", {}, "scripted");
  const detail = `${number(read)} in, ${number(written)} out${estimated ? ", estimated" : ""}`;
  return h("span", { class: "num", title: detail }, `${estimated ? "≈ " : ""}${count(sum)} tokens`);
}

/** Thumbnails of a run's output, with reserved space before they load. */
export function shotsOf(row) {
  return (row.pictures ?? []).map((path) => {
    const drawn = path.toLowerCase().endsWith(".svg") ? "as=drawing&thumb=1" : "as=image&thumb=96";
    const kept = row.alive ? "" : `&v=${row.at}`;
    const image = h("img", { src: api(`runs/${row.run}/view/${path}?${drawn}${kept}`), alt: "", loading: "lazy", decoding: "async" });
    const place = h("span", { class: "shot" }, image);
    image.addEventListener("error", () => place.replaceChildren(icon("image")), { once: true });
    return place;
  });
}

/** Text with the search terms highlighted. */
export function marked(text, searched) {
  const wanted = searched.toLowerCase().split(/\s+/).filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!wanted.length) return [text];
  return text.split(new RegExp(`(${wanted.join("|")})`, "i")).map((part, at) => (at % 2 ? h("mark", {}, part) : part));
}

/**
 * Edit a title in place; `save` receives the new one and may fail. Enter and blur save,
 * Escape cancels.
 */
export function rename(place, title, save) {
  const field = h("input", { class: "renaming", value: title, maxlength: "200", "aria-label": "Title", dir: "auto" });
  const before = [...place.childNodes];
  let open = true;
  const end = async (kept) => {
    if (!open) return;
    open = false;
    const text = field.value.trim();
    const focused = document.activeElement === field;
    place.replaceChildren(...before);
    if (focused) place.closest("[tabindex], a, button")?.focus();
    if (kept && text !== title) await save(text);
  };
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
    event.preventDefault();
    end(event.key === "Enter");
  });
  field.addEventListener("blur", () => end(true));
  field.addEventListener("click", (event) => {
    event.preventDefault(); // it may be inside a link
    event.stopPropagation();
  });
  place.replaceChildren(field);
  field.focus();
  field.select();
}
