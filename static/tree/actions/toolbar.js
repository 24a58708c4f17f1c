// Toolbar of the tree: current folder, filter, sort order, add.

import { h, icon } from "../../core/dom.js";
import { number, plural, shownPath } from "../../core/format.js";
import { session } from "../../core/session.js";
import { openMenu } from "./menu.js";
import { parentOf } from "../model.js";

const PAUSE = 140; // ms after the last keystroke

export class Bar {
  constructor(root, tree, deeds) {
    Object.assign(this, { tree, deeds });
    const find = (name) => root.querySelector(name);
    Object.assign(this, {
      crumbs: find(".crumbs"), count: find(".count"), filter: find(".filter"), sort: find(".sort"), none: find(".none"),
    });
    find(".make").addEventListener("click", ({ currentTarget }) => openMenu(deeds.forNew(this.folder()), currentTarget, currentTarget));
    find(".more").addEventListener("click", ({ currentTarget }) => openMenu(deeds.forAll(), currentTarget, currentTarget));
    find(".finder label").prepend(icon("find"));
    this.sort.value = tree.options.sort;
    this.sort.addEventListener("change", () => tree.setOption("sort", this.sort.value));
    this.filter.addEventListener("input", () => this.typed());
    this.filter.addEventListener("keydown", (event) => this.key(event));
    this.crumbs.addEventListener("click", (event) => this.go(event.target.closest("button")));
  }

  /** The target folder of new items: the focused folder, if any. */
  folder() {
    return this.tree.focused ? this.deeds.folder() : this.tree.forest.root;
  }

  typed() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.tree.filter(this.filter.value.trim()), PAUSE);
  }

  key(event) {
    if (event.key === "Escape" && this.filter.value) {
      this.filter.value = "";
      this.tree.filter("");
    } else if (event.key === "ArrowDown" || event.key === "Enter") {
      clearTimeout(this.waiting);
      Promise.resolve(this.tree.filter(this.filter.value.trim())).then(() => this.tree.goTo(0));
    } else return;
    event.preventDefault();
    event.stopPropagation(); // Escape would stop the run
  }

  go(button) {
    if (button) this.tree.show(button.dataset.folder);
  }

  show() {
    const { forest, options } = this.tree;
    if (document.activeElement !== this.filter && this.filter.value.trim() !== options.words) this.filter.value = options.words;
    if (this.root !== forest.root) this.trail(forest.root);
    this.sort.value = options.sort;
    const text = this.words();
    if (this.count.textContent !== text) this.count.textContent = text;
    this.tell();
  }

  /** Breadcrumbs of the current folder; the middle of a long path is omitted. */
  trail(path) {
    this.root = path;
    const names = path ? path.split("/") : [];
    const folders = names.map((_, index) => names.slice(0, index + 1).join("/"));
    const crumb = (folder, text) => h("button", { type: "button", class: "crumb", "data-folder": folder, "aria-current": folder === path ? "true" : null }, h("bdi", {}, text));
    const shown = folders.map((folder, index) => crumb(folder, shownPath(names[index])));
    if (shown.length > 3) shown.splice(0, shown.length - 2, crumb(parentOf(folders.at(-2)), "…"));
    const parts = [crumb("", "workspace"), ...shown];
    this.crumbs.replaceChildren(...parts.flatMap((part, index) => (index ? [h("i", { "aria-hidden": "true" }, "/"), part] : [part])));
  }

  words() {
    const { forest, selection } = this.tree;
    if (selection.size > 1) return `${number(selection.size)} selected`;
    if (!forest.base.known) return "";
    if (forest.found) return `${number(forest.found.total)}${forest.found.cut ? "+" : ""} found`;
    return plural(forest.base.total, "item");
  }

  /** Explain why the tree is empty. */
  tell() {
    const { forest, options, problem } = this.tree;
    const empty = !session.run || (forest.base.known && !forest.base.total);
    const hidden = empty && forest.base.hidden;
    let text = "";
    if (problem) text = problem;
    else if (forest.found && empty) text = `No file names match “${options.words}”.`;
    else if (empty) text = forest.root ? "This folder is empty." : "Your files and the model's files appear here. Drop files or folders to upload them.";
    if (hidden) text += ` ${plural(hidden, "hidden file is", "hidden files are")} not shown.`;
    this.none.hidden = !text;
    if (this.none.textContent !== text) this.none.textContent = text;
  }
}
