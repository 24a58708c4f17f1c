// Actions on a comparison or an evaluation: present, stop, resume, export, share, delete.

import { h, loadStyles } from "../core/dom.js";
import { emit } from "../core/event_stream.js";
import { openDialog } from "../core/widgets/dialog.js";
import { closeMenu, openMenu } from "../core/widgets/menu.js";
import { fetchJson } from "../core/loading/fetch.js";
import { singleUser } from "../core/instance.js";
import { openShareDialog } from "../core/run/share.js";
import { leave } from "../core/view.js";

const NARROW = matchMedia("(max-width: 900px)");

/** Disable an action on what another process carries out, with the sentence that says so. */
export function showElsewhere(button, elsewhere) {
  button.disabled = Boolean(elsewhere);
  button.classList.toggle("owner-only", !elsewhere);
  if (elsewhere) button.setAttribute("aria-describedby", "elsewhere");
  else button.removeAttribute("aria-describedby");
}

export class ViewTools {
  /**
   * `page` has `url(path)`, `act(path)` and `resume()`; `noun` says what is shown, `exports` are
   * [kind, label, name], `resumeTitle` says what Resume starts.
   */
  constructor(page, { noun, exports, resumeTitle }) {
    this.page = page;
    this.noun = noun;
    const button = (name, label, onclick, attributes = {}) => h("button", { class: `quiet ${name}`, onclick, ...attributes }, label);
    this.stop = button("stop-all owner-only", "Stop", () => page.act("stop"), { hidden: true, "aria-label": `Stop the ${noun}` });
    this.resume = button("resume owner-only", "Resume", () => page.resume(), { hidden: true, title: resumeTitle });
    const present = h(
      "button",
      { class: "quiet present", "aria-keyshortcuts": "p", title: "Present (p)", onclick: () => emit("present") },
      "Present ",
      h("kbd", {}, "p"),
    );
    const items = exports.map(([kind, text, note]) => ({ text, note, href: page.url(`export.${kind}`) }));
    const exportButton = button("export", "Export", () => openMenu(items, exportButton), { "aria-haspopup": "menu", "aria-expanded": "false" });
    const share = singleUser ? null : button("share owner-only", "Share", () => this.share());
    this.deleteButton = button("delete owner-only", "Delete", () => this.confirmDeletion(), { "aria-label": `Delete the ${noun}` });
    this.element = h("div", { class: "comparison-tools", role: "group", "aria-label": `Actions on the ${noun}` });
    this.element.append(this.stop, this.resume, present, exportButton, ...(share ? [share] : []), this.deleteButton);
    this.narrow = h("div", { class: "narrow-tools" });
    this.onWidth = () => this.arrange();
    NARROW.addEventListener("change", this.onWidth);
    this.arrange();
  }

  /** Place the tools in the header, or above the task where the page is narrow. */
  arrange() {
    if (NARROW.matches) this.narrow.append(this.element);
    else document.querySelector(".app-header .new").before(this.element);
  }

  /** `elsewhere` says which other process carries it out: its actions are shown, but disabled. */
  show({ state, canEdit, elsewhere = "", canResume = ["stopped", "interrupted"].includes(state) }) {
    this.stop.hidden = !(canEdit || elsewhere) || state !== "running";
    this.resume.hidden = !(canEdit || elsewhere) || state === "running" || !canResume;
    showElsewhere(this.stop, elsewhere);
    showElsewhere(this.resume, elsewhere);
    this.deleteButton.hidden = !canEdit || state === "running";
  }

  share() {
    return openShareDialog({
      url: this.page.url,
      title: `Share this ${this.noun}`,
      text: `Anyone with the link can view this ${this.noun}, its runs and their files, including what is added later, but cannot change anything.`,
    });
  }

  /** Ask what is to be deleted: the view alone, or its runs and their files, too. */
  async confirmDeletion() {
    await loadStyles("header/header.css");
    const runs = h("input", { type: "checkbox", id: "delete-runs" });
    const status = h("p", { role: "status" });
    const remove = h("button", { class: "plain danger", onclick: () => this.remove(runs.checked, status, dialog) }, "Delete");
    const dialog = openDialog(
      { name: "share confirm", title: `Delete this ${this.noun}?` },
      h("p", {}, "Its runs are kept, and History lists them one by one. This cannot be undone."),
      h("label", { class: "check", for: "delete-runs" }, runs, "Delete its runs and their files, too"),
      status,
      h("div", { class: "row" }, remove, h("button", { class: "plain", onclick: () => dialog.close() }, "Cancel")),
    );
  }

  async remove(runs, status, dialog) {
    try {
      await fetchJson(`${this.page.url("")}${runs ? "?runs=1" : ""}`, { method: "DELETE" });
      dialog.close();
      leave();
      emit("notice", { text: `The ${this.noun} was deleted.` });
    } catch (error) {
      status.textContent = error.message;
    }
  }

  close() {
    closeMenu(false);
    NARROW.removeEventListener("change", this.onWidth);
    this.element.remove();
  }
}
