// Results at the end of a run: images, pages, audio and video inline, cards for other files, and
// the input files.

import { h, icon } from "../core/dom.js";
import { bytes, kindOf, number, plural } from "../core/format.js";
import { Gallery } from "./gallery.js";
import { FRAMED, framed, leaveFrames } from "./framed_result.js";
import { caption, download, lookAt, raw, version } from "./output_file.js";
import { ask, on, runApi, session } from "../core/session.js";

const PAUSE = 500; // ms between two requests while files are written
const ANSWER = "output/answer.txt";
const order = new Intl.Collator(undefined, { numeric: true });
const byName = (one, other) => order.compare(one.name, other.name);

/** How a file is shown: as image, page, audio, video or card. */
function manner({ kind, name }) {
  const found = kind === "bytes" ? kindOf(name) : kind;
  return { image: "picture", drawing: "picture", page: "page", sound: "sound", film: "film" }[found] ?? "card";
}

export class Results {
  /** `since` is the last step of the previous round; `answered`, whether the answer is shown above. */
  constructor(place, { since, answered }) {
    Object.assign(this, { place, since, answered, made: new Map(), told: "" });
    this.run = session.run;
  }

  /** Load the results; keep the elements already shown. */
  async show() {
    if (session.mode === "plain" || this.run !== session.run) return;
    try {
      const answer = await ask(runApi("results"));
      const told = JSON.stringify(answer);
      if (told === this.told || this.run !== session.run) return;
      this.told = told;
      this.put(answer);
    } catch {
      // without its workspace, a run still has its timeline
    }
  }

  put({ made, given }) {
    const files = made.files.filter((file) => !(this.answered && file.path === ANSWER)).sort(byName);
    const fresh = files.filter((file) => !this.since || file.step === null || file.step > this.since);
    const older = files.filter((file) => !fresh.includes(file));
    const kept = this.made;
    this.made = new Map();
    const parts = [];
    if (fresh.length) parts.push(this.part(this.since ? "New in this round" : "Results", fresh, kept, made.more));
    if (older.length) parts.push(this.older(older, kept, fresh.length ? 0 : made.more));
    if (parts.length) parts[0].querySelector("h3").after(everything(files, made));
    if (given.files.length) parts.push(gifts(given));
    this.place.replaceChildren(...parts);
  }

  older(files, kept, more) {
    const part = this.part("Earlier results", files, kept, more);
    const was = this.place.querySelector("details.before");
    const heading = part.querySelector("h3");
    const details = h("details", { class: "before", open: was?.open ?? false }, h("summary", {}, icon("caret"), heading, h("small", { class: "num" }, plural(files.length, "file"))));
    details.append(...part.childNodes);
    return details;
  }

  part(title, files, kept, more) {
    const of = (wanted) => files.filter((file) => manner(file) === wanted);
    const part = h("section", { class: "part" }, h("h3", {}, title));
    const pictures = of("picture");
    if (pictures.length) part.append(new Gallery(pictures, (file, make) => this.element(file, kept, make)).element);
    const put = (these, name, make) => {
      const elements = these.map((file) => this.element(file, kept, make));
      if (elements.length) part.append(h("div", { class: name }, ...elements));
    };
    const pages = of("page");
    put(pages.slice(0, FRAMED), "pages", framed);
    put(of("film"), "films", film);
    put(of("sound"), "sounds", sound);
    put([...pages.slice(FRAMED), ...of("card")].sort(byName), "files", card);
    if (more) part.append(h("p", { class: "rest" }, `and ${plural(more, "more file")} in output/`));
    return part;
  }

  /** The file's element, reused if the file is unchanged, so that a player keeps playing. */
  element(file, kept, make) {
    const key = `${file.path}?${version(file)}`;
    const element = kept.get(key) ?? make(file);
    this.made.set(key, element);
    return element;
  }
}

let shown = null;
let timer = 0;

/** Show a run's results in `place` and keep them up to date. */
export function showResults(place, options) {
  shown = new Results(place, options);
  return shown.show();
}

/** The round continues: remove the results of the previous one. */
export function leaveResults() {
  shown?.place.remove();
  shown = null;
  leaveFrames();
}

on("reset", () => {
  shown = null;
  leaveFrames();
});
on("workspace", ({ folders }) => {
  if (!shown || session.alive || (folders && !folders.some((folder) => /^(output|input)(\/|$)/.test(folder)))) return;
  clearTimeout(timer);
  timer = setTimeout(() => shown?.show(), PAUSE);
});

function everything(files, made) {
  if (files.length < 2) return "";
  const size = made.more ? "" : ` (${bytes(made.files.reduce((sum, file) => sum + file.size, 0))})`;
  return h("a", { class: "quiet all", href: runApi("zip?path=output"), download: "" }, icon("down"), `Download all${size}`);
}

/** A player, replaced by a card if the browser cannot play the file. */
function player(file, element, words) {
  const figure = h("figure", {}, element, caption(file));
  element.addEventListener("error", () => figure.replaceWith(card(file, `This ${words} cannot be played in this browser.`)), { once: true });
  return figure;
}

const sound = (file) => player(file, h("audio", { src: raw(file), controls: true, preload: "metadata", "aria-label": file.name }), "audio file");

const film = (file) => player(file, h("video", { src: raw(file), controls: true, preload: "metadata", playsinline: true, "aria-label": file.name }), "video");

function card(file, says = "") {
  const { lines } = file;
  const body = says ? h("span", { class: "says" }, says) : lines.some((line) => line.trim()) ? h("span", { class: "lines" }, lines.join("\n")) : null;
  return h("div", { class: `file${body ? "" : " bare"}` },
    lookAt(file, { class: "name", title: file.name }, icon(sign(file)), h("b", {}, file.name)),
    h("small", { class: "num" }, bytes(file.size)), download(file), body);
}

const sign = ({ kind, name }) => ({ page: "code", midi: "sound" }[kind] ?? kindOf(name));

function gifts({ files, more }) {
  const items = files.map((file) => h("li", {}, lookAt(file, { class: "chip", title: file.name }, icon(sign(file)), h("b", {}, file.name), h("small", { class: "num" }, bytes(file.size)))));
  if (more) items.push(h("li", { class: "rest" }, `and ${number(more)} more`));
  return h("section", { class: "part gifts" }, h("h3", {}, "Your files"), h("ul", {}, ...items));
}
