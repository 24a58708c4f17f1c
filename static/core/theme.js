// Light and dark theme: the system setting or the choice in this browser.

import { icon } from "./dom.js";

const KEY = "studio-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

const dark = () => (stored() ? stored() === "dark" : system.matches);

/** Apply the theme; Gradio uses its own class for dark, keep both in sync. */
function apply() {
  document.documentElement.dataset.theme = dark() ? "dark" : "light";
  document.body.classList.toggle("dark", dark());
}

/** Apply the chosen theme to a page without a theme button. */
export function follow() {
  system.addEventListener("change", () => setTimeout(apply));
  addEventListener("storage", apply);
  apply();
}

export function mountTheme(button) {
  button.append(icon("theme"));
  button.addEventListener("click", () => {
    const next = dark() ? "light" : "dark";
    try {
      if ((next === "dark") === system.matches) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, next);
    } catch {
      // storage is unavailable: use the system setting
    }
    apply();
  });
  system.addEventListener("change", () => setTimeout(apply));
  apply();
  new MutationObserver(() => document.body.classList.contains("dark") !== dark() && apply())
    .observe(document.body, { attributes: true, attributeFilter: ["class"] });
}
