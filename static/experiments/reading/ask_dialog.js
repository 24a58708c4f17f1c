// The dialog that asks the connected model about the runs that are shown: a question, what an answer is, an estimate.

import { h, loadStyles } from "../../core/dom.js";
import { formatNumber, plural } from "../../core/format.js";
import { fetchJson } from "../../core/loading/fetch.js";
import { currentSettings, settingsKey } from "../../core/preferences.js";
import { openDialog } from "../../core/widgets/dialog.js";
import { field, setStatus } from "../members/form.js";
import { isKnown } from "../words.js";

const KINDS = [
  ["yes_no", "Yes or no"],
  ["category", "One of my categories"],
  ["quote", "A quote of the run"],
];
const NO_MODEL = "Connect a model first: the settings have no endpoint.";

/** The model of the settings, as the server takes it; its key goes to its endpoint only. */
export function connectedEndpoint() {
  const { base_url: baseUrl = "", model = "" } = currentSettings();
  return { baseUrl: baseUrl.trim() || null, model, apiKey: settingsKey(baseUrl.trim()) };
}

/** Open the dialog for the runs of a filter; `url(path)` is an address of the evaluation, `onAsked()` is called once it is asked. */
export async function openAskDialog({ url, filter, count, onAsked }) {
  await loadStyles("experiments/members/members.css");
  const text = h("textarea", { rows: "3", maxlength: "2000", required: true, dir: "auto", placeholder: "Does it install a package that it does not use?" });
  const kind = h("select", {}, ...KINDS.map(([value, label]) => h("option", { value }, label)));
  const categories = h("textarea", { rows: "4", dir: "auto", placeholder: "One in each line, 2 to 20" });
  const categoryField = field("Categories", categories);
  categoryField.hidden = true;
  const status = h("p", { class: "panel-status", role: "status" });
  const button = h("button", { class: "plain", onclick: () => proceed() }, "Estimate");
  const { model } = connectedEndpoint();
  let isEstimated = false;
  const changed = () => {
    isEstimated = false;
    button.textContent = "Estimate";
    categoryField.hidden = kind.value !== "category";
    setStatus(status, "");
  };
  for (const each of [text, kind, categories]) each.addEventListener("input", changed);
  const request = () => ({
    ...connectedEndpoint(),
    text: text.value.trim(),
    kind: kind.value,
    categories:
      kind.value === "category"
        ? categories.value
            .split("\n")
            .map((line) => line.trim())
            .filter(Boolean)
        : [],
    filter,
  });
  const post = (path) => fetchJson(url(path), { method: "POST", body: JSON.stringify(request()), repeatable: false });
  const proceed = async () => {
    button.disabled = true;
    try {
      if (isEstimated) {
        await post("questions");
        dialog.close();
        return await onAsked();
      }
      setStatus(status, "Reading some transcripts…");
      const found = await post("questions/estimate");
      isEstimated = found.runs > 0;
      setStatus(status, found.runs ? estimateText(found) : "All of these runs have an answer to this question.");
      if (isEstimated) button.textContent = `Ask about ${plural(found.runs, "run")}`;
    } catch (error) {
      setStatus(status, error.message, true);
    } finally {
      button.disabled = false;
    }
    return undefined;
  };
  const dialog = openDialog(
    { name: "ask-dialog", title: "Ask a model about the runs" },
    h(
      "div",
      { class: "ask-fields" },
      h(
        "p",
        { class: "dim" },
        `${model || "The connected model"} reads the transcripts of ${plural(count, "run")}, one by one. Each answer cites a step, and the quote is checked.`,
      ),
      field("Question", text),
      field("Answer", kind),
      categoryField,
      status,
      h("div", { class: "ask-actions" }, button),
    ),
  );
  if (!currentSettings().base_url && !model) setStatus(status, NO_MODEL);
  text.focus();
}

/** What a question will take, in words. */
const estimateText = ({ promptTokens, generatedTokens, cost, basis }) =>
  `About ${formatNumber(promptTokens)} prompt tokens and ${formatNumber(generatedTokens)} generated tokens${isKnown(cost) ? `, cost ${cost.toFixed(2)}` : ""}. ${basis}`;
