// Archive preview: a collapsible tree that renders only visible rows.

import { h, icon } from "../../core/dom.js";
import { bytes, kindOf, plural } from "../../core/format.js";
import { Within } from "./archive_member.js";

const ROW = 27;
const AHEAD = 10;
const SIGNS = { folder: "folder", link: "link" };
const HIDDEN = /[\u0000-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
let trees = 0;

export function open(file, first) {
  return new Archive(file, first);
}

class Archive {
  constructor(file, first) {
    Object.assign(this, { file, id: `archive${++trees}`, at: 0 });
    this.says = h("p", { class: "notes", role: "note" });
    this.sheet = h("div", { class: "sheet", role: "presentation" });
    this.list = h("div", { class: "entries", role: "tree", tabindex: "0", "aria-label": "Archive contents" }, this.sheet);
    this.listing = h("div", { class: "listing" }, this.says, this.list);
    this.element = h("div", { class: "archive" }, this.listing);
    this.list.addEventListener("scroll", () => this.draw(), { passive: true });
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("click", (event) => this.click(event));
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.list);
    this.update(first);
  }

  close() {
    this.closed = true;
    this.watch.disconnect();
    this.within?.close();
  }

  update(first) {
    this.first = first;
    this.root = { children: new Map(), leaves: [], open: true, level: 0, name: "" };
    this.take(first);
    this.says.textContent = first.notes.join(" ");
    this.says.hidden = !first.notes.length;
    this.unfold();
    this.rest(first);
    if (!this.within) this.tell();
    else this.look(this.looked);
  }

  tell() {
    const { form, files, unpacked, more, total } = this.first;
    if (!total) return this.file.tell(`${form}, empty`);
    const size = files === 1 && !unpacked ? "" : `, unpacks to ${bytes(Math.max(unpacked, 0))}`;
    this.file.tell(`${form}, ${more ? "more than " : ""}${plural(files, "file")}${form === "gzip" || form === "bzip2" || form === "xz" ? "" : size}`);
  }

  /** Load the entries missing from the first response. */
  async rest(first) {
    for (let have = first.entries.length; have < first.total; ) {
      const next = await this.file.ask({ start: have }).catch(() => null);
      if (!next?.entries.length || this.closed || first !== this.first) return;
      this.take(next);
      have += next.entries.length;
      this.flatten();
    }
  }

  take({ start, entries }) {
    entries.forEach(([name, size, packed, changed, kind, target], offset) => {
      const parts = name.split("/").filter((part, at) => part || at === 0);
      const last = kind === "folder" ? null : parts.pop();
      let node = this.root;
      for (const part of parts) {
        let next = node.children.get(part);
        if (!next) node.children.set(part, (next = { children: new Map(), leaves: [], open: false, level: node.level + 1, name: part || "/" }));
        node = next;
      }
      if (last !== null) node.leaves.push({ at: start + offset, name: last, path: name, size, packed, changed, kind, target, level: node.level + 1 });
    });
  }

  /** Expand top-level folders until a screen is full. */
  unfold() {
    let room = 200;
    const levels = [this.root];
    while (levels.length && room > 0) {
      const node = levels.shift();
      node.open = true;
      room -= node.children.size + node.leaves.length;
      if (room > 0 || node === this.root) levels.push(...node.children.values());
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
    this.sheet.style.height = `${this.rows.length * ROW}px`;
    this.listing.classList.toggle("nothing", !this.rows.length);
    this.draw();
  }

  draw() {
    const { scrollTop, clientHeight } = this.list;
    const top = Math.max(0, Math.floor(scrollTop / ROW) - AHEAD);
    const rows = this.rows.slice(top, Math.ceil((scrollTop + clientHeight) / ROW) + AHEAD);
    this.sheet.replaceChildren(...rows.map((row, offset) => this.draws(row, top + offset)));
    const here = this.sheet.querySelector(".here");
    if (here) this.list.setAttribute("aria-activedescendant", here.id);
    else this.list.removeAttribute("aria-activedescendant");
  }

  draws(row, at) {
    const folder = Boolean(row.children);
    const out = row.name === ".." || (row.level === 1 && (row.name === "/" || /^[a-z]:/i.test(row.name)));
    return h("div", {
      class: `member${at === this.at ? " here" : ""}${out ? " out" : ""}`, role: "treeitem", id: `${this.id}-${at}`, "data-at": at, "aria-level": row.level,
      "aria-expanded": folder ? String(row.open) : null, "aria-selected": String(at === this.at), "aria-label": clean(row.name),
      style: `top: ${at * ROW}px; padding-left: ${10 + 16 * Math.min(row.level - 1, 20)}px`, title: row.path && clean(row.path),
    }, h("i", { class: `fold${folder && row.open ? " open" : ""}`, "aria-hidden": "true" }, folder ? "▸" : ""), icon(folder ? "folder" : SIGNS[row.kind] ?? kindOf(row.name)),
    h("b", {}, clean(row.name)), row.target ? h("em", {}, `→ ${clean(row.target)}`) : row.kind && !folder ? h("em", {}, row.kind) : "",
    h("small", { class: "num" }, folder ? plural(row.children.size + row.leaves.length, "item") : row.size < 0 ? "" : bytes(row.size)),
    h("small", { class: "num packed", title: "Compressed size" }, folder || row.packed === null ? "" : bytes(row.packed)),
    h("small", { class: "num when" }, row.changed ?? ""));
  }

  click(event) {
    const at = event.target.closest(".member")?.dataset.at;
    if (at === undefined) return;
    this.at = Number(at);
    this.act();
  }

  /** Toggle a folder or open a file. */
  act(row = this.rows[this.at]) {
    if (!row) return;
    if (!row.children) return this.look(row);
    row.open = !row.open;
    this.flatten();
  }

  look(row) {
    this.within?.close();
    this.looked = row;
    const within = new Within(this.file, { at: row.at, name: row.name || "file", size: row.size, path: clean(row.path), onBack: () => this.back() });
    this.listing.hidden = true;
    this.within?.element.remove();
    this.within = within;
    this.element.append(within.element);
    within.element.querySelector("button").focus();
  }

  back() {
    this.within.close();
    this.within.element.remove();
    this.within = null;
    this.listing.hidden = false;
    this.draw();
    this.list.focus();
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const row = this.rows[this.at];
    const page = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1);
    const to = { ArrowUp: this.at - 1, ArrowDown: this.at + 1, PageUp: this.at - page, PageDown: this.at + page, Home: 0, End: this.rows.length - 1 }[event.key];
    if (to !== undefined) this.go(to);
    else if (event.key === "Enter" || event.key === " ") this.act();
    else if (event.key === "ArrowRight" && row?.children) row.open ? this.go(this.at + 1) : this.act();
    else if (event.key === "ArrowLeft" && row?.children && row.open) this.act();
    else if (event.key === "ArrowLeft" && row) this.go(this.rows.findLastIndex((other, at) => at < this.at && other.level < row.level));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  go(at) {
    this.at = Math.max(0, Math.min(at, this.rows.length - 1));
    const { list } = this;
    if (this.at * ROW < list.scrollTop) list.scrollTop = this.at * ROW;
    else if ((this.at + 1) * ROW > list.scrollTop + list.clientHeight) list.scrollTop = (this.at + 1) * ROW - list.clientHeight;
    this.draw();
  }
}

/** A name with invisible and direction-changing characters made visible. */
const clean = (name) => name.replace(HIDDEN, (sign) => `⟨U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
