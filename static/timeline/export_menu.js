// The menu with a run's exports, and with what else is made of it.

import { copyText, iconButton } from "../core/dom.js";
import { openMenu } from "../core/widgets/menu.js";
import { singleUser } from "../core/instance.js";
import { runApiUrl, whileShown } from "../core/event_stream.js";
import { fetchWithRetry } from "../core/loading/fetch.js";
import { replayRun, saveAsExample } from "../replay/actions.js";
import { openShareDialog } from "../core/run/share.js";

/** Create the button that opens the menu. */
export function createExportButton() {
  const attributes = { class: "quiet", "aria-haspopup": "menu", "aria-expanded": "false" };
  const button = iconButton("export", "Export", () => openMenu(exportItems(), button), attributes);
  return button;
}

// The dialog is loaded on first use.
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
    download("Download messages", "export/anthropic", "Anthropic"),
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
