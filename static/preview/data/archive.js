// Archive preview: a collapsible tree that renders only visible rows.

import { h, icon } from "../../core/dom.js";
import { formatBytes, fileKind, plural } from "../../core/format.js";
import { showNotes } from "../parts.js";
import { ArchiveMemberView } from "./archive_member.js";

const ROW_HEIGHT = 27;
const OVERSCAN = 10;
const ICONS = { folder: "folder", link: "link" };
const INVISIBLE = /[\u0000-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
let trees = 0;

export const open = (file, first) => new Archive(file, first);

class Archive {
  constructor(file, first) {
    this.file = file;
    this.id = `archive${++trees}`;
    this.at = 0;
    this.notes = h("p", { class: "notes", role: "note" });
    this.content = h("div", { class: "content", role: "presentation" });
    this.list = h("div", { class: "entries", role: "tree", tabindex: "0", "aria-label": "Archive contents" }, this.content);
    this.listing = h("div", { class: "listing" }, this.notes, this.list);
    this.element = h("div", { class: "archive" }, this.listing);
    this.list.addEventListener("scroll", () => this.draw(), { passive: true });
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.list.addEventListener("click", (event) => this.onClick(event));
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.list);
    this.update(first);
  }

  close() {
    this.closed = true;
    this.watch.disconnect();
    this.member?.close();
  }

  update(first) {
    this.first = first;
    this.root = { children: new Map(), leaves: [], open: true, level: 0, name: "" };
    this.addEntries(first);
    showNotes(this.notes, first.notes);
    this.expandInitial();
    this.loadRest(first);
    if (!this.member) this.showSummary();
    else this.openMember(this.openRow);
  }

  showSummary() {
    const { format, files, unpacked_size: unpackedSize, truncated, total } = this.first;
    const hasSize = (files !== 1 || unpackedSize > 0) && !["gzip", "bzip2", "xz"].includes(format);
    const size = hasSize ? `, unpacks to ${formatBytes(Math.max(unpackedSize, 0))}` : "";
    this.file.setDetails(total ? `${format}, ${truncated ? "more than " : ""}${plural(files, "file")}${size}` : `${format}, empty`);
  }

  /** Load the entries missing from the first response. */
  async loadRest(first) {
    for (let loaded = first.entries.length; loaded < first.total; ) {
      const next = await this.file.ask({ start: loaded }).catch(() => null);
      if (!next?.entries.length || this.closed || first !== this.first) return;
      this.addEntries(next);
      loaded += next.entries.length;
      this.flatten();
    }
  }

  addEntries({ start, entries }) {
    entries.forEach(([name, size, compressedSize, modified, kind, target], offset) => {
      const parts = name.split("/").filter((part, at) => part || at === 0);
      const last = kind === "folder" ? null : parts.pop();
      let node = this.root;
      for (const part of parts) {
        let next = node.children.get(part);
        if (!next) node.children.set(part, (next = { children: new Map(), leaves: [], open: false, level: node.level + 1, name: part || "/" }));
        node = next;
      }
      if (last !== null) node.leaves.push({ at: start + offset, name: last, path: name, size, compressedSize, modified, kind, target, level: node.level + 1 });
    });
  }

  /** Expand top-level folders until a screen is full. */
  expandInitial() {
    let remaining = 200;
    const levels = [this.root];
    while (levels.length && remaining > 0) {
      const node = levels.shift();
      node.open = true;
      remaining -= node.children.size + node.leaves.length;
      if (remaining > 0 || node === this.root) levels.push(...node.children.values());
    }
    this.flatten();
  }

  flatten() {
    this.rows = [];
    const walk = (node) => {
      for (const child of node.children.values()) {
        this.rows.push(child);
        if (child.open) walk(child);
      }
      this.rows.push(...node.leaves);
    };
    walk(this.root);
    this.at = Math.min(this.at, Math.max(0, this.rows.length - 1));
    this.content.style.height = `${this.rows.length * ROW_HEIGHT}px`;
    this.listing.classList.toggle("empty", !this.rows.length);
    this.draw();
  }

  draw() {
    const { scrollTop, clientHeight } = this.list;
    const top = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - OVERSCAN);
    const rows = this.rows.slice(top, Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT) + OVERSCAN);
    this.content.replaceChildren(...rows.map((row, offset) => this.createRow(row, top + offset)));
    this.list.setAttribute("aria-activedescendant", this.content.querySelector(".active")?.id ?? "");
  }

  createRow(row, at) {
    const folder = Boolean(row.children);
    const outside = row.name === ".." || (row.level === 1 && (row.name === "/" || /^[a-z]:/i.test(row.name)));
    return h(
      "div",
      {
        class: `member${at === this.at ? " active" : ""}${outside ? " outside" : ""}`,
        role: "treeitem",
        id: `${this.id}-${at}`,
        "data-at": at,
        "aria-level": row.level,
        "aria-expanded": folder ? String(row.open) : null,
        "aria-selected": String(at === this.at),
        "aria-label": visibleName(row.name),
        style: `top: ${at * ROW_HEIGHT}px; padding-left: ${10 + 16 * Math.min(row.level - 1, 20)}px`,
        title: row.path && visibleName(row.path),
      },
      h("i", { class: `toggle${folder && row.open ? " open" : ""}`, "aria-hidden": "true" }, folder ? "▸" : ""),
      icon(folder ? "folder" : (ICONS[row.kind] ?? fileKind(row.name))),
      h("b", {}, visibleName(row.name)),
      row.target ? h("em", {}, `→ ${visibleName(row.target)}`) : row.kind && !folder ? h("em", {}, row.kind) : "",
      h("small", { class: "num" }, folder ? plural(row.children.size + row.leaves.length, "item") : row.size < 0 ? "" : formatBytes(row.size)),
      h("small", { class: "num packed", title: "Compressed size" }, folder || row.compressedSize === null ? "" : formatBytes(row.compressedSize)),
      h("small", { class: "num modified" }, row.modified ?? ""),
    );
  }

  onClick(event) {
    const row = event.target.closest(".member");
    if (!row) return;
    this.at = Number(row.dataset.at);
    this.activate();
  }

  /** Toggle a folder or open a file. */
  activate(row = this.rows[this.at]) {
    if (!row) return;
    if (!row.children) return this.openMember(row);
    row.open = !row.open;
    this.flatten();
  }

  openMember(row) {
    this.member?.close();
    this.member?.element.remove();
    this.openRow = row;
    const { at, size } = row;
    this.member = new ArchiveMemberView(this.file, { at, size, name: row.name || "file", path: visibleName(row.path), onBack: () => this.closeMember() });
    this.listing.hidden = true;
    this.element.append(this.member.element);
    this.member.element.querySelector("button").focus();
  }

  closeMember() {
    this.member.close();
    this.member.element.remove();
    this.member = null;
    this.listing.hidden = false;
    this.draw();
    this.list.focus();
  }

  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const row = this.rows[this.at];
    const page = Math.max(1, Math.floor(this.list.clientHeight / ROW_HEIGHT) - 1);
    const by = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -this.at, End: this.rows.length }[event.key];
    if (by !== undefined) this.moveTo(this.at + by);
    else if (event.key === "Enter" || event.key === " ") this.activate();
    else if (event.key === "ArrowRight" && row?.children) row.open ? this.moveTo(this.at + 1) : this.activate();
    else if (event.key === "ArrowLeft" && row?.children && row.open) this.activate();
    else if (event.key === "ArrowLeft" && row) this.moveTo(this.rows.findLastIndex((other, at) => at < this.at && other.level < row.level));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  moveTo(at) {
    this.at = Math.max(0, Math.min(at, this.rows.length - 1));
    const { list } = this;
    if (this.at * ROW_HEIGHT < list.scrollTop) list.scrollTop = this.at * ROW_HEIGHT;
    else if ((this.at + 1) * ROW_HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = (this.at + 1) * ROW_HEIGHT - list.clientHeight;
    this.draw();
  }
}

/** A name with invisible and direction-changing characters made visible. */
const visibleName = (name) => name.replace(INVISIBLE, (sign) => `⟨U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
