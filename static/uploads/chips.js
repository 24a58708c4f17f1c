// Upload chips: one per file, or one for a batch.

import { aboutOf, aboutWords, hasText } from "../core/document_info.js";
import { h, icon } from "../core/dom.js";
import { bytes, number, plural, seconds } from "../core/format.js";
import { isBelow } from "../tree/model.js";
import { Rate } from "./resumable_upload.js";

/** Common parts: name, message, progress bar, Retry and Remove. */
class Chip {
  constructor(sign, name, sendings, { onRemove, onRetry }) {
    this.sendings = sendings;
    this.rate = new Rate();
    this.name = h("b", { dir: "auto" }, name);
    this.words = h("span", { class: "num" }, "waiting");
    this.more = h("span", { class: "more" });
    this.bar = h("span", { class: "done", role: "progressbar", "aria-label": `Uploading ${name}`, "aria-valuemin": 0, "aria-valuemax": 100 });
    this.retry = h("button", { type: "button", class: "quiet retry", hidden: true, onclick: onRetry }, "Retry");
    this.remove = h("button", { type: "button", class: "quiet", "aria-label": `Remove ${name}`, title: `Remove ${name}`, onclick: onRemove }, icon("close"));
    this.element = h("span", { class: "chip upload" }, icon(sign), this.name, this.words, this.more, this.retry, this.remove, this.bar);
  }

  /** Show percentage, rate and time left. */
  progress(sent, size, before = "") {
    const percent = Math.floor((100 * sent) / (size || 1));
    const rate = this.rate.take(performance.now(), sent);
    const parts = [before, `${percent}%`];
    if (rate && sent < size) parts.push(`${bytes(rate)}/s`, `${seconds(Math.max(1, (size - sent) / rate)).replace(/\.\d s$/, " s")} left`);
    this.tell(parts.filter(Boolean).join(" · "), percent);
  }

  tell(words, percent = null) {
    if (this.words.textContent !== words) this.words.textContent = words;
    this.bar.hidden = percent === null;
    if (percent === null) return;
    this.bar.style.setProperty("--part", `${percent}%`);
    this.bar.setAttribute("aria-valuenow", percent);
  }

  /** The uploaded paths in or below these folders (or all), once all have arrived. */
  arrivedIn(folders) {
    if (this.sendings.some(({ under }) => under)) return [];
    const paths = this.sendings.filter(({ state }) => state === "done").map(({ entry }) => entry.path);
    return folders ? paths.filter((path) => folders.some((folder) => isBelow(path, folder))) : paths;
  }

  /** Remove deleted paths. */
  forget(gone) {
    this.sendings = this.sendings.filter(({ state, entry }) => state !== "done" || !gone.has(entry.path));
    if (this.sendings.length) this.show();
    else this.element.remove();
  }

  bad(bad) {
    this.element.classList.toggle("bad", bad);
    this.retry.hidden = !bad;
  }
}

/** Chip of one file. */
export class FileChip extends Chip {
  constructor(sending, deeds) {
    super("file", sending.name, [sending], deeds);
    this.sending = sending;
  }

  show() {
    const { sending } = this;
    const { state, sent, size, entry } = sending;
    this.bad(state === "failed");
    if (state === "waiting") this.tell("waiting", 0);
    else if (state === "sending") this.progress(sent, size);
    else if (state === "resting") this.tell("connection lost, retrying", Math.floor((100 * sent) / (size || 1)));
    else if (state === "failed") this.tell("upload failed");
    else if (state === "done") this.arrived(entry);
  }

  arrived(entry) {
    this.tell(bytes(entry.size));
    this.name.textContent = entry.name;
    if (this.asked || !hasText(entry.name)) return;
    this.asked = true;
    aboutOf(entry.path).then((about) => (this.more.textContent = aboutWords(about)), () => {});
  }
}

/** Chip of a batch, with totals. */
export class BundleChip extends Chip {
  constructor(sendings, name, deeds) {
    super(name ? "folder" : "clip", name || plural(sendings.length, "file"), sendings, deeds);
    this.titled = Boolean(name);
  }

  show() {
    const { sendings } = this;
    const size = sendings.reduce((sum, each) => sum + each.size, 0);
    if (!this.titled) this.name.textContent = plural(sendings.length, "file");
    const count = (state) => sendings.filter((each) => each.state === state).length;
    const [done, failed] = [count("done"), count("failed")];
    const sent = sendings.reduce((sum, each) => sum + each.sent, 0);
    const under = sendings.some((each) => each.under);
    this.bad(!under && failed > 0);
    if (under && !sent && !done) this.tell("waiting", 0);
    else if (under) this.progress(sent, size, `${number(done)} of ${number(sendings.length)}`);
    else if (failed) this.tell(`${number(failed)} of ${plural(sendings.length, "file")} failed`);
    else this.tell([this.titled ? plural(done, "file") : "", bytes(size)].filter(Boolean).join(" · "));
  }
}
