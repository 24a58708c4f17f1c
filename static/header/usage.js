// Storage, sandboxes, limits and the runs that use the most.

import { h, icon, styled } from "../core/dom.js";
import { addressOf, titleOf } from "../history/run_row.js";
import { ago, bytes, plural } from "../core/format.js";
import { api, ask, attach, emit, on, session } from "../core/session.js";

const AGAIN = 5000; // ms, while the dialog is open
const HOUR = 3600;
const DAY = 24 * HOUR;

class Usage {
  constructor() {
    this.heading = h("h2", { id: "usage-title", tabindex: "-1" }, "Storage and limits");
    this.status = h("p", { class: "tally", role: "status" });
    this.body = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-labelledby": "usage-title" });
    const close = h("button", { type: "button", class: "quiet", "aria-label": "Close storage and limits", onclick: () => this.dialog.close() }, icon("close"));
    this.dialog = h("dialog", { class: "history usage", "aria-labelledby": "usage-title" },
      h("div", { class: "hd" }, this.heading, h("span", { class: "grow" }), close), this.status, this.body);
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("close", () => clearTimeout(this.timer));
    document.querySelector(".masthead").after(this.dialog);
  }

  async open() {
    await styled("header/header.css");
    this.said = 0;
    this.asking = null;
    this.body.replaceChildren();
    if (!this.dialog.open) this.dialog.showModal();
    this.tell("Loading…");
    this.heading.focus();
    this.load();
  }

  async load() {
    clearTimeout(this.timer);
    try {
      this.show(await ask(api("usage")));
    } catch (error) {
      this.tell(error.message);
    }
    if (this.dialog.open) this.timer = setTimeout(() => this.load(), AGAIN);
  }

  tell(text, stays = 0) {
    if (this.said > Date.now()) return;
    this.status.textContent = text;
    this.said = stays && Date.now() + stays;
  }

  /** Refresh everything except an open confirmation. */
  show(told) {
    this.told = told;
    const { count, pinned, size, limit } = told.runs;
    this.tell(`${plural(count, "run")}${pinned ? `, ${pinned} pinned` : ""} · ${bytes(size)}${limit ? ` of ${bytes(limit)}` : ""} on disk`);
    if (this.asking) return;
    const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const top = this.body.scrollTop;
    const parts = [disk(told), this.largest(told), sandboxes(told), limits(told), machine(told), people(told)];
    this.body.replaceChildren(...parts.filter(Boolean));
    this.body.scrollTop = top;
    if (focused) [...this.body.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused)?.focus();
  }

  largest({ largest, runs }) {
    if (!largest.length) return null;
    const most = largest[0].size;
    const rows = largest.map((row) => this.row(row, most));
    const more = runs.count > largest.length ? h("p", { class: "note" }, `Showing the ${largest.length} largest of ${plural(runs.count, "run")}. `,
      h("button", { type: "button", class: "inline", "data-key": "all", onclick: () => (this.dialog.close(), emit("history")) }, "All runs")) : null;
    return part("Largest runs", h("ul", { class: "largest" }, ...rows), more);
  }

  row(row, most) {
    const title = titleOf(row);
    const link = h("a", { class: "name", href: addressOf(row.run), dir: "auto", "data-key": `open ${row.run}`, onclick: (event) => this.leave(event, row) }, title);
    const tool = (name, label, more, act) => h("button", { type: "button", class: `quiet ${name}`, "aria-label": `${label} “${title}”`, title: label, "data-key": `${name} ${row.run}`, onclick: act, ...more }, icon(name));
    const element = h("li", { class: "taker" }, link,
      h("span", { class: "facts num" }, row.alive ? "running" : ago(Date.now() / 1000 - row.at), row.versions ? ` · ${bytes(row.versions)} file versions` : ""),
      h("span", { class: "share", "aria-hidden": "true" }, h("i", { style: `width: ${Math.max(1, (100 * row.size) / most)}%` })),
      h("span", { class: "num size" }, bytes(row.size)),
      h("span", { class: "acts" },
        tool("pin", "Pin", { "aria-pressed": String(row.pinned) }, () => this.pin(row)),
        tool("bin", "Delete", { disabled: row.alive || row.pinned }, () => this.confirm(row, element))));
    if (row.alive || row.pinned) element.querySelector(".bin").title = row.alive ? "Running: stop it first" : "Pinned: unpin it first";
    return element;
  }

  leave(event, row) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.dialog.close();
    attach(row.run);
  }

  async pin(row) {
    try {
      await ask(api(`runs/${row.run}`), { method: "PATCH", body: JSON.stringify({ pinned: !row.pinned }) });
    } catch (error) {
      this.tell(error.message, 6000);
    }
    this.load();
  }

  /** Confirm a deletion in the run's row and show the space it frees. */
  async confirm(row, element) {
    if (this.asking) this.keep();
    const frees = h("span", { class: "dim" }, "…");
    const sure = h("button", { type: "button", class: "plain danger", onclick: () => this.remove(row) }, "Delete");
    const keep = h("button", { type: "button", class: "plain", onclick: () => this.keep() }, "Cancel");
    this.asking = h("div", { class: "sure", role: "group", "aria-label": `Delete “${titleOf(row)}”` }, h("p", {}, "Delete this run and all its files? ", frees), sure, keep);
    this.asking.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      this.keep();
    });
    this.back = element.querySelector(".bin");
    element.append(this.asking);
    sure.focus();
    try {
      frees.textContent = `This frees ${bytes((await ask(api(`space?run=${row.run}`))).frees)} and cannot be undone.`;
    } catch (error) {
      frees.textContent = error.message;
    }
  }

  keep() {
    this.asking?.remove();
    this.asking = null;
    this.back?.focus();
  }

  async remove(row) {
    const shown = row.run === session.run;
    if (shown) attach(null); // stop following a run that is being deleted
    try {
      const { freed } = await ask(api(`runs/${row.run}`), { method: "DELETE" });
      this.tell(`Deleted. ${bytes(freed)} freed.`, 6000);
      emit("deleted", [row.run]);
    } catch (error) {
      this.tell(error.message, 6000);
      if (shown) attach(row.run);
    }
    this.asking = null;
    this.heading.focus();
    this.load();
  }
}

const part = (title, ...children) => h("section", { "aria-label": title }, h("h3", {}, title), ...children.filter(Boolean));

const facts = (...pairs) => h("dl", { class: "figures" }, ...pairs.filter(Boolean).map(([name, value, note]) =>
  h("div", {}, h("dt", {}, name), h("dd", { class: "num" }, value, note ? h("small", {}, note) : null))));

/** A bar of the runs' disk usage by category. */
function disk({ runs, drafts, kept }) {
  const parts = [["files", "Files", runs.workspaces], ["versions", "File versions", runs.versions], ["records", "Logs", runs.records]];
  if (drafts.count) parts.push(["drafts", plural(drafts.count, "draft"), drafts.size]);
  const used = runs.size + drafts.size;
  const whole = Math.max(used + (runs.limit ? runs.left : 0), 1);
  const share = (size) => (size ? Math.max(0.4, (100 * size) / whole) : 0);
  const bar = h("div", { class: "bar", role: "img", "aria-label": `${bytes(used)}${runs.limit ? ` of ${bytes(runs.limit)}` : ""}` },
    ...parts.map(([name, , size]) => h("i", { class: name, style: `width: ${share(size)}%` })));
  const legend = parts.map(([name, label, size]) => h("li", {}, h("i", { class: name }), label, " ", h("b", { class: "num" }, bytes(size))));
  const left = runs.limit ? h("li", { class: "left" }, h("i", {}), "Free ", h("b", { class: "num" }, bytes(runs.left))) : null;
  const unknown = runs.unknown ? h("p", { class: "note" }, `${plural(runs.unknown, "run")} not counted yet.`) : null;
  const waiting = drafts.count ? h("p", { class: "note" }, "Drafts are runs without a task. They are listed in History and deleted after a week.") : null;
  return part("Disk", bar, h("ul", { class: "legend" }, ...legend, left), h("p", { class: "note" }, kept), waiting, unknown);
}

function sandboxes({ sandboxes: now, machine: all }) {
  if (now.problem) return part("Sandboxes", h("p", { class: "note" }, now.problem));
  return part("Sandboxes", facts(
    ["Running", String(now.running), all?.warm ? `${all.warm} kept ready for the next run` : ""],
    ["Stopped", String(now.stopped), now.stopped ? "restarted by the next message" : ""],
    ["Memory", bytes(now.memory)],
    ["Installed software", bytes(now.installed)]));
}

function limits({ limits: may, machine: all }) {
  const own = all ? "" : `; ${may.runs_in_all} for all users`;
  return part("Limits", facts(
    ["Concurrent runs", `${may.working} of ${may.runs}`, `further runs are queued${own}`],
    ["Queued", String(may.waiting)],
    ["Each sandbox has", bytes(may.memory), `of memory, ${plural(may.cpus, "CPU")}, ${bytes(may.disk)} of disk space`],
    ["A round ends after", plural(may.steps, "step"), may.seconds ? `or ${time(may.seconds)}` : ""],
    ["Idle sandboxes stop", `after ${time(may.idle)}`, `installed software is kept for ${time(may.resting_days * DAY)}`]));
}

function machine({ machine: all }) {
  if (!all) return null;
  const { disk: free, versions, images } = all;
  return part("Server", facts(
    ["Free disk space", bytes(free.free), `of ${bytes(free.size)}`],
    ["File versions", bytes(versions.size), `of ${bytes(versions.limit)} allowed`],
    ["Container images", bytes(images.reduce((sum, { size }) => sum + size, 0)), images.map(({ tag, size }) => `${tag.split(":")[0].replace("llm-in-sandbox-studio", "sandbox").replace("sandbox-proxy", "proxy")} ${bytes(size)}`).join(", ")]));
}

function people({ people: all }) {
  if (!all || all.length < 2) return null;
  const rows = all.map(({ name, runs, size }) => h("tr", {}, h("td", { dir: "auto" }, name), h("td", { class: "num" }, plural(runs, "run")), h("td", { class: "num" }, bytes(size))));
  return part("Users", h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "User"), h("th", {}, "Runs"), h("th", {}, "Disk space"))), h("tbody", {}, ...rows)));
}

const time = (s) => (s < 120 ? plural(Math.round(s), "second") : s < 2 * HOUR ? plural(Math.round(s / 60), "minute") : s < 2 * DAY ? plural(Math.round(s / HOUR), "hour") : plural(Math.round(s / DAY), "day"));

let usage = null;

on("usage", () => (usage ??= new Usage()).open());
