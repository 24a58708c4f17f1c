// JSON, JSON Lines and YAML as a tree; a branch loads when it is expanded.

import { copy, h, icon } from "../../core/dom.js";
import { number, plural } from "../../core/format.js";
import { seen } from "../text/rows.js";
import { sides } from "../source_toggle.js";
import { source } from "../text/text.js";

const PAGE = 200; // children per response
const FEW = 60; // children expanded at first
const BRIEF = 72; // characters of the summary of a collapsed branch
const KEPT = 60; // branches expanded again after the file changed

export async function open(file, first) {
  file.tools(...sides(file, "tree", ""));
  const element = h("div", { class: "tree-view" });
  let shown = null;
  const update = async (next) => {
    if (next.node && shown instanceof Tree) return shown.update(next);
    shown?.close?.();
    shown = next.node ? new Tree(file, next) : await instead(file, next);
    element.replaceChildren(shown.element);
    return undefined;
  };
  await update(first);
  return { element, update, close: () => shown?.close?.() };
}

/** Shown if there is no tree: the reason and the source. */
async function instead(file, { empty, large, wrong, form }) {
  if (empty) return { element: h("p", { class: "empty" }, "This file is empty.") };
  const name = form === "yaml" ? "YAML" : "JSON";
  const words = large ?? `Invalid ${name} (from line ${number(wrong.line)}, column ${number(wrong.column)}): ${wrong.message}.`;
  const text = await source(file, { line: wrong?.line });
  const element = h("div", { class: "instead" }, h("p", { class: "told", role: "alert" }, words), h("div", { class: "kind-text" }, text.element));
  return { element, close: () => text.close() };
}

class Tree {
  constructor(file, first) {
    this.file = file;
    this.root = h("div", { class: "branches", role: "tree", "aria-label": `Contents of ${file.name}` });
    this.path = h("code", { class: "path" });
    const tool = (name, act) => h("button", { type: "button", class: "quiet", onclick: act }, name);
    this.bar = h("div", { class: "about" }, this.path,
      tool("Copy path", (event) => copy(this.path.textContent, event.target)),
      tool("Copy value", (event) => copy(this.value(), event.target)),
      tool("Collapse all", () => this.foldAll()));
    this.element = h("div", { class: "tree-box" }, this.root, this.bar);
    this.root.addEventListener("click", (event) => this.click(event));
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.root.addEventListener("focusin", (event) => this.at(event.target));
    this.show(first);
  }

  show({ node, next, form }) {
    this.form = form;
    this.root.replaceChildren();
    this.lines = 0;
    const top = { node, address: "", level: 0, place: this.root, loaded: 0 };
    if (form === "lines" || (node.count !== undefined && node.type !== "documents" && node.count)) this.fill(top, node.children ?? [], next);
    else if (node.children) this.fill(top, node.children);
    else this.fill(top, [node]);
    const inside = [...this.root.children].filter((item) => item.branch?.node.children);
    let room = FEW - this.root.children.length;
    for (const item of inside) if ((room -= item.branch.node.children.length) >= 0) this.unfold(item);
    this.root.querySelector("[role=treeitem]")?.setAttribute("tabindex", "0");
    this.file.tell(form === "lines" ? `${number(this.lines)}${next ? "+" : ""} lines` : node.count === undefined ? "" : summary(node));
    this.path.textContent = "$";
  }

  /** Add children to a branch, with a row to load more if there are any. */
  fill(branch, children, next) {
    branch.more?.remove();
    for (const child of children) {
      const key = this.form === "lines" && branch.level === 0 ? ++this.lines : child.key;
      if (child.type !== "blank") branch.place.append(this.item(branch, child, key));
    }
    branch.loaded += children.length;
    const left = branch.node.count === undefined ? 0 : branch.node.count - (branch.node.from ?? 0) - branch.loaded;
    if (!next && left <= 0) return;
    const words = next ? "Show more lines" : `Show ${number(Math.min(PAGE, left))} more of ${number(branch.node.count)}`;
    branch.more = h("div", { class: "item more", role: "treeitem", tabindex: "-1", "aria-level": branch.level + 1 }, h("div", { class: "line", style: `--level:${branch.level}` }, words));
    branch.more.more = () => this.fetch(branch, next);
    branch.place.append(branch.more);
  }

  item(parent, node, key) {
    const address = `${parent.address}/${node.token}`;
    const holds = node.count !== undefined;
    const line = h("div", { class: "line", style: `--level:${parent.level}` }, holds && node.count ? icon("caret") : h("span", { class: "ic" }),
      ...named(key, node), ...(holds ? [h("span", { class: "count" }, summary(node)), h("span", { class: "brief" }, brief(node))] : this.scalar(node, address)));
    const item = h("div", { class: "item", role: "treeitem", tabindex: "-1", "aria-level": parent.level + 1, "aria-expanded": holds && node.count ? "false" : null }, line);
    item.branch = { node, key, address, parent, level: parent.level + 1, place: h("div", { role: "group", hidden: true }), loaded: 0 };
    if (holds) item.append(item.branch.place);
    return item;
  }

  scalar(node, address) {
    const quoted = !["number", "boolean", "null", "wrong"].includes(node.type);
    const text = h("span", { class: `value ${node.type}` }, ...(quoted ? ["“", ...seen(node.text), node.length ? "" : "”"] : seen(node.text)));
    const parts = [text];
    if (node.type === "wrong") parts.push(h("span", { class: "why" }, node.why));
    if (node.length) {
      const more = h("button", { type: "button", class: "quiet", tabindex: "-1", onclick: async () => {
        const { value } = await this.file.ask({ at: address, value: 1 });
        text.replaceChildren("“", ...seen(value), "”");
        more.remove();
      } }, `… show all ${number(node.length)} characters`);
      parts.push(more);
    }
    return parts;
  }

  async fetch(branch, next) {
    const before = branch.more?.previousElementSibling;
    const found = await this.file.ask({ at: branch.address, from: next ?? (branch.node.from ?? 0) + branch.loaded });
    this.fill(branch, found.node.children ?? [], found.next);
    if (next) this.file.tell(`${number(this.lines)}${found.next ? "+" : ""} lines`);
    if (before) this.focus(before.nextElementSibling);
  }

  async unfold(item, open = true) {
    if (!item.ariaExpanded) return;
    item.setAttribute("aria-expanded", String(open));
    item.branch.place.hidden = !open;
    if (!open || item.branch.loaded || item.branch.asked) return;
    const { branch } = item;
    if (branch.node.children) return void this.fill(branch, branch.node.children);
    branch.asked = true;
    try {
      await this.fetch(branch);
    } catch (error) {
      branch.place.replaceChildren(h("p", { class: "why" }, error.message));
    } finally {
      branch.asked = false;
    }
  }

  foldAll() {
    for (const item of this.root.querySelectorAll("[aria-expanded=true]")) this.unfold(item, false);
    this.focus(this.root.firstElementChild);
  }

  click(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item || event.target.closest("button")) return;
    if (getSelection().toString()) return;
    this.focus(item);
    this.act(item);
  }

  act(item) {
    if (item.more) item.more();
    else this.unfold(item, item.ariaExpanded === "false");
  }

  key(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item || event.altKey || ((event.ctrlKey || event.metaKey) && event.key !== "c")) return;
    const items = [...this.root.querySelectorAll("[role=treeitem]")].filter((each) => each.checkVisibility());
    const at = items.indexOf(item);
    const above = item.parentElement.closest("[role=treeitem]");
    const moves = {
      ArrowDown: () => this.focus(items[at + 1]),
      ArrowUp: () => this.focus(items[at - 1]),
      Home: () => this.focus(items[0]),
      End: () => this.focus(items.at(-1)),
      Enter: () => this.act(item),
      " ": () => this.act(item),
      ArrowRight: () => (item.ariaExpanded === "false" ? this.unfold(item) : this.focus(items[at + 1])),
      ArrowLeft: () => (item.ariaExpanded === "true" ? this.unfold(item, false) : this.focus(above)),
      "*": () => [...item.parentElement.children].forEach((each) => this.unfold(each)),
    };
    if (event.key === "c" && (event.ctrlKey || event.metaKey) && !getSelection().toString()) return void this.value().then((text) => navigator.clipboard?.writeText(text));
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }

  focus(item) {
    if (!item) return;
    this.root.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
    item.setAttribute("tabindex", "0");
    item.focus({ preventScroll: true });
    item.firstElementChild?.scrollIntoView({ block: "nearest" });
  }

  /** Show the path of the focused row. */
  at(target) {
    const item = target.closest("[role=treeitem]");
    this.root.querySelector(".now")?.classList.remove("now");
    if (!item?.branch) return;
    item.classList.add("now");
    this.now = item.branch;
    const parts = [];
    for (let { branch } = item; branch?.parent; branch = branch.parent) parts.unshift(step(branch, this.form));
    this.path.textContent = `$${parts.join("")}`;
  }

  async value() {
    const { node, address } = this.now ?? { node: {}, address: "" };
    if (node.text !== undefined && !node.length) return node.text;
    return (await this.file.ask({ at: address, value: 1 })).value;
  }

  /** The file changed: expand the same branches again at the same scroll position. */
  async update(next) {
    const open = [...this.root.querySelectorAll("[aria-expanded=true]")].slice(0, KEPT).map((item) => item.branch.address);
    const focused = this.root.contains(document.activeElement) ? this.now?.address : null;
    const top = this.root.scrollTop;
    this.show(next);
    const find = (address) => [...this.root.querySelectorAll("[role=treeitem]")].find((item) => item.branch?.address === address);
    for (const item of this.root.querySelectorAll("[aria-expanded=true]")) if (!open.includes(item.branch.address)) this.unfold(item, false);
    for (const address of open) {
      const item = find(address);
      if (item) await this.unfold(item);
    }
    this.root.scrollTop = top;
    if (focused) this.focus(find(focused));
  }
}

const summary = ({ type, count }) =>
  type === "object" ? `{${plural(count, "key")}}` : type === "documents" ? plural(count, "document") : `[${plural(count, "item")}]`;

function named(key, node) {
  if (key === null || key === undefined) return [];
  const name = h("span", { class: typeof key === "number" ? "index" : "key" }, ...seen(String(key)));
  const again = node.again ? [h("span", { class: "again", title: "This key occurs more than once" }, "duplicate")] : [];
  return [name, ...again, ": "];
}

/** Summary of a branch's content. */
function brief(node) {
  if (!node.children) return "";
  const parts = node.children.map(({ key, type, text, count }) => {
    const value = count === undefined ? (type === "string" ? JSON.stringify(text) : text) : type === "object" ? "{…}" : "[…]";
    return node.type === "object" ? `${key}: ${value}` : value;
  });
  const words = parts.join(", ");
  return words.length > BRIEF ? `${words.slice(0, BRIEF)}…` : words;
}

function step({ key, level }, form) {
  if (typeof key === "number") return form === "lines" && level === 1 ? `[${key - 1}]` : `[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key ?? "") ? `.${key}` : `[${JSON.stringify(key ?? "")}]`;
}
