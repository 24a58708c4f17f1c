// Tools of the timeline: find, tokens, requests, expand, collapse and export.

import { copyText, iconButton, setIcon } from "../core/dom.js";
import { closeMenu, openMenu } from "../core/widgets/menu.js";
import { singleUser } from "../core/instance.js";
import { runApiUrl, whileShown } from "../core/event_stream.js";
import { fetchWithRetry } from "../core/loading/fetch.js";
import { mountInspectorKey, openRequestInView } from "../inspector/open.js";
import { replayRun, saveAsExample } from "../replay/actions.js";
import { openShareDialog } from "../core/run/share.js";

/** Fill `container`; return a function that resets the tools for another run. */
export function mountRunTools(container, { onExpand, onFind }) {
  const button = (name, label, onclick, attributes = {}) => iconButton(name, label, onclick, { class: "quiet", ...attributes });
  const expandButton = button("expand", "Expand all", () => setExpanded(!expanded));
  let expanded = false;
  const setExpanded = (value, notify = true) => {
    expanded = value;
    setIcon(expandButton, expanded ? "collapse" : "expand", expanded ? "Collapse all" : "Expand all");
    if (notify) onExpand(expanded);
  };
  const exportButton = button("export", "Export", () => openMenu(exportItems(), exportButton), { "aria-haspopup": "menu", "aria-expanded": "false" });
  const tokens = button("chart", "Where the tokens go", () => openTokens());
  const requests = button("request", "Requests and settings", openRequestInView, { title: "Requests and settings (i)", "aria-keyshortcuts": "i" });
  mountInspectorKey();
  container.append(button("find", "Find in run", onFind, { title: "Find in run (/)", "aria-keyshortcuts": "/" }), tokens, requests, expandButton, exportButton);
  return {
    reset() {
      setExpanded(false);
      closeMenu(false);
    },
  };
}

// These dialogs and their libraries are loaded on first use.
const openTokens = () => whileShown(import("../charts/token_dialog.js"), "charts/charts.css", ({ openTokenDialog }) => openTokenDialog());

const openReport = () => whileShown(import("./report_dialog.js"), "header/header.css", ({ openReportDialog }) => openReportDialog());

/** The items of the export menu. */
function exportItems() {
  const download = (text, path, note) => ({ text, note, href: runApiUrl(path) });
  return [
    { text: "Copy conversation", run: copyConversation, stays: true },
    download("Download conversation", "conversation.md", "Markdown"),
    download("Download steps", "steps.csv", "CSV"),
    { text: "Download report…", note: "HTML", run: openReport },
    download("Download trace", "export/atif", "ATIF"),
    download("Download messages", "export/messages", "OpenAI"),
    download("Download session", "export/sts", "Hugging Face"),
    download("Download spans", "export/otel", "OpenTelemetry"),
    download("Download everything", "run.zip", "zip"),
    { text: "Replay", title: "Execute the recorded commands again and compare the results", ownerOnly: true, run: replayRun },
    { text: "Save as example", title: "Play this run from the examples, without a model and with real commands", ownerOnly: true, run: saveAsExample },
    ...(singleUser ? [] : [{ text: "Share…", ownerOnly: true, run: () => openShareDialog() }]),
  ];
}

function copyConversation(button) {
  const text = fetchWithRetry(runApiUrl("conversation.md")).then((response) => {
    if (!response.ok) throw new Error("The conversation could not be loaded.");
    return response.text();
  });
  return copyText(text, button.querySelector("span"));
}
