// One run as text and thumbnails: its title, state, facts and link.

import { h, icon } from "../dom.js";
import { formatBytes, formatCount, formatNumber, plural, formatSeconds } from "../format.js";
import { apiUrl } from "../event_stream.js";
import { stateTone, stateLabel } from "./run_states.js";
import { unsentTitle } from "./unsent_text.js";

const UNTITLED = "Untitled run";

const DAY = new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long" });
const DAY_WITH_YEAR = new Intl.DateTimeFormat("en", { day: "numeric", month: "long", year: "numeric" });
const TIME = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hour12: false });

/** Return the group heading for the day of a timestamp. */
export function dayHeading(at, now) {
  const [day, today] = [new Date(at * 1000), new Date(now * 1000)];
  const daysAgo = Math.round((midnight(today) - midnight(day)) / 86_400_000);
  if (daysAgo <= 0) return "Today";
  if (daysAgo === 1) return "Yesterday";
  return (daysAgo < 300 ? DAY : DAY_WITH_YEAR).format(day);
}

const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();

export const timeOfDay = (at) => TIME.format(new Date(at * 1000));

export const runTitle = (row) => row.title || UNTITLED;

/** A draft as a list row, titled by its unsent text, or else by its files. */
export function draftRow({ run, at, files, names, size }) {
  const more = files - names.length;
  const fileNames = [...names, ...(more > 0 ? [`${formatNumber(more)} more`] : [])].join(", ");
  return { run, at, files, size, draft: true, state: "draft", title: unsentTitle(run) || fileNames || "Empty draft" };
}

export const runUrl = (run) => {
  const address = new URL(document.baseURI);
  address.search = `${new URLSearchParams({ run })}`;
  address.hash = "";
  return address.href;
};

/** A run's state as a word with its colour. */
export function stateElement(row) {
  if (row.error) return h("span", { class: "run-state", "data-tone": "bad" }, h("span", { class: "dot" }), "unreadable");
  if (!row.state) return null;
  const status = { ...row, progress: null };
  return h(
    "span",
    { class: "run-state", "data-tone": stateTone(status), "data-live": row.running, title: row.reason || null },
    h("span", { class: "dot" }),
    stateLabel(status),
  );
}

/** Return the duration, up to now for an active run. */
export const runDuration = (row, now) => formatSeconds(row.seconds + (row.running ? Math.max(0, now - row.started_at) : 0));

/** Elements with a run's facts, next to its title. */
export function runFacts(row, now) {
  if (row.error) return [stateElement(row), h("span", {}, row.error)];
  if (!row.state) return [];
  if (row.draft)
    return [
      stateElement(row),
      h("span", { class: "num" }, row.files ? plural(row.files, "file") : "no files"),
      h("span", { class: "num storage" }, formatBytes(row.size)),
    ];
  const duration = row.running || row.seconds >= 0.1 ? h("span", { class: "took num" }, runDuration(row, now)) : null;
  return [
    stateElement(row),
    h("span", { class: "model" }, row.model + (row.mode === "plain" ? ", no sandbox" : "")),
    row.imported ? h("span", { class: "imported", title: "Imported from a file" }, `imported (${row.imported})`) : null,
    row.steps ? h("span", { class: "num" }, plural(row.steps, "step") + (row.copied_steps ? `, ${row.copied_steps} copied` : "")) : null,
    tokenCount(row),
    duration,
    row.size ? h("span", { class: "num storage", title: sizeDetails(row) }, formatBytes(row.size)) : null,
  ].filter(Boolean);
}

/** What a run was made from, as a line of its own; null if it was not. */
export function originLine({ parent, parent_title: title }) {
  if (!parent) return null;
  const label = parent.kind === "replay" ? "Replay of " : parent.step ? `Fork at step ${parent.step} of ` : "Fork from the start of ";
  return h("span", { class: "made-from" }, label, h("span", { class: "name", dir: "auto" }, title || "a run you cannot open"));
}

/** Describe the components of a run's size. */
const sizeDetails = ({ size, workspace = 0, versions = 0 }) =>
  `On disk: ${formatBytes(workspace)} files, ${formatBytes(versions)} file versions, ${formatBytes(size - workspace - versions)} log.
Versions shared by several runs are counted in each of them.`;

function tokenCount({ metered, estimated, prompt_tokens: prompt, generated_tokens: generated }) {
  const sum = prompt + generated;
  if (!sum) return metered ? null : h("span", {}, "scripted");
  const detail = `${formatNumber(prompt)} in, ${formatNumber(generated)} out${estimated ? ", estimated" : ""}`;
  return h("span", { class: "num", title: detail }, `${estimated ? "≈ " : ""}${formatCount(sum)} tokens`);
}

/** Thumbnails of a run's output, with reserved space before they load. */
export function thumbnails(row) {
  return (row.images ?? []).map((path) => {
    const options = path.toLowerCase().endsWith(".svg") ? "as=svg&thumb=1" : "as=image&thumb=96";
    const version = row.running ? "" : `&v=${row.at}`;
    const image = h("img", { src: apiUrl(`runs/${row.run}/view/${path}?${options}${version}`), alt: "", loading: "lazy", decoding: "async" });
    const place = h("span", { class: "thumbnail" }, image);
    image.addEventListener("error", () => place.replaceChildren(icon("image")), { once: true });
    return place;
  });
}

/** Text with the search terms highlighted. */
export function highlightTerms(text, searched) {
  const terms = searched
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!terms.length) return [text];
  return text.split(new RegExp(`(${terms.join("|")})`, "i")).map((part, at) => (at % 2 ? h("mark", {}, part) : part));
}

/** Edit a title in place; `save` receives the new one and may fail. Enter and blur save, Escape cancels. */
export function editTitle(element, title, save) {
  const field = h("input", { class: "renaming", value: title, maxlength: "200", "aria-label": "Title", dir: "auto" });
  const before = [...element.childNodes];
  let open = true;
  const end = async (confirmed) => {
    if (!open) return;
    open = false;
    const text = field.value.trim();
    const focused = document.activeElement === field;
    element.replaceChildren(...before);
    if (focused) element.closest("[tabindex], a, button")?.focus();
    if (confirmed && text !== title) await save(text);
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
  element.replaceChildren(field);
  field.focus();
  field.select();
}
