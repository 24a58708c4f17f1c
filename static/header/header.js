// The page's header: title, state with elapsed time, buttons.

import { appear, h, icon } from "../core/dom.js";
import { rename } from "../history/run_row.js";
import { clock } from "../core/format.js";
import { mountHistory, retitle } from "../history/history.js";
import { guardKey } from "../core/preferences.js";
import { mountPeople } from "./account.js";
import { attach, emit, on, session } from "../core/session.js";
import { tone, words } from "../core/run_states.js";
import { mountTheme } from "../core/theme.js";
import "./usage.js";

const NETWORKS = { none: "no network", listed: "allowed hosts only" };

export async function mountMasthead(element) {
  const find = (name) => element.querySelector(`.${name}`);
  const [title, state, model, fresh] = ["title", "state", "model", "new"].map(find);
  mountTheme(find("theme"));
  find("settings").prepend(icon("sliders"));
  const drawer = await appear("#settings");
  mountDrawer(find("settings"), drawer);
  guardKey(drawer);
  mountPeople(element.querySelector(".masthead"), drawer);
  mountHistory(element.querySelector("dialog.history"), element.querySelector("button.history"));
  fresh.addEventListener("click", () => attach(null));
  const name = mountTitle(title);

  const tick = () => {
    const { away, head } = session;
    if (!head) return;
    state.querySelector(".time").textContent = head.alive && !away ? ` · ${clock(session.now() - head.since)}` : "";
  };
  on("reset", () => {
    name("");
    model.hidden = true;
    stand();
    fresh.hidden = !session.run;
    document.title = "LLM-in-Sandbox Studio";
  });
  const stand = () => {
    const { away, begun, head } = session;
    state.hidden = !away && !begun;
    state.dataset.tone = away ? "warn" : head ? tone(head) : "idle";
    state.toggleAttribute("data-live", Boolean(head?.alive) && !away);
    const said = away ? "Connection lost, reconnecting" : head ? words(head) : "";
    if (state.querySelector(".words").textContent !== said) state.querySelector(".words").textContent = said;
    tick();
  };
  on("away", stand);
  on("head", () => {
    const { head } = session;
    model.hidden = !session.begun;
    model.textContent = [head.model, session.mode === "plain" ? "no sandbox" : "", NETWORKS[session.network] ?? ""].filter(Boolean).join(" · ");
    name(session.begun ? head.title : "");
    document.title = session.begun ? `${head.alive ? "● " : ""}${head.title || "Run"}` : document.title;
    stand();
  });
  on("tick", tick);
}

/** Make the run title editable; return a function that shows another title. */
function mountTitle(place) {
  let shown = "";
  const none = place.firstElementChild; // for screen readers: a heading must not be empty
  const button = h("button", { type: "button", title: "Rename this run", dir: "auto" });
  button.addEventListener("click", () => rename(place, shown, async (text) => {
    try {
      await retitle(session.run, text);
    } catch (error) {
      emit("notice", { text: error.message });
    }
  }));
  on("renamed", ({ run, title }) => {
    if (run !== session.run || !session.head) return;
    session.head.title = title;
    emit("head");
  });
  return (text) => {
    if (text === shown) return;
    shown = button.textContent = text;
    button.title = `${text}\nClick to rename`;
    if (!place.querySelector("input")) place.replaceChildren(text ? button : none);
  };
}

function mountDrawer(button, drawer) {
  const close = h("button", { type: "button", class: "quiet", "aria-label": "Close settings" }, icon("close"));
  drawer.prepend(h("div", { class: "drawer-head" }, h("h2", {}, "Settings"), close));
  drawer.setAttribute("role", "dialog");
  drawer.setAttribute("aria-label", "Settings");
  const show = (open) => {
    drawer.classList.toggle("open", open);
    drawer.inert = !open;
    button.setAttribute("aria-expanded", String(open));
    if (open) drawer.querySelector("input, textarea")?.focus();
    else if (drawer.contains(document.activeElement)) button.focus();
  };
  show(false);
  drawer.append(h("button", { type: "button", class: "space", onclick: () => (show(false), emit("usage")) }, "Storage and limits"));
  button.addEventListener("click", () => show(!drawer.classList.contains("open")));
  close.addEventListener("click", () => show(false));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !drawer.classList.contains("open")) return;
    event.stopImmediatePropagation();
    if (hasList(event.target)) return void event.target.blur(); // Gradio closes its list only on blur
    show(false);
    button.focus();
  }, true);
}

/** Whether a dropdown list is open below the field. */
const hasList = (field) => field.matches?.('[role="combobox"][aria-expanded="true"]');
