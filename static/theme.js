// Light and dark: the system's, or the one that was chosen here.

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

/** Gradio marks dark by a class of its own; both marks are kept the same. */
function apply() {
  document.documentElement.dataset.theme = dark() ? "dark" : "light";
  document.body.classList.toggle("dark", dark());
}

/** Keep a page that has no button of its own in the colours that were chosen. */
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
      // without storage the system's choice stays
    }
    apply();
  });
  system.addEventListener("change", () => setTimeout(apply));
  apply();
  new MutationObserver(() => document.body.classList.contains("dark") !== dark() && apply())
    .observe(document.body, { attributes: true, attributeFilter: ["class"] });
}
