// The head of the page: title, state with its time, the page's own buttons.

import { appear, h, icon } from "./dom.js";
import { clock } from "./format.js";
import { attach, on, session } from "./session.js";
import { tone, words } from "./states.js";
import { mountTheme } from "./theme.js";

export async function mountMasthead(element) {
  const find = (name) => element.querySelector(`.${name}`);
  const [title, state, model, fresh] = ["title", "state", "model", "new"].map(find);
  mountTheme(find("theme"));
  find("settings").prepend(icon("sliders"));
  mountDrawer(find("settings"), await appear("#settings"));
  fresh.addEventListener("click", () => attach(null));

  const tick = () => {
    const { head } = session;
    state.querySelector(".time").textContent = head.alive ? ` · ${clock(session.now() - head.since)}` : "";
  };
  on("reset", () => {
    title.textContent = "";
    state.hidden = model.hidden = true;
    fresh.hidden = !session.run;
    document.title = "LLM-in-Sandbox Studio";
  });
  on("asked", ({ text, first }) => {
    if (first) title.textContent = title.title = text;
  });
  on("head", () => {
    const { head } = session;
    state.hidden = model.hidden = !session.begun;
    state.dataset.tone = tone(head);
    state.toggleAttribute("data-live", head.alive);
    const said = words(head);
    if (state.querySelector(".words").textContent !== said) state.querySelector(".words").textContent = said;
    model.textContent = [head.model, session.mode === "plain" ? "plain" : "", session.network === false ? "no network" : ""].filter(Boolean).join(" · ");
    document.title = session.begun ? `${head.alive ? "● " : ""}${title.textContent || "Run"}` : document.title;
    tick();
  });
  on("tick", tick);
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
  button.addEventListener("click", () => show(!drawer.classList.contains("open")));
  close.addEventListener("click", () => show(false));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !drawer.classList.contains("open")) return;
    event.stopImmediatePropagation();
    show(false);
    button.focus();
  }, true);
}
