// Shared links to a run or a comparison: created on request, revocable at any time.

import { copyText, h } from "../dom.js";
import { plural } from "../format.js";
import { runApiUrl } from "../event_stream.js";
import { fetchJson } from "../loading/fetch.js";
import { openDialog } from "../widgets/dialog.js";

const INSECURE = location.protocol === "http:" && !/^(localhost|127\.|\[::1\])/.test(location.host);

const OF_RUN = {
  url: runApiUrl,
  title: "Share this run",
  text: "Anyone with the link can view this run and its files, including what is added later, but cannot change anything.",
};

/** Open the dialog for the current run, or for what `url(path)` leads to; `hash` is appended to its links. */
export async function openShareDialog({ url = OF_RUN.url, title = OF_RUN.title, text = OF_RUN.text, hash = "" } = {}) {
  const status = h("p", { role: "status" });
  const field = h("input", { readonly: true, "aria-label": "Link", hidden: true, onfocus: () => field.select() });
  const copyButton = h("button", { hidden: true, onclick: () => copyText(field.value, copyButton) }, "Copy");
  const createButton = h("button", { class: "create", onclick: () => createLink() }, "Create link");
  const revokeButton = h("button", { class: "danger", hidden: true, onclick: () => revokeLinks() }, "Revoke all links");
  openDialog(
    { name: "share", title },
    h("p", {}, text),
    INSECURE ? h("p", { class: "warn" }, "This page is served over plain HTTP: others on the network can read it, including the link.") : null,
    h("div", { class: "row" }, field, copyButton),
    status,
    h("div", { class: "row" }, createButton, revokeButton),
  );

  const showCount = (count) => {
    status.textContent = count ? `${plural(count, "active link")}.` : "No active links.";
    revokeButton.hidden = !count;
  };
  const refresh = async () => showCount((await fetchJson(url("links"))).links);
  const reportErrors = (action) => action().catch((error) => (status.textContent = error.message));
  const createLink = () =>
    reportErrors(async () => {
      const { path } = await fetchJson(url("links"), { method: "POST" });
      field.value = new URL(path, document.baseURI).href + hash;
      field.hidden = copyButton.hidden = false;
      await refresh();
      field.focus();
    });
  const revokeLinks = () =>
    reportErrors(async () => {
      await fetchJson(url("links"), { method: "DELETE" });
      field.hidden = copyButton.hidden = true;
      await refresh();
      createButton.focus();
    });

  await reportErrors(refresh);
}
