// Light and dark theme: the system setting or the choice in this browser.

import { icon } from "./dom.js";

const KEY = "studio-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function storedTheme() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

const isDark = () => (storedTheme() ? storedTheme() === "dark" : system.matches);

/** Apply the theme; Gradio uses its own class for dark, keep both in sync. */
function applyTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  document.body.classList.toggle("dark", isDark());
}

/** Apply the chosen theme to a page without a theme button. */
export function followTheme() {
  system.addEventListener("change", () => setTimeout(applyTheme));
  addEventListener("storage", applyTheme);
  applyTheme();
}

export function mountThemeButton(button) {
  button.append(icon("theme"));
  button.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    try {
      if ((next === "dark") === system.matches) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, next);
    } catch {
      // storage is unavailable: use the system setting
    }
    applyTheme();
  });
  system.addEventListener("change", () => setTimeout(applyTheme));
  applyTheme();
  new MutationObserver(() => document.body.classList.contains("dark") !== isDark() && applyTheme()).observe(document.body, {
    attributes: true,
    attributeFilter: ["class"],
  });
}
