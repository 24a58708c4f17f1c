// Tabs in the header of a page that is low and narrow, as one that is zoomed: the conversation, or its files.

import { h, waitForElement } from "../core/dom.js";

const PANES = { conversation: ["Conversation", "timeline"], files: ["Files", "workspace"] };

export class PaneTabs {
  /** `onChoose(files)` is called when the user chooses the files, or the conversation. */
  constructor(onChoose) {
    this.tabs = Object.entries(PANES).map(([name, [label, panel]]) =>
      h("button", { role: "tab", "data-pane": name, "aria-controls": panel, onclick: () => onChoose(name === "files") }, label),
    );
    this.element = h("div", { class: "pane-tabs", role: "tablist", "aria-label": "Panes" }, ...this.tabs);
    this.element.addEventListener("keydown", (event) => this.#onKey(event));
    this.show(false);
    waitForElement(".app-header .pill.state").then((state) => state.before(this.element));
  }

  show(files) {
    const shown = files ? "files" : "conversation";
    document.documentElement.dataset.pane = shown;
    for (const tab of this.tabs) {
      const selected = tab.dataset.pane === shown;
      tab.setAttribute("aria-selected", String(selected));
      tab.tabIndex = selected ? 0 : -1;
    }
  }

  #onKey(event) {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    event.preventDefault();
    const other = this.tabs.find((tab) => tab.tabIndex < 0);
    other.click();
    other.focus();
  }
}
