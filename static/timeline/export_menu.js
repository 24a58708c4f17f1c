// Tools of the timeline: find, tokens, requests, expand, collapse and export.

import { copyText, h, icon } from "../core/dom.js";
import { singleUser } from "../header/account.js";
import { emit, runApiUrl } from "../core/event_stream.js";
import { fetchWithRetry } from "../core/loading/fetch.js";
import { mountInspectorKey, openRequestInView } from "../inspector/open.js";
import { replayRun, saveAsExample } from "../replay/actions.js";
import { openShareDialog } from "./share.js";

/** Fill `container`; return a function that resets the tools for another run. */
export function mountRunTools(container, { onExpand, onFind }) {
  const button = (name, label, onclick, attributes = {}) =>
    h("button", { type: "button", class: "quiet", "aria-label": label, title: label, onclick, ...attributes }, icon(name));
  const expandButton = button("expand", "Expand all", () => setExpanded(!expanded));
  let expanded = false;
  const setExpanded = (value, notify = true) => {
    expanded = value;
    const label = expanded ? "Collapse all" : "Expand all";
    expandButton.replaceChildren(icon(expanded ? "collapse" : "expand"));
    expandButton.setAttribute("aria-label", label);
    expandButton.title = label;
    if (notify) onExpand(expanded);
  };
  const menu = new ExportMenu(container, button);
  const tokens = button("chart", "Where the tokens go", () => openTokens());
  const requests = button("request", "Requests and settings", openRequestInView, { title: "Requests and settings (i)", "aria-keyshortcuts": "i" });
  mountInspectorKey();
  container.append(
    button("find", "Find in run", onFind, { title: "Find in run (/)", "aria-keyshortcuts": "/" }),
    tokens,
    requests,
    expandButton,
    menu.button,
    menu.list,
  );
  return {
    reset() {
      setExpanded(false);
      menu.show(false);
    },
  };
}

/** The chart and its library are loaded when they are first needed. */
async function openTokens() {
  try {
    const { openTokenDialog } = await import("../charts/token_dialog.js");
    await openTokenDialog();
  } catch (error) {
    emit("notice", { text: error.message });
  }
}

async function openReport() {
  try {
    const { openReportDialog } = await import("../report/download.js");
    await openReportDialog();
  } catch (error) {
    emit("notice", { text: error.message });
  }
}

/** The export menu, with mouse and arrow keys. */
class ExportMenu {
  constructor(container, button) {
    this.button = button("export", "Export", () => this.show(this.list.hidden), { "aria-haspopup": "menu", "aria-expanded": "false" });
    this.list = h("div", { class: "menu", role: "menu", "aria-label": "Export", hidden: true });
    this.list.append(
      menuItem("button", "Copy conversation", { type: "button", onclick: (event) => copyConversation(event.currentTarget) }),
      menuItem("a", "Download conversation", { download: "", "data-path": "conversation.md" }, "Markdown"),
      menuItem("a", "Download steps", { download: "", "data-path": "steps.csv" }, "CSV"),
      menuItem("button", "Download report…", { type: "button", onclick: () => (this.show(false), openReport()) }, "HTML"),
      menuItem("a", "Download trace", { download: "", "data-path": "export/atif" }, "ATIF"),
      menuItem("a", "Download messages", { download: "", "data-path": "export/messages" }, "OpenAI"),
      menuItem("a", "Download session", { download: "", "data-path": "export/sts" }, "Hugging Face"),
      menuItem("a", "Download spans", { download: "", "data-path": "export/otel" }, "OpenTelemetry"),
      menuItem("a", "Download everything", { download: "", "data-path": "run.zip" }, "zip"),
    );
    this.list.append(
      menuItem("button", "Replay", {
        type: "button",
        class: "owner-only",
        title: "Execute the recorded commands again and compare the results",
        onclick: () => (this.show(false), replayRun()),
      }),
      menuItem("button", "Save as example", {
        type: "button",
        class: "owner-only",
        title: "Play this run from the examples, without a model and with real commands",
        onclick: () => (this.show(false), saveAsExample()),
      }),
    );
    if (!singleUser)
      this.list.append(menuItem("button", "Share…", { type: "button", class: "owner-only", onclick: () => (this.show(false), openShareDialog()) }));
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("click", (event) => event.target.closest("a") && this.show(false));
    document.addEventListener("pointerdown", (event) => container.contains(event.target) || this.show(false));
    container.addEventListener("focusout", ({ relatedTarget: to }) => to && !this.list.contains(to) && to !== this.button && this.show(false));
  }

  show(visible) {
    if (this.list.hidden === !visible) return;
    this.list.hidden = !visible;
    this.button.setAttribute("aria-expanded", String(visible));
    if (!visible) return;
    for (const link of this.list.querySelectorAll("a")) link.href = runApiUrl(link.dataset.path);
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

function menuItem(tag, label, attributes, kind = "") {
  const text = h("span", {}, label);
  return h(tag, { role: "menuitem", tabindex: "-1", ...attributes }, text, kind ? h("small", {}, kind) : null);
}

function copyConversation(button) {
  const text = fetchWithRetry(runApiUrl("conversation.md")).then((response) => {
    if (!response.ok) throw new Error("The conversation could not be loaded.");
    return response.text();
  });
  return copyText(text, button.querySelector("span"));
}
