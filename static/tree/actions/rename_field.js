// Inline fields for renaming a row or naming a new item.

import { h } from "../../core/dom.js";
import { decodePath } from "../../core/format.js";

/** A name field; resolves with the text, or null if cancelled. */
function nameField(place, value, label) {
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

const cleanName = (text, before) => {
  const name = text?.trim();
  return name && name !== before ? name : null;
};

/** Edit the name of a row in place; resolves with null if unchanged. */
export async function editName(row, entry) {
  const before = decodePath(entry.path.slice(entry.path.lastIndexOf("/") + 1));
  const cover = h("span", { class: "cover" });
  row.element.append(cover);
  row.element.draggable = false;
  const text = await nameField(cover, before, `New name for ${entry.name}`);
  cover.remove();
  row.element.draggable = true;
  return cleanName(text, before);
}

/** Ask for the name of a new item in a box over the tree; resolves with null if cancelled. */
export async function askName(tree, { title, value, top }) {
  const place = h("span");
  const box = h("div", { class: "naming-box", role: "group", "aria-label": title, style: `top:${top}px` }, h("label", {}, title), place);
  tree.parentElement.append(box);
  const text = await nameField(place, value, title);
  box.remove();
  return cleanName(text, "");
}
