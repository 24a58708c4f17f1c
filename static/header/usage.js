// Storage, sandboxes, limits and the runs that use the most.

import { h, iconButton, loadStyles, plainClick } from "../core/dom.js";
import { runUrl, runTitle } from "../core/run/run_summary.js";
import { formatAge, formatBytes, formatNumber, plural } from "../core/format.js";
import { apiUrl, showRun, emit, on, currentRun } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { openDialog } from "../core/widgets/dialog.js";

const REFRESH_MS = 5000; // ms, while the dialog is open
const HOUR = 3600;
const DAY = 24 * HOUR;

class UsageDialog {
  constructor() {
    this.statusUntil = 0;
    this.confirmation = null;
    this.status = h("p", { class: "status-line", role: "status" });
    this.body = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-labelledby": "usage-title" });
    this.dialog = openDialog({ name: "history usage", title: "Storage and limits", dismissible: true }, this.status, this.body);
    this.dialog.addEventListener("close", () => clearTimeout(this.timer));
    this.heading = this.dialog.querySelector("h2");
    this.setStatus("Loading…");
    this.heading.focus();
    this.load();
  }

  async load() {
    clearTimeout(this.timer);
    try {
      this.show(await fetchJson(apiUrl("usage")));
    } catch (error) {
      this.setStatus(error.message);
    }
    if (this.dialog.open) this.timer = setTimeout(() => this.load(), REFRESH_MS);
  }

  setStatus(text, duration = 0) {
    if (this.statusUntil > Date.now()) return;
    this.status.textContent = text;
    this.statusUntil = duration && Date.now() + duration;
  }

  /** Refresh everything except an open confirmation. */
  show(usage) {
    const { count, pinned, size, limit } = usage.runs;
    this.setStatus(`${plural(count, "run")}${pinned ? `, ${pinned} pinned` : ""} · ${formatBytes(size)}${limit ? ` of ${formatBytes(limit)}` : ""} on disk`);
    if (this.confirmation) return;
    const focused = this.body.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement).dataset.key : null;
    const top = this.body.scrollTop;
    const sections = [diskSection(usage), this.largest(usage), sandboxSection(usage), limitSection(usage), serverSection(usage), userSection(usage)];
    this.body.replaceChildren(...sections.filter(Boolean));
    this.body.scrollTop = top;
    if (focused) [...this.body.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused)?.focus();
  }

  largest({ largest, runs }) {
    if (!largest.length) return null;
    const maximum = largest[0].size;
    const rows = largest.map((row) => this.row(row, maximum));
    const note =
      runs.count > largest.length
        ? h(
            "p",
            { class: "note" },
            `Showing the ${largest.length} largest of ${plural(runs.count, "run")}. `,
            h("button", { class: "inline", "data-key": "all", onclick: () => (this.dialog.close(), emit("history")) }, "All runs"),
          )
        : null;
    return section("Largest runs", h("ul", { class: "largest" }, ...rows), note);
  }

  row(row, maximum) {
    const title = runTitle(row);
    const link = h(
      "a",
      { class: "name", href: runUrl(row.run), dir: "auto", "data-key": `open ${row.run}`, onclick: plainClick(() => this.openRun(row)) },
      title,
    );
    const tool = (name, iconName, label, attributes, onclick) =>
      iconButton(iconName, label, onclick, { class: `quiet ${name}`, "aria-label": `${label} “${title}”`, "data-key": `${name} ${row.run}`, ...attributes });
    const element = h(
      "li",
      { class: "large-run" },
      link,
      h(
        "span",
        { class: "facts num" },
        row.running ? "running" : formatAge(Date.now() / 1000 - row.at),
        row.versions ? ` · ${formatBytes(row.versions)} file versions` : "",
      ),
      h("span", { class: "share", "aria-hidden": "true" }, h("i", { style: `width: ${Math.max(1, (100 * row.size) / maximum)}%` })),
      h("span", { class: "num size" }, formatBytes(row.size)),
      h(
        "span",
        { class: "row-actions" },
        tool("pin", "pin", "Pin", { "aria-pressed": String(row.pinned) }, () => this.pin(row)),
        tool("delete", "trash", "Delete", { disabled: row.running || row.pinned }, () => this.confirm(row, element)),
      ),
    );
    if (row.running || row.pinned) element.querySelector(".delete").title = row.running ? "Running: stop it first" : "Pinned: unpin it first";
    return element;
  }

  openRun(row) {
    this.dialog.close();
    showRun(row.run);
  }

  async pin(row) {
    try {
      await fetchJson(apiUrl(`runs/${row.run}`), { method: "PATCH", body: JSON.stringify({ pinned: !row.pinned }) });
    } catch (error) {
      this.setStatus(error.message, 6000);
    }
    this.load();
  }

  /** Confirm a deletion in the run's row and show the space it frees. */
  async confirm(row, element) {
    if (this.confirmation) this.cancel();
    const frees = h("span", { class: "dim" }, "…");
    this.spaceRequest = new AbortController();
    const { signal } = this.spaceRequest;
    const confirm = h("button", { class: "plain danger", onclick: () => this.remove(row) }, "Delete");
    const cancel = h("button", { class: "plain", onclick: () => this.cancel() }, "Cancel");
    this.confirmation = h(
      "div",
      { class: "confirmation", role: "group", "aria-label": `Delete “${runTitle(row)}”` },
      h("p", {}, "Delete this run and all its files? ", frees),
      confirm,
      cancel,
    );
    this.confirmation.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      this.cancel();
    });
    this.returnFocus = element.querySelector(".delete");
    element.append(this.confirmation);
    confirm.focus();
    try {
      const { reclaimable } = await fetchJson(apiUrl(`space?run=${row.run}`), { signal });
      frees.textContent = `This frees ${formatBytes(reclaimable)} and cannot be undone.`;
    } catch (error) {
      if (!signal.aborted) frees.textContent = error.message;
    }
  }

  cancel() {
    this.spaceRequest?.abort();
    this.confirmation?.remove();
    this.confirmation = null;
    this.returnFocus?.focus();
  }

  async remove(row) {
    this.spaceRequest.abort(); // a run that is being deleted has no files to measure
    const wasOpen = row.run === currentRun.id;
    if (wasOpen) showRun(null); // stop following a run that is being deleted
    try {
      const { freed } = await fetchJson(apiUrl(`runs/${row.run}`), { method: "DELETE" });
      this.setStatus(`Deleted. ${formatBytes(freed)} freed.`, 6000);
      emit("deleted", [row.run]);
    } catch (error) {
      this.setStatus(error.message, 6000);
      if (wasOpen) showRun(row.run);
    }
    this.confirmation = null;
    this.heading.focus();
    this.load();
  }
}

const section = (title, ...children) => h("section", { "aria-label": title }, h("h3", {}, title), ...children.filter(Boolean));

const figures = (...pairs) =>
  h(
    "dl",
    { class: "statistics" },
    ...pairs
      .filter(Boolean)
      .map(([name, value, note]) => h("div", {}, h("dt", {}, name), h("dd", { class: "num" }, value, note ? h("small", {}, note) : null))),
  );

/** A bar of the runs' disk usage by category. */
function diskSection({ runs, drafts, retention }) {
  const parts = [
    ["files", "Files", runs.workspaces],
    ["versions", "File versions", runs.versions],
    ["records", "Logs", runs.records],
  ];
  if (drafts.count) parts.push(["drafts", plural(drafts.count, "draft"), drafts.size]);
  const used = runs.size + drafts.size;
  const total = Math.max(used + (runs.limit ? runs.remaining : 0), 1);
  const share = (size) => (size ? Math.max(0.4, (100 * size) / total) : 0);
  const bar = h(
    "div",
    { class: "bar", role: "img", "aria-label": `${formatBytes(used)}${runs.limit ? ` of ${formatBytes(runs.limit)}` : ""}` },
    ...parts.map(([name, , size]) => h("i", { class: name, style: `width: ${share(size)}%` })),
  );
  const legend = parts.map(([name, label, size]) => h("li", {}, h("i", { class: name }), label, " ", h("b", { class: "num" }, formatBytes(size))));
  const free = runs.limit ? h("li", { class: "left" }, h("i", {}), "Free ", h("b", { class: "num" }, formatBytes(runs.remaining))) : null;
  const unknown = runs.unknown ? h("p", { class: "note" }, `${plural(runs.unknown, "run")} not counted yet.`) : null;
  const draftNote = drafts.count ? h("p", { class: "note" }, "Drafts are runs without a task. They are listed in History and deleted after a week.") : null;
  return section("Disk", bar, h("ul", { class: "legend" }, ...legend, free), h("p", { class: "note" }, retention), draftNote, unknown);
}

function sandboxSection({ sandboxes: current, machine: server }) {
  if (current.error) return section("Sandboxes", h("p", { class: "note" }, current.error));
  return section(
    "Sandboxes",
    figures(
      ["Running", String(current.running), server?.warm ? `${server.warm} kept ready for the next run` : ""],
      ["Stopped", String(current.stopped), current.stopped ? "restarted by the next message" : ""],
      ["Memory", formatBytes(current.memory)],
      ["Installed software", formatBytes(current.installed)],
    ),
  );
}

function limitSection({ limits: quota, machine: server }) {
  const total = server ? "" : `; ${quota.max_runs_total} for all users`;
  return section(
    "Limits",
    figures(
      ["Concurrent runs", `${formatNumber(quota.active)} of ${formatNumber(quota.max_runs)}`, `further runs are queued${total}`],
      ["Queued", String(quota.queued)],
      ["Each sandbox has", formatBytes(quota.memory), `of memory, ${plural(quota.cpus, "CPU")}, ${formatBytes(quota.disk)} of disk space`],
      ["A round ends after", plural(quota.steps, "step"), quota.round_seconds ? `or ${formatDuration(quota.round_seconds)}` : ""],
      ["Idle sandboxes stop", `after ${formatDuration(quota.idle_seconds)}`, `installed software is kept for ${formatDuration(quota.stopped_days * DAY)}`],
    ),
  );
}

function serverSection({ machine: server }) {
  if (!server) return null;
  const { disk, versions, images } = server;
  return section(
    "Server",
    figures(
      ["Free disk space", formatBytes(disk.free), `of ${formatBytes(disk.size)}`],
      ["File versions", formatBytes(versions.size), `of ${formatBytes(versions.limit)} allowed`],
      [
        "Container images",
        formatBytes(images.reduce((sum, { size }) => sum + size, 0)),
        images
          .map(({ tag, size }) => `${tag.split(":")[0].replace("llm-in-sandbox-studio", "sandbox").replace("sandbox-proxy", "proxy")} ${formatBytes(size)}`)
          .join(", "),
      ],
    ),
  );
}

function userSection({ users }) {
  if (!users || users.length < 2) return null;
  const rows = users.map(({ name, runs, size }) =>
    h("tr", {}, h("td", { dir: "auto" }, name), h("td", { class: "num" }, plural(runs, "run")), h("td", { class: "num" }, formatBytes(size))),
  );
  return section(
    "Users",
    h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "User"), h("th", {}, "Runs"), h("th", {}, "Disk space"))), h("tbody", {}, ...rows)),
  );
}

const formatDuration = (s) =>
  s < 120
    ? plural(Math.round(s), "second")
    : s < 2 * HOUR
      ? plural(Math.round(s / 60), "minute")
      : s < 2 * DAY
        ? plural(Math.round(s / HOUR), "hour")
        : plural(Math.round(s / DAY), "day");

on("usage", async () => {
  await loadStyles("header/header.css");
  new UsageDialog();
});
