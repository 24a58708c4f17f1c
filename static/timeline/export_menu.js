// Tools of the timeline: find, expand, collapse and export.

import { copy, h, icon } from "../core/dom.js";
import { alone } from "../header/account.js";
import { persist, runApi } from "../core/session.js";
import { share } from "./share.js";

/** Fill `place`; return a function that resets the tools for another run. */
export function mountTools(place, { unfold, find }) {
  const tool = (name, label, onclick, more = {}) =>
    h("button", { type: "button", class: "quiet", "aria-label": label, title: label, onclick, ...more }, icon(name));
  const fold = tool("unfold", "Expand all", () => turn(!open));
  let open = false;
  const turn = (wanted, tell = true) => {
    open = wanted;
    const label = open ? "Collapse all" : "Expand all";
    fold.replaceChildren(icon(open ? "fold" : "unfold"));
    fold.setAttribute("aria-label", label);
    fold.title = label;
    if (tell) unfold(open);
  };
  const menu = new Menu(place, tool);
  place.append(tool("find", "Find in run", find, { title: "Find in run (/)", "aria-keyshortcuts": "/" }), fold, menu.button, menu.list);
  return {
    reset() {
      turn(false);
      menu.show(false);
    },
  };
}

/** The export menu, with mouse and arrow keys. */
class Menu {
  constructor(place, tool) {
    this.button = tool("take", "Export", () => this.show(this.list.hidden), { "aria-haspopup": "menu", "aria-expanded": "false" });
    this.list = h("div", { class: "menu", role: "menu", "aria-label": "Export", hidden: true });
    this.list.append(
      item("button", "Copy conversation", { type: "button", onclick: (event) => copyConversation(event.currentTarget) }),
      item("a", "Download conversation", { download: "", "data-path": "conversation.md" }, "Markdown"),
      item("a", "Download steps", { download: "", "data-path": "steps.csv" }, "CSV"),
      item("a", "Download everything", { download: "", "data-path": "run.zip" }, "zip"),
    );
    if (!alone) this.list.append(item("button", "Share…", { type: "button", class: "own-only", onclick: () => (this.show(false), share()) }));
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("click", (event) => event.target.closest("a") && this.show(false));
    document.addEventListener("pointerdown", (event) => place.contains(event.target) || this.show(false));
    place.addEventListener("focusout", ({ relatedTarget: to }) => to && !this.list.contains(to) && to !== this.button && this.show(false));
  }

  show(shown) {
    if (this.list.hidden === !shown) return;
    this.list.hidden = !shown;
    this.button.setAttribute("aria-expanded", String(shown));
    if (!shown) return;
    for (const link of this.list.querySelectorAll("a")) link.href = runApi(link.dataset.path);
    this.list.firstChild.focus();
  }

  key(event) {
    const items = [...this.list.children].filter((each) => each.checkVisibility());
    const now = items.indexOf(document.activeElement);
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: -1 }[event.key];
    if (to !== undefined) items.at(to % items.length).focus();
    else if (event.key === "Escape") {
      this.show(false);
      this.button.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation(); // Escape would stop the run
  }
}

function item(tag, label, attributes, kind = "") {
  const words = h("span", {}, label);
  return h(tag, { role: "menuitem", tabindex: "-1", ...attributes }, words, kind ? h("small", {}, kind) : null);
}

function copyConversation(button) {
  const text = persist(runApi("conversation.md")).then((answer) => {
    if (!answer.ok) throw new Error("The conversation could not be loaded.");
    return answer.text();
  });
  return copy(text, button.querySelector("span"));
}
