// A tab that shows one file of a run, current or as of a step.

import { Preview } from "../preview/preview.js";
import { showRun, on, runApiUrl } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { followTheme } from "../core/theme.js";

const parameters = new URLSearchParams(location.search);
const path = parameters.get("path") ?? "";
const step = parameters.get("step");
const compared = parameters.has("compared");
const base = parameters.get("base");
const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
const preview = new Preview(document.querySelector(".preview"));

async function load() {
  const entry = await fetchJson(runApiUrl(`entries/${path}`)).catch(() => null);
  if (entry || step) preview.show(path, step ? null : entry, step, compared, base);
  else if (preview.path) preview.markDeleted();
  else await preview.show(path);
}

followTheme();
on("workspace", ({ folders }) => (!folders || folders.includes(folder)) && load());
showRun(parameters.get("run"));
load().then(() => (document.title = preview.file.name));
