// The page's header: title, state with elapsed time, buttons.

import { waitForElement, h, icon, iconButton } from "../core/dom.js";
import { editTitle } from "../core/run/run_summary.js";
import { formatElapsed } from "../core/format.js";
import { mountHistory, renameRun } from "../history/history.js";
import { clearKeyWithEndpoint } from "../core/preferences.js";
import { mountAccount } from "./account.js";
import { showRun, emit, on, reported, currentRun } from "../core/event_stream.js";
import { stateTone, stateLabel } from "../core/run/run_states.js";
import { mountThemeButton } from "../core/theme.js";
import { createBackButton, leave as leaveView } from "../core/view.js";
import "../experiments/open.js";
import { createAnnouncer } from "./announcer.js";
import "./keys.js";
import "../present/present.js";
import "./usage.js";
import { mendChoices } from "../settings/choices.js";
import "../settings/run_passport.js";

const NETWORKS = { none: "no network", listed: "allowed hosts only" };

export async function mountHeader(element) {
  const find = (name) => element.querySelector(`.${name}`);
  const [title, state, model, newButton] = ["title", "state", "model", "new"].map(find);
  find("app-header").prepend(skipLink(), createAnnouncer());
  mountThemeButton(find("theme"));
  find("settings").prepend(icon("sliders"));
  const settings = await waitForElement("#settings");
  mountSettings(find("settings"), settings);
  clearKeyWithEndpoint(settings);
  mountAccount(element.querySelector(".app-header"), settings);
  mountHistory(element.querySelector("dialog.history"), element.querySelector("button.history"));
  newButton.before(createBackButton());
  newButton.addEventListener("click", () => {
    leaveView();
    showRun(null);
  });
  const setTitle = mountTitle(title);
  let shownView = null;

  const updateTime = () => {
    const { offline, status } = currentRun;
    if (!status) return;
    state.querySelector(".time").textContent = status.running && !offline ? ` · ${formatElapsed(currentRun.now() - status.state_since)}` : "";
  };
  on("reset", () => {
    setTitle("");
    model.hidden = true;
    updateState();
    newButton.hidden = !currentRun.id;
    document.title = "LLM-in-Sandbox Studio";
  });
  const updateState = () => {
    const { offline, started, status } = currentRun;
    const { tone, live, text: label } = shownView?.state ?? runState(status);
    state.hidden = !offline && !started && !shownView;
    state.dataset.tone = offline ? "warn" : tone;
    state.toggleAttribute("data-live", live && !offline);
    const text = offline ? "Connection lost, reconnecting" : label;
    if (state.querySelector(".label").textContent !== text) state.querySelector(".label").textContent = text;
    updateTime();
  };
  on("connection", updateState);
  on("update", () => {
    const { status } = currentRun;
    model.hidden = !currentRun.started;
    model.textContent = [status.model, currentRun.mode === "plain" ? "no sandbox" : "", NETWORKS[currentRun.network] ?? ""].filter(Boolean).join(" · ");
    setTitle(currentRun.started ? status.title : "");
    document.title = currentRun.started ? `${runMark(status)}${status.title || "Run"}` : document.title;
    updateState();
  });
  on("tick", updateTime);
  on("view", (view) => {
    setTitle(view?.title ?? "", view?.canEdit ? view.rename : null);
    newButton.hidden = !view && !currentRun.id;
    document.title = view ? `${view.state.live ? "● " : ""}${view.title}` : "LLM-in-Sandbox Studio";
    model.hidden = !view?.detail && !currentRun.started;
    if (view) model.textContent = view.detail;
    shownView = view;
    updateState();
  });
}

/** The way past the header, for who moves by Tab. */
const skipLink = () =>
  h(
    "a",
    {
      class: "skip-link",
      href: location.href,
      onclick: (event) => (
        event.preventDefault(), document.querySelector(document.documentElement.dataset.view ? "section.view" : ".timeline .thread")?.focus()
      ),
    },
    "Skip to the conversation",
  );

const runState = (status) =>
  status ? { tone: stateTone(status), live: Boolean(status.running), text: stateLabel(status) } : { tone: "idle", live: false, text: "" };

/** What the tab's title begins with: whether the run works, or waits for the user. */
const runMark = ({ running, state }) => (running ? (["paused", "waiting_approval"].includes(state) ? "⏸ " : "● ") : "");

const renameShownRun = (text) => renameRun(currentRun.id, text);

/** Make the title editable; return a function that shows another title, and how it is renamed. */
function mountTitle(heading) {
  let current = "";
  let rename = renameShownRun;
  const placeholder = heading.firstElementChild; // for screen readers: a heading must not be empty
  const button = h("button", { title: "Rename", dir: "auto" });
  button.addEventListener("click", () => editTitle(heading, current, (text) => reported(rename(text))));
  on("renamed", ({ run, title }) => {
    if (run !== currentRun.id || !currentRun.status) return;
    currentRun.status.title = title;
    emit("update");
  });
  return (text, renameTo = renameShownRun) => {
    rename = renameTo;
    button.disabled = !rename;
    if (text === current) return;
    current = button.textContent = text;
    button.title = rename ? `${text}\nClick to rename` : text;
    if (!heading.querySelector("input")) heading.replaceChildren(text ? button : placeholder);
  };
}

function mountSettings(button, settings) {
  const close = iconButton("close", "Close settings", () => show(false), { class: "quiet" });
  settings.prepend(h("div", { class: "drawer-head" }, h("h2", {}, "Settings"), close));
  settings.setAttribute("role", "dialog");
  settings.setAttribute("aria-label", "Settings");
  const show = (open) => {
    settings.classList.toggle("open", open);
    settings.inert = !open;
    button.setAttribute("aria-expanded", String(open));
    if (open) settings.querySelector("input, textarea")?.focus();
    else if (settings.contains(document.activeElement)) button.focus();
  };
  show(false);
  mendChoices(settings);
  settings.append(h("button", { class: "storage", onclick: () => (show(false), emit("usage")) }, "Storage and limits"));
  settings.append(h("button", { class: "storage", onclick: () => (show(false), emit("keys")) }, "Keys (?)"));
  button.addEventListener("click", () => show(!settings.classList.contains("open")));
  on("open-settings", () => show(true));
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape" || !settings.classList.contains("open")) return;
      event.stopImmediatePropagation();
      if (hasOpenList(event.target)) return void (/** @type {HTMLElement} */ (event.target).blur()); // Gradio closes its list only on blur
      show(false);
      button.focus();
    },
    true,
  );
}

/** Whether a dropdown list is open below the field. */
const hasOpenList = (field) => field.matches?.('[role="combobox"][aria-expanded="true"]');
