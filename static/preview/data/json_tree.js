// JSON, JSON Lines and YAML as a tree; a branch loads when it is expanded.

import { copyText, h, icon } from "../../core/dom.js";
import { formatNumber, plural } from "../../core/format.js";
import { markInvisible } from "../text/rows.js";
import { quietButton, sourceToggle } from "../parts.js";
import { openSource } from "../text/text.js";

const PAGE = 200; // children per response
const MAX_INITIAL = 60; // children expanded at first
const MAX_SUMMARY = 72; // characters of the summary of a collapsed branch
const MAX_REOPENED = 60; // branches expanded again after the file changed

export async function open(file, first) {
  file.setTools(...sourceToggle(file, ""));
  const element = h("div", { class: "tree-view" });
  let view = null;
  const update = async (next) => {
    if (next.node && view instanceof JsonTree) return view.update(next);
    view?.close?.();
    view = next.node ? new JsonTree(file, next) : await sourceView(file, next);
    element.replaceChildren(view.element);
    return undefined;
  };
  await update(first);
  return { element, update, close: () => view?.close?.() };
}

/** Shown if there is no tree: the reason and the source. */
async function sourceView(file, { empty, too_large: tooLarge, error, format }) {
  if (empty) return { element: h("p", { class: "empty" }, "This file is empty.") };
  const name = format === "yaml" ? "YAML" : "JSON";
  const reason = tooLarge ?? `Invalid ${name} (from line ${formatNumber(error.line)}, column ${formatNumber(error.column)}): ${error.message}.`;
  const text = await openSource(file, { line: error?.line });
  const element = h("div", { class: "fallback" }, h("p", { class: "alert", role: "alert" }, reason), h("div", { class: "kind-text" }, text.element));
  return { element, close: () => text.close() };
}

class JsonTree {
  constructor(file, first) {
    this.file = file;
    this.root = h("div", { class: "branches", role: "tree", "aria-label": `Contents of ${file.name}` });
    this.path = h("code", { class: "path" });
    const tools = [
      quietButton("Copy path", (event) => copyText(this.path.textContent, event.target)),
      quietButton("Copy value", (event) => copyText(this.value(), event.target)),
      quietButton("Collapse all", () => this.collapseAll()),
    ];
    this.element = h("div", { class: "tree-box" }, this.root, h("div", { class: "about" }, this.path, ...tools));
    this.root.addEventListener("click", (event) => this.onClick(event));
    this.root.addEventListener("keydown", (event) => this.onKey(event));
    this.root.addEventListener("focusin", (event) => this.showPath(event.target));
    this.show(first);
  }

  show({ node, next, format }) {
    this.format = format;
    this.root.replaceChildren();
    this.lines = 0;
    const top = { node, address: "", level: 0, group: this.root, loaded: 0 };
    if (format === "lines" || (node.count !== undefined && node.type !== "documents" && node.count)) this.addChildren(top, node.children ?? [], next);
    else if (node.children) this.addChildren(top, node.children);
    else this.addChildren(top, [node]);
    const branches = [...this.root.children].filter((item) => item.branch?.node.children);
    let remaining = MAX_INITIAL - this.root.children.length;
    for (const item of branches) if ((remaining -= item.branch.node.children.length) >= 0) this.setExpanded(item);
    this.root.querySelector("[role=treeitem]")?.setAttribute("tabindex", "0");
    this.file.setDetails(format === "lines" ? this.lineCount(next) : node.count === undefined ? "" : countText(node));
    this.path.textContent = "$";
  }

  /** The lines that were read, and whether there are more. */
  lineCount(next) {
    return next ? `${formatNumber(this.lines)}+ lines` : plural(this.lines, "line");
  }

  /** Add children to a branch, with a row to load more if there are any. */
  addChildren(branch, children, next) {
    branch.more?.remove();
    for (const child of children) {
      const key = this.format === "lines" && branch.level === 0 ? ++this.lines : child.key;
      if (child.type !== "blank") branch.group.append(this.createItem(branch, child, key));
    }
    branch.loaded += children.length;
    const left = branch.node.count === undefined ? 0 : branch.node.count - (branch.node.start ?? 0) - branch.loaded;
    if (!next && left <= 0) return;
    const words = next ? "Show more lines" : `Show ${formatNumber(Math.min(PAGE, left))} more of ${formatNumber(branch.node.count)}`;
    branch.more = h(
      "div",
      { class: "item more", role: "treeitem", tabindex: "-1", "aria-level": branch.level + 1 },
      h("div", { class: "line", style: `--level:${branch.level}` }, words),
    );
    branch.more.more = () => this.fetch(branch, next);
    branch.group.append(branch.more);
  }

  createItem(parent, node, key) {
    const address = `${parent.address}/${node.token}`;
    const isBranch = node.count !== undefined;
    const line = h(
      "div",
      { class: "line", style: `--level:${parent.level}` },
      isBranch && node.count ? icon("caret") : h("span", { class: "svg-icon" }),
      ...keyElements(key, node),
      ...(isBranch
        ? [h("span", { class: "count" }, countText(node)), h("span", { class: "summary" }, contentSummary(node))]
        : this.scalarElements(node, address)),
    );
    const item = h(
      "div",
      { class: "item", role: "treeitem", tabindex: "-1", "aria-level": parent.level + 1, "aria-expanded": isBranch && node.count ? "false" : null },
      line,
    );
    item.branch = { node, key, address, parent, level: parent.level + 1, group: h("div", { role: "group", hidden: true }), loaded: 0 };
    if (isBranch) item.append(item.branch.group);
    return item;
  }

  scalarElements(node, address) {
    const quoted = !["number", "boolean", "null", "invalid"].includes(node.type);
    const text = h(
      "span",
      { class: `value ${node.type}` },
      ...(quoted ? ["“", ...markInvisible(node.text), node.length ? "" : "”"] : markInvisible(node.text)),
    );
    const parts = [text];
    if (node.type === "invalid") parts.push(h("span", { class: "reason" }, node.reason));
    const showAll = async ({ target }) => {
      const { value } = await this.file.ask({ address, value: 1 });
      text.replaceChildren("“", ...markInvisible(value), "”");
      target.remove();
    };
    if (node.length) parts.push(quietButton(`… show all ${plural(node.length, "character")}`, showAll, { tabindex: "-1" }));
    return parts;
  }

  async fetch(branch, next) {
    const before = branch.more?.previousElementSibling;
    const found = await this.file.ask({ address: branch.address, start: next ?? (branch.node.start ?? 0) + branch.loaded });
    this.addChildren(branch, found.node.children ?? [], found.next);
    if (next) this.file.setDetails(this.lineCount(found.next));
    if (before) this.focus(before.nextElementSibling);
  }

  async setExpanded(item, open = true) {
    if (!item.ariaExpanded) return;
    item.setAttribute("aria-expanded", String(open));
    item.branch.group.hidden = !open;
    if (!open || item.branch.loaded || item.branch.loading) return;
    const { branch } = item;
    if (branch.node.children) return void this.addChildren(branch, branch.node.children);
    branch.loading = true;
    try {
      await this.fetch(branch);
    } catch (error) {
      branch.group.replaceChildren(h("p", { class: "reason" }, error.message));
    } finally {
      branch.loading = false;
    }
  }

  collapseAll() {
    for (const item of this.root.querySelectorAll("[aria-expanded=true]")) this.setExpanded(item, false);
    this.focus(this.root.firstElementChild);
  }

  onClick(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item || event.target.closest("button")) return;
    if (getSelection().toString()) return;
    this.focus(item);
    this.activate(item);
  }

  activate(item) {
    if (item.more) item.more();
    else this.setExpanded(item, item.ariaExpanded === "false");
  }

  onKey(event) {
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
      Enter: () => this.activate(item),
      " ": () => this.activate(item),
      ArrowRight: () => (item.ariaExpanded === "false" ? this.setExpanded(item) : this.focus(items[at + 1])),
      ArrowLeft: () => (item.ariaExpanded === "true" ? this.setExpanded(item, false) : this.focus(above)),
      "*": () => [...item.parentElement.children].forEach((each) => this.setExpanded(each)),
    };
    if (event.key === "c" && (event.ctrlKey || event.metaKey) && !getSelection().toString())
      return void this.value().then((text) => navigator.clipboard?.writeText(text));
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
  showPath(target) {
    const item = target.closest("[role=treeitem]");
    this.root.querySelector(".current")?.classList.remove("current");
    if (!item?.branch) return;
    item.classList.add("current");
    this.focused = item.branch;
    const parts = [];
    for (let { branch } = item; branch?.parent; branch = branch.parent) parts.unshift(pathStep(branch, this.format));
    this.path.textContent = `$${parts.join("")}`;
  }

  async value() {
    const { node, address } = this.focused ?? { node: {}, address: "" };
    if (node.text !== undefined && !node.length) return node.text;
    return (await this.file.ask({ address, value: 1 })).value;
  }

  /** The file changed: expand the same branches again at the same scroll position. */
  async update(next) {
    const open = [...this.root.querySelectorAll("[aria-expanded=true]")].slice(0, MAX_REOPENED).map((item) => item.branch.address);
    const focused = this.root.contains(document.activeElement) ? this.focused?.address : null;
    const top = this.root.scrollTop;
    this.show(next);
    const find = (address) => [...this.root.querySelectorAll("[role=treeitem]")].find((item) => item.branch?.address === address);
    for (const item of this.root.querySelectorAll("[aria-expanded=true]")) if (!open.includes(item.branch.address)) this.setExpanded(item, false);
    for (const address of open) {
      const item = find(address);
      if (item) await this.setExpanded(item);
    }
    this.root.scrollTop = top;
    if (focused) this.focus(find(focused));
  }
}

const countText = ({ type, count }) =>
  type === "object" ? `{${plural(count, "key")}}` : type === "documents" ? plural(count, "document") : `[${plural(count, "item")}]`;

function keyElements(key, node) {
  if (key === null || key === undefined) return [];
  const name = h("span", { class: typeof key === "number" ? "index" : "key" }, ...markInvisible(String(key)));
  const duplicate = node.duplicate ? [h("span", { class: "duplicate-key", title: "This key occurs more than once" }, "duplicate")] : [];
  return [name, ...duplicate, ": "];
}

/** Summary of a branch's content. */
function contentSummary(node) {
  if (!node.children) return "";
  const parts = node.children.map(({ key, type, text, count }) => {
    const value = count === undefined ? (type === "string" ? JSON.stringify(text) : text) : type === "object" ? "{…}" : "[…]";
    return node.type === "object" ? `${key}: ${value}` : value;
  });
  const words = parts.join(", ");
  return words.length > MAX_SUMMARY ? `${words.slice(0, MAX_SUMMARY)}…` : words;
}

function pathStep({ key, level }, format) {
  if (typeof key === "number") return format === "lines" && level === 1 ? `[${key - 1}]` : `[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key ?? "") ? `.${key}` : `[${JSON.stringify(key ?? "")}]`;
}
