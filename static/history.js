// All runs of the person: found again, opened, renamed, deleted.

import { h, icon } from "./dom.js";
import { addressOf, dayOf, factsOf, marked, rename, shotsOf, timeOf, titleOf, tookOf } from "./entry.js";
import { bytes, plural } from "./format.js";
import { api, ask, attach, emit, on, session } from "./session.js";

const PART = 50;
const TYPING = 150; // milliseconds
const SOON = 2000; // while something is at work
const LATER = 10_000;
const KEYS = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘ K" : "Ctrl K";
const SEARCHED = "titles, tasks, messages, answers, models and names of files";

export const list = (asked) => ask(api(`runs?${new URLSearchParams(asked)}`));

const others = new BroadcastChannel("renamed"); // other tabs of this browser
others.onmessage = ({ data }) => emit("renamed", { ...data, elsewhere: true });

/** Call a run so; who shows its title hears of it, in other tabs, too. */
export async function retitle(run, title) {
  const told = await ask(api(`runs/${run}`), { method: "PATCH", body: JSON.stringify({ title }) });
  const news = { run, title: told.title, own: Boolean(title) };
  emit("renamed", news);
  others.postMessage(news);
  return told.title;
}

class History {
  constructor(dialog, button) {
    this.dialog = dialog;
    this.rows = new Map(); // by run: what the server said, and its element
    this.chosen = new Set();
    this.asked = 0;
    this.build();
    button.prepend(icon("clock"));
    button.title = `All your runs (${KEYS})`;
    button.setAttribute("aria-keyshortcuts", "Control+K Meta+K");
    button.addEventListener("click", () => this.open());
    document.addEventListener("keydown", (event) => this.shortcut(event));
    on("history", () => this.open());
    on("renamed", (news) => this.renamed(news));
  }

  build() {
    this.field = h("input", {
      type: "search", placeholder: "Search titles, tasks, answers, models, files", "aria-label": `Search ${SEARCHED}`, title: `Searches ${SEARCHED}`,
      autocomplete: "off", spellcheck: "false", oninput: () => this.typed(),
    });
    this.tally = h("p", { class: "tally", role: "status" });
    this.body = h("div", { class: "runs", "aria-busy": "true" });
    this.end = h("div", { class: "end" });
    this.scroller = h("div", { class: "scroller" }, this.body, this.end);
    this.bar = h("div", { class: "bulk", hidden: true });
    this.heading = h("h2", { id: "history-title", tabindex: "-1" }, "History");
    const close = h("button", { type: "button", class: "quiet", "aria-label": "Close history", onclick: () => this.dialog.close() }, icon("close"));
    this.dialog.append(
      h("div", { class: "hd" }, this.heading, h("label", { class: "seek" }, icon("find"), this.field), close),
      this.tally, this.scroller, this.bar);
    this.more = new IntersectionObserver(([seen]) => seen.isIntersecting && this.next && this.load(), { root: this.scroller, rootMargin: "600px" });
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("close", () => this.closed());
    this.dialog.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => this.clicked(event));
    this.body.addEventListener("change", (event) => this.ticked(event));
  }

  shortcut(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
    if (!this.dialog.open && document.querySelector("dialog[open]")) return;
    event.preventDefault();
    if (this.dialog.open) this.dialog.close();
    else this.open();
  }

  open() {
    if (this.dialog.open) return;
    this.dialog.showModal();
    this.field.value = "";
    (matchMedia("(pointer: fine)").matches ? this.field : this.heading).focus();
    this.forget();
    this.begin();
    this.more.observe(this.end);
    this.clock = setInterval(() => this.tick(), 1000);
  }

  closed() {
    clearInterval(this.clock);
    clearTimeout(this.timer);
    this.more.disconnect();
    this.asked++;
    this.forget();
    this.body.replaceChildren();
  }

  forget() {
    this.rows.clear();
    this.chosen.clear();
    this.next = "";
    this.settle();
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.begin(), TYPING);
  }

  get words() {
    return this.field.value.trim();
  }

  /** The first part again: what is new comes in, what is gone goes. */
  async begin() {
    clearTimeout(this.timer);
    const asked = ++this.asked;
    const { words } = this;
    try {
      const answer = await list({ q: words, most: PART });
      if (asked !== this.asked) return;
      const same = words === this.shown;
      this.shown = words;
      this.skew = answer.now - Date.now() / 1000;
      const bottom = answer.next ? answer.runs.at(-1).at : -Infinity;
      const fresh = new Set(answer.runs.map(({ run }) => run));
      for (const [run, { row }] of this.rows) {
        if (same && (fresh.has(run) || row.at < bottom)) continue;
        this.rows.delete(run);
        if (same) this.chosen.delete(run);
      }
      if (!same || this.rows.size <= PART) this.next = answer.next;
      this.take(answer);
      if (!same) this.scroller.scrollTop = 0;
    } catch (error) {
      if (asked === this.asked) this.fail(error);
    }
    if (asked === this.asked) this.again();
  }

  again() {
    const alive = [...this.rows.values()].some(({ row }) => row.alive);
    this.timer = setTimeout(() => (document.hidden ? this.again() : this.begin()), alive ? SOON : LATER);
  }

  async load() {
    if (this.loading) return;
    const [asked, before] = [this.asked, this.next];
    this.loading = true;
    try {
      const answer = await list({ q: this.shown, most: PART, before });
      if (this.next !== before || !this.dialog.open) return;
      this.next = answer.next;
      this.take(answer);
      // Whoever sees the end still is not told of it a second time.
      this.more.unobserve(this.end);
      this.more.observe(this.end);
    } catch (error) {
      if (asked === this.asked) this.fail(error);
    } finally {
      this.loading = false;
    }
  }

  take({ runs, total, size }) {
    for (const row of runs) {
      const known = this.rows.get(row.run);
      if (!known) this.rows.set(row.run, { row, element: this.element(row) });
      else if (!known.renaming && JSON.stringify(known.row) !== JSON.stringify(row)) {
        known.row = row;
        this.fill(known.element, row);
      }
    }
    this.total = total;
    this.size = size;
    this.body.removeAttribute("aria-busy");
    this.render();
  }

  fail(error) {
    this.tell(error.message);
    if (!this.rows.size) {
      this.body.replaceChildren(h("div", { class: "none" }, h("p", {}, "The runs cannot be listed."),
        h("button", { type: "button", class: "plain", onclick: () => this.begin() }, "Try again")));
    }
  }

  now() {
    return Date.now() / 1000 + (this.skew ?? 0);
  }

  render() {
    const entries = [...this.rows.values()].sort((one, other) => other.row.at - one.row.at || (other.row.run < one.row.run ? -1 : 1));
    if (!entries.length) this.body.replaceChildren(this.nothing());
    else {
      const days = Map.groupBy(entries, ({ row }) => dayOf(row.at, this.now()));
      const wanted = [...days].map(([day, each]) => this.day(day, each.map(({ element }) => element)));
      place(this.body, wanted);
    }
    this.settle();
  }

  day(name, elements) {
    const known = [...this.body.children].find((each) => each.dataset.day === name);
    const section = known ?? h("section", { "data-day": name, "aria-label": name }, h("h3", {}, name), h("ul"));
    place(section.lastChild, elements);
    return section;
  }

  nothing() {
    if (!this.shown) return h("div", { class: "none" }, h("p", {}, "No runs yet."), h("p", {}, "What you run is kept here, with everything it made."));
    return h("div", { class: "none" }, h("p", {}, `Nothing found for “${this.shown}”.`), h("p", {}, `Searched: ${SEARCHED}.`));
  }

  element(row) {
    const element = h("li", { class: "entry", "data-run": row.run });
    this.fill(element, row);
    return element;
  }

  fill(element, row) {
    const title = titleOf(row);
    const tool = (name, drawn, label) => h("button", { type: "button", class: `quiet ${name}`, tabindex: "-1", "aria-label": `${label} “${title}”`, title: label }, icon(drawn));
    const within = element.contains(document.activeElement) ? document.activeElement.className : null;
    element.replaceChildren(
      h("input", { type: "checkbox", tabindex: "-1", "aria-label": `Select “${title}”`, ...(this.chosen.has(row.run) ? { checked: true } : {}) }),
      h("a", { class: "open", href: addressOf(row.run), "aria-current": row.run === session.run ? "page" : null },
        h("b", { class: "title", dir: "auto" }, ...marked(title, this.shown ?? "")),
        h("span", { class: "facts" }, ...factsOf(row, this.now())),
        row.found ? h("span", { class: "found", dir: "auto" }, ...marked(row.found, this.shown ?? "")) : null),
      h("span", { class: "shots" }, ...shotsOf(row)),
      h("time", { class: "num", datetime: new Date(row.at * 1000).toISOString() }, timeOf(row.at)),
      h("span", { class: "acts" }, row.problem ? null : tool("pen", "pen", "Rename"), tool("bin", "bin", "Delete")));
    if (within) element.querySelector(`.${within.split(" ").at(-1) || "open"}`)?.focus();
  }

  tick() {
    for (const { row, element } of this.rows.values()) {
      if (row.alive) element.querySelector(".took").textContent = tookOf(row, this.now());
    }
  }

  settle() {
    const { size } = this.chosen;
    this.body.classList.toggle("choosing", size > 0);
    this.bar.hidden = !size;
    if (!size) this.bar.dataset.of = "";
    if (this.total === undefined || !this.dialog.open) return;
    const words = this.shown ? `${plural(this.total, "run")} found` : plural(this.total, "run");
    this.tell(this.total ? `${words} · ${bytes(this.size)} on the disk` : "");
    if (size) this.offer();
  }

  tell(text) {
    if (this.tally.textContent !== text && !(this.said > Date.now())) this.tally.textContent = text;
  }

  /** Say something that stays for a while. */
  say(text) {
    this.said = 0;
    this.tell(text);
    this.said = Date.now() + 6000;
  }

  clicked(event) {
    const entry = event.target.closest(".entry");
    if (!entry) return;
    const { row } = this.rows.get(entry.dataset.run);
    if (event.target.closest(".pen")) this.rename(row);
    else if (event.target.closest(".bin")) this.choose([row.run]);
    else if (event.target.closest("a.open") && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
      event.preventDefault();
      if (!row.problem) this.show(row.run);
      else this.say(`${row.problem} It can be deleted.`);
    }
  }

  show(run) {
    this.dialog.close();
    attach(run);
  }

  ticked(event) {
    const { run } = event.target.closest(".entry").dataset;
    if (event.target.checked) this.chosen.add(run);
    else this.chosen.delete(run);
    this.settle();
  }

  choose(runs) {
    this.chosen = new Set(runs);
    for (const [run, { element }] of this.rows) element.querySelector("input[type=checkbox]").checked = this.chosen.has(run);
    this.settle();
    this.confirm();
  }

  /** What can be done with those that are chosen. */
  offer() {
    const of = [...this.chosen].join();
    if (this.bar.dataset.of === of) return;
    this.bar.dataset.of = of;
    this.bar.replaceChildren(h("p", {}, `${plural(this.chosen.size, "run")} selected`),
      h("button", { type: "button", class: "plain", onclick: () => this.confirm() }, "Delete …"),
      h("button", { type: "button", class: "plain", onclick: () => this.release() }, "Clear"));
  }

  release() {
    this.choose([]);
    this.bar.replaceChildren();
    (this.back ?? this.field).focus();
  }

  /** Ask before deleting, with what it frees; what is at work is not deleted. */
  async confirm() {
    const runs = [...this.chosen];
    if (!runs.length) return;
    const rows = runs.map((run) => this.rows.get(run)?.row).filter(Boolean);
    this.back = this.rows.get(runs[0])?.element.querySelector(".open");
    const keep = h("button", { type: "button", class: "plain keep", onclick: () => this.release() }, "Keep");
    const what = rows.length === 1 ? `“${clip(titleOf(rows[0]))}”` : plural(rows.length, "run");
    if (rows.some(({ alive }) => alive)) {
      const which = rows.length === 1 ? `${what} is at work` : "One of them is at work";
      this.bar.replaceChildren(h("p", {}, `${which}. Stop it first, then delete it.`), keep);
      return keep.focus();
    }
    const sentence = h("p", {}, `Delete ${what} with all files? `, h("span", { class: "frees dim" }, "…"));
    const sure = h("button", { type: "button", class: "plain danger", onclick: () => this.remove(runs) }, "Delete");
    this.bar.replaceChildren(sentence, sure, keep);
    sure.focus();
    try {
      const { frees } = await ask(api(`space?${several(runs)}`));
      sentence.querySelector(".frees").textContent = `This frees ${bytes(frees)} and cannot be undone.`;
    } catch (error) {
      sentence.querySelector(".frees").textContent = error.message;
    }
  }

  async remove(runs) {
    const shown = runs.includes(session.run) ? session.run : null;
    if (shown) attach(null); // nobody follows what is being removed
    this.bar.replaceChildren(h("p", {}, "Deleting …"));
    try {
      const { freed } = await ask(api(`runs?${several(runs)}`), { method: "DELETE" });
      for (const run of runs) this.rows.delete(run);
      this.say(`Deleted ${plural(runs.length, "run")}; ${bytes(freed)} are free again.`);
      emit("deleted", runs);
    } catch (error) {
      this.say(error.message);
      if (shown) attach(shown);
    }
    this.back = null;
    this.release();
    this.begin();
  }

  rename(row) {
    const known = this.rows.get(row.run);
    if (row.problem) return;
    known.renaming = true;
    const link = known.element.querySelector(".open");
    const title = link.querySelector(".title");
    rename(title, row.title, async (text) => {
      try {
        await retitle(row.run, text);
      } catch (error) {
        this.say(error.message);
      }
    });
    title.querySelector("input").addEventListener("blur", () => {
      known.renaming = false;
    });
  }

  renamed({ run, title, own, elsewhere }) {
    const known = this.rows.get(run);
    if (!known) return;
    known.row = { ...known.row, title, renamed: own };
    known.renaming = false;
    this.fill(known.element, known.row);
    if (!elsewhere) known.element.querySelector(".open").focus();
  }

  key(event) {
    if (event.key === "Escape" && this.field === event.target && this.field.value) {
      event.preventDefault();
      this.field.value = "";
      return this.begin();
    }
    if (event.key === "Escape" && this.chosen.size) {
      event.preventDefault();
      return this.release();
    }
    const entry = event.target.closest(".entry");
    const all = [...this.body.querySelectorAll(".entry")];
    const at = all.indexOf(entry);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: entry && 0, End: entry && all.length - 1 }[event.key];
    if (to !== undefined && (entry || event.target === this.field)) {
      event.preventDefault();
      return (to < 0 ? this.field : all[Math.min(to, all.length - 1)]?.querySelector(".open"))?.focus();
    }
    if (entry) this.act(event, entry);
  }

  act(event, entry) {
    if (!event.target.matches(".open")) return;
    const { row } = this.rows.get(entry.dataset.run);
    if (event.key === "F2") this.rename(row);
    else if (event.key === "Delete") this.chosen.size > 1 && this.chosen.has(row.run) ? this.confirm() : this.choose([row.run]);
    else if (event.key === " ") entry.querySelector("input[type=checkbox]").click();
    else return;
    event.preventDefault();
  }
}

const several = (runs) => new URLSearchParams(runs.map((run) => ["run", run]));

const clip = (title) => (title.length > 60 ? `${title.slice(0, 59)}…` : title);

/** Put elements in order, leaving alone what is where it belongs. */
function place(parent, wanted) {
  let at = parent.firstChild;
  for (const element of wanted) {
    if (element === at) at = at.nextSibling;
    else parent.insertBefore(element, at);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

export function mountHistory(dialog, button) {
  new History(dialog, button);
}
