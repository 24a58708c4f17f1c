// A name typed in place of a row's, or for something new.

import { h } from "../dom.js";
import { shownPath } from "../format.js";

/** A field for a name; resolves with what was typed, or null where it was left. */
function field(place, value, label) {
  return new Promise((resolve) => {
    const input = h("input", { type: "text", class: "naming", "aria-label": label, spellcheck: "false", autocomplete: "off", maxlength: 255 });
    input.value = value;
    let done = false;
    const end = (result) => {
      if (done) return;
      done = true;
      resolve(result);
    };
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter" && !event.isComposing) end(input.value);
      if (event.key === "Escape") end(null);
    });
    for (const name of ["click", "pointerdown", "dblclick", "contextmenu"]) input.addEventListener(name, (event) => event.stopPropagation());
    input.addEventListener("blur", () => end(document.hasFocus() ? input.value : null));
    place.replaceChildren(input);
    input.focus();
    const stem = value.lastIndexOf(".");
    input.setSelectionRange(0, stem > 0 ? stem : value.length);
  });
}

const clean = (typed, before) => {
  const name = typed?.trim();
  return name && name !== before ? name : null;
};

/** The new name of a row, typed in its place; null where it stays. */
export async function rename(row, entry) {
  const before = shownPath(entry.path.slice(entry.path.lastIndexOf("/") + 1));
  const cover = h("span", { class: "cover" });
  row.element.append(cover);
  row.element.draggable = false;
  const typed = await field(cover, before, `New name of ${entry.name}`);
  cover.remove();
  row.element.draggable = true;
  return clean(typed, before);
}

/** The name of something new in a folder, typed in a box over the tree; null where it is none. */
export async function ask(tree, { title, value, top }) {
  const place = h("span");
  const box = h("div", { class: "naming-box", role: "group", "aria-label": title, style: `top:${top}px` }, h("label", {}, title), place);
  tree.parentElement.append(box);
  const typed = await field(place, value, title);
  box.remove();
  return clean(typed, "");
}
