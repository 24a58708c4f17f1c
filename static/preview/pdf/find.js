// Search in a PDF: the server searches some pages per request.

import { h, icon } from "../../core/dom.js";
import { number, plural } from "../../core/format.js";

const PAUSE = 200; // ms after the last keystroke
const MOST = 5000; // matches

export class Find {
  constructor(paper) {
    Object.assign(this, { paper, places: [], now: -1, round: 0 });
    const tool = (name, label, act) => h("button", { type: "button", class: "quiet sign", "aria-label": label, title: label, onclick: act }, icon(name));
    this.field = h("input", { type: "search", "aria-label": "Find in this PDF", placeholder: "Find in this PDF", autocomplete: "off", spellcheck: "false" });
    this.tally = h("span", { class: "tally num", role: "status" });
    this.case = h("button", { type: "button", class: "quiet case", "aria-pressed": "false", "aria-label": "Match case", title: "Match case", onclick: () => this.toggle() }, "Aa");
    this.element = h("div", { class: "search", role: "search", hidden: true }, icon("find"), this.field, this.tally, this.case,
      tool("above", "Previous match", () => this.move(-1)), tool("below", "Next match", () => this.move(1)), tool("close", "Close find", () => this.close()));
    this.field.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.look(), PAUSE);
    });
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (event.key === "Escape") this.close();
    else if (event.key === "Enter" && event.target === this.field) this.move(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation(); // Escape would stop the run
  }

  open() {
    this.element.hidden = false;
    const chosen = String(getSelection()).trim();
    if (chosen && chosen.length < 100 && !chosen.includes("\n")) this.field.value = chosen;
    this.field.focus();
    this.field.select();
    if (this.field.value) this.look();
  }

  close() {
    clearTimeout(this.timer);
    this.round += 1;
    this.element.hidden = true;
    this.clear();
    this.paper.element.focus({ preventScroll: true });
  }

  clear() {
    Object.assign(this, { places: [], now: -1 });
    this.tally.textContent = "";
    this.tally.classList.remove("none");
    this.paper.setFound(new Map(), null);
  }

  toggle() {
    this.case.setAttribute("aria-pressed", String(this.case.ariaPressed !== "true"));
    this.look();
  }

  /** Search all pages, starting at the current one. */
  async look() {
    const round = ++this.round;
    this.clear();
    const needle = this.field.value.trim();
    if (!needle) return;
    const start = this.paper.now;
    for (const [from, to] of [[start, this.paper.pages], [0, start]]) {
      for (let at = from; at !== null && at < to && this.places.length < MOST;) {
        const answer = await this.ask(needle, at);
        if (round !== this.round) return;
        if (!answer) return void (this.tally.textContent = "Search failed");
        this.add(answer.places.filter(([page]) => page < to));
        at = answer.next;
        this.say(at === null || at >= to ? null : at);
      }
    }
    this.say(null, true);
  }

  ask(needle, from) {
    const cased = this.case.ariaPressed === "true" ? { case: 1 } : {};
    return this.paper.file.ask({ as: "pdf", find: needle, from, ...cased }).catch(() => null);
  }

  add(answers) {
    if (!answers.length) return;
    const more = answers.map(([at, boxes]) => ({ at, boxes }));
    const current = this.places[this.now];
    this.places = [...this.places, ...more].sort((a, b) => a.at - b.at);
    const byPage = new Map();
    for (const place of this.places) byPage.set(place.at, [...(byPage.get(place.at) ?? []), place]);
    this.byPage = byPage;
    if (current) this.now = this.places.indexOf(current);
    else this.stand(this.places.indexOf(more[0]));
    this.paper.setFound(byPage, this.places[this.now]);
  }

  say(page, done = false) {
    const found = this.places.length;
    const many = found >= MOST ? `${number(MOST)}+` : number(found);
    const going = done ? "" : page === null ? "…" : `… page ${number(page + 1)}`;
    this.tally.textContent = found ? `${number(this.now + 1)} of ${many}${going}` : done ? "No matches" : `searching${going}`;
    this.tally.classList.toggle("none", done && !found);
    this.going = going;
    this.tally.title = plural(found, "match", "matches");
  }

  move(by) {
    if (!this.places.length) return void (this.field.value && this.look());
    this.stand((this.now + by + this.places.length) % this.places.length);
    this.tally.textContent = this.tally.textContent.replace(/^[\d,]+/, number(this.now + 1));
  }

  stand(at) {
    this.now = at;
    const place = this.places[at];
    this.paper.goTo(place.at, place.boxes[0]?.[1] ?? 0);
    this.paper.setFound(this.byPage, place);
  }
}
