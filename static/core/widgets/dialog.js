// Modal dialogs: a title, a button that closes, and the content.

import { h, iconButton } from "../dom.js";

/**
 * Open a dialog of the classes `name`, in place of an open one of the last class; it is removed when
 * it closes. With `dismissible` a click beside it closes it.
 */
export function openDialog({ name, title, dismissible = false }, ...content) {
  const kind = name.split(" ").at(-1);
  const id = `${kind}-title`;
  /** @type {HTMLDialogElement | null} */ (document.querySelector(`dialog.${kind}[open]`))?.close();
  const dialog = h(
    "dialog",
    { class: `window ${name}`, "aria-labelledby": id },
    h(
      "div",
      { class: "header" },
      h("h2", { id, tabindex: "-1", dir: "auto" }, title),
      iconButton("close", "Close", () => dialog.close(), { class: "quiet" }),
    ),
    ...content,
  );
  dialog.addEventListener("close", () => dialog.remove());
  if (dismissible) dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  document.querySelector(".gradio-container").append(dialog);
  dialog.showModal();
  return dialog;
}
