// Shared links to a run: created on request, revocable at any time.

import { copy, h, icon } from "../core/dom.js";
import { plural } from "../core/format.js";
import { ask, runApi } from "../core/session.js";

const INSECURE = location.protocol === "http:" && !/^(localhost|127\.|\[::1\])/.test(location.host);

/** Open the dialog for the current run. */
export async function share() {
  const says = h("p", { role: "status" });
  const field = h("input", { readonly: true, "aria-label": "Link", hidden: true, onfocus: () => field.select() });
  const take = h("button", { type: "button", hidden: true, onclick: () => copy(field.value, take) }, "Copy");
  const make = h("button", { type: "button", class: "make", onclick: () => made() }, "Create link");
  const end = h("button", { type: "button", class: "danger", hidden: true, onclick: () => ended() }, "Revoke all links");
  const close = h("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => dialog.close() }, icon("close"));
  const dialog = h("dialog", { class: "share", "aria-labelledby": "share-title" },
    h("div", { class: "hd" }, h("h2", { id: "share-title" }, "Share this run"), close),
    h("p", {}, "Anyone with the link can view this run and its files, including what is added later, but cannot change anything."),
    INSECURE ? h("p", { class: "warn" }, "This page is served over plain HTTP: others on the network can read it, including the link.") : null,
    h("div", { class: "row" }, field, take), says, h("div", { class: "row" }, make, end));

  const tell = (count) => {
    says.textContent = count ? `${plural(count, "active link")}.` : "No active links.";
    end.hidden = !count;
  };
  const count = async () => tell((await ask(runApi("links"))).links);
  const safely = (deed) => deed().catch((error) => (says.textContent = error.message));
  const made = () => safely(async () => {
    const { path } = await ask(runApi("links"), { method: "POST" });
    field.value = new URL(path, document.baseURI).href;
    field.hidden = take.hidden = false;
    await count();
    field.focus();
  });
  const ended = () => safely(async () => {
    await ask(runApi("links"), { method: "DELETE" });
    field.hidden = take.hidden = true;
    await count();
    make.focus();
  });

  dialog.addEventListener("close", () => dialog.remove());
  document.querySelector(".gradio-container").append(dialog);
  dialog.showModal();
  await safely(count);
}
