// The head of the page: title, state with its time, the page's own buttons.

import { appear, h, icon } from "./dom.js";
import { rename } from "./entry.js";
import { clock, firstLine } from "./format.js";
import { mountHistory, retitle } from "./history.js";
import { mountPeople } from "./people.js";
import { attach, emit, on, session } from "./session.js";
import { tone, words } from "./states.js";
import { mountTheme } from "./theme.js";
import "./usage.js";

const NETWORKS = { none: "no network", listed: "listed hosts" };

export async function mountMasthead(element) {
  const find = (name) => element.querySelector(`.${name}`);
  const [title, state, model, fresh] = ["title", "state", "model", "new"].map(find);
  mountTheme(find("theme"));
  find("settings").prepend(icon("sliders"));
  const drawer = await appear("#settings");
  mountDrawer(find("settings"), drawer);
  mountPeople(element.querySelector(".masthead"), drawer);
  mountHistory(element.querySelector("dialog.history"), element.querySelector("button.history"));
  fresh.addEventListener("click", () => attach(null));
  const name = mountTitle(title);

  let task = "";
  const tick = () => {
    const { away, head } = session;
    state.querySelector(".time").textContent = head.alive && !away ? ` · ${clock(session.now() - head.since)}` : "";
  };
  on("reset", () => {
    name("");
    state.hidden = model.hidden = true;
    fresh.hidden = !session.run;
    document.title = "LLM-in-Sandbox Studio";
  });
  on("asked", ({ text, first }) => {
    if (first) task = text;
  });
  const stand = () => {
    const { away, head } = session;
    state.dataset.tone = away ? "warn" : tone(head);
    state.toggleAttribute("data-live", head.alive && !away);
    const said = away ? "Reconnecting" : words(head);
    if (state.querySelector(".words").textContent !== said) state.querySelector(".words").textContent = said;
    tick();
  };
  on("away", () => session.head && stand());
  on("head", () => {
    const { head } = session;
    state.hidden = model.hidden = !session.begun;
    model.textContent = [head.model, session.mode === "plain" ? "plain" : "", NETWORKS[session.network] ?? ""].filter(Boolean).join(" · ");
    const called = head.title || firstLine(task, 200);
    name(session.begun ? called : "");
    document.title = session.begun ? `${head.alive ? "● " : ""}${called || "Run"}` : document.title;
    stand();
  });
  on("tick", tick);
}

/** The run's title, which a person can write over; returns what shows another. */
function mountTitle(place) {
  let shown = "";
  const button = h("button", { type: "button", title: "Rename this run", dir: "auto" });
  button.addEventListener("click", () => rename(place, shown, async (text) => {
    try {
      await retitle(session.run, text);
    } catch (error) {
      emit("notice", { text: error.message });
    }
  }));
  on("renamed", ({ run, title, own }) => {
    if (run !== session.run || !session.head) return;
    session.head.title = own ? title : "";
    emit("head");
  });
  return (text) => {
    if (text === shown) return;
    shown = button.textContent = text;
    button.title = `${text}\nClick to rename`;
    if (!place.querySelector("input")) place.replaceChildren(...(text ? [button] : []));
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
  drawer.append(h("button", { type: "button", class: "space", onclick: () => (show(false), emit("usage")) }, "Space and limits"));
  button.addEventListener("click", () => show(!drawer.classList.contains("open")));
  close.addEventListener("click", () => show(false));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !drawer.classList.contains("open")) return;
    event.stopImmediatePropagation();
    show(false);
    button.focus();
  }, true);
}
