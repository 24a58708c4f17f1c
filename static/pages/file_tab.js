// A tab that shows one file of a run, current or as of a step.

import { Preview } from "../preview/preview.js";
import { ask, attach, on, runApi } from "../core/session.js";
import { follow } from "../core/theme.js";

const asked = new URLSearchParams(location.search);
const path = asked.get("path") ?? "";
const step = asked.get("step");
const compared = asked.has("compared");
const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
const preview = new Preview(document.querySelector(".preview"));

async function look() {
  const entry = await ask(runApi(`entries/${path}`)).catch(() => null);
  if (entry || step) preview.show(path, step ? null : entry, step, compared);
  else if (preview.path) preview.gone();
  else await preview.show(path);
}

follow();
on("workspace", ({ folders }) => (!folders || folders.includes(folder)) && look());
attach(asked.get("run"));
look().then(() => (document.title = preview.file.name));
