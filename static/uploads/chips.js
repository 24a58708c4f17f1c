// A chip for a file on its way, or one for all that came together.

import { aboutOf, aboutWords, hasText } from "../about.js";
import { h, icon } from "../dom.js";
import { bytes, number, plural, seconds } from "../format.js";
import { Rate } from "./sending.js";

/** What both have: a name, what is told, a bar, Retry and Remove. */
class Chip {
  constructor(sign, name, { onRemove, onRetry }) {
    this.rate = new Rate();
    this.name = h("b", { dir: "auto" }, name);
    this.words = h("span", { class: "num" }, "waiting");
    this.more = h("span", { class: "more" });
    this.bar = h("span", { class: "done", role: "progressbar", "aria-label": `Sending ${name}`, "aria-valuemin": 0, "aria-valuemax": 100 });
    this.retry = h("button", { type: "button", class: "quiet retry", hidden: true, onclick: onRetry }, "Retry");
    this.remove = h("button", { type: "button", class: "quiet", "aria-label": `Remove ${name}`, title: `Remove ${name}`, onclick: onRemove }, icon("close"));
    this.element = h("span", { class: "chip upload" }, icon(sign), this.name, this.words, this.more, this.retry, this.remove, this.bar);
  }

  /** Percentage, rate and time left. */
  progress(sent, size, before = "") {
    const percent = Math.floor((100 * sent) / (size || 1));
    const rate = this.rate.take(performance.now(), sent);
    const parts = [before, `${percent} %`];
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

  bad(bad) {
    this.element.classList.toggle("bad", bad);
    this.retry.hidden = !bad;
  }
}

/** One file. */
export class FileChip extends Chip {
  constructor(sending, deeds) {
    super("file", sending.name, deeds);
    this.sending = sending;
  }

  show() {
    const { sending } = this;
    const { state, sent, size, entry } = sending;
    this.bad(state === "failed");
    if (state === "waiting") this.tell("waiting", 0);
    else if (state === "sending") this.progress(sent, size);
    else if (state === "resting") this.tell("connection broken, trying again", Math.floor((100 * sent) / (size || 1)));
    else if (state === "failed") this.tell("not sent");
    else if (state === "done") this.arrived(entry);
  }

  /** Whether it has arrived in one of these folders; any, where none are named. */
  isIn(folders) {
    const path = this.sending.state === "done" && this.sending.entry.path;
    return Boolean(path) && (!folders || folders.includes(path.slice(0, Math.max(0, path.lastIndexOf("/")))));
  }

  arrived(entry) {
    this.tell(bytes(entry.size));
    this.name.textContent = entry.name;
    if (this.asked || !hasText(entry.name)) return;
    this.asked = true;
    aboutOf(entry.path).then((about) => (this.more.textContent = aboutWords(about)), () => {});
  }
}

/** All that was given at once: totals in one line. */
export class BundleChip extends Chip {
  constructor(sendings, name, deeds) {
    super(name ? "folder" : "clip", name || plural(sendings.length, "file"), deeds);
    this.sendings = sendings;
    this.size = sendings.reduce((sum, { size }) => sum + size, 0);
    this.titled = Boolean(name);
  }

  show() {
    const { sendings, size } = this;
    const count = (state) => sendings.filter((each) => each.state === state).length;
    const [done, failed] = [count("done"), count("failed")];
    const sent = sendings.reduce((sum, each) => sum + each.sent, 0);
    const under = sendings.some((each) => each.under);
    this.bad(!under && failed > 0);
    if (under && !sent && !done) this.tell("waiting", 0);
    else if (under) this.progress(sent, size, `${number(done)} of ${number(sendings.length)}`);
    else if (failed) this.tell(`${number(failed)} of ${plural(sendings.length, "file")} not sent`);
    else this.tell([this.titled ? plural(done, "file") : "", bytes(size)].filter(Boolean).join(" · "));
  }
}
