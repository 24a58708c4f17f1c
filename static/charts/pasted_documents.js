// What the input documents of a run would take in a prompt, document by document.

import { apiUrl } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { mayHaveText } from "../core/run/document_info.js";
import { decodePath, formatNumber, plural } from "../core/format.js";
import { h } from "../core/dom.js";

const MAX_DOCUMENTS = 100;
const AT_ONCE = 2;

/** How the tokens are counted, and the error of that: docs/workspace.md has the measurement. */
const ESTIMATE_NOTE =
  "Estimated as a quarter of the characters, not counted with the model's tokenizer. Measured with the tokenizers of DeepSeek and Mistral, prose and code take 0.9 to 1.2 times as many tokens; tables of numbers, Chinese and Japanese take 2 to 4 times as many.";

/** Count the documents of a run; return `{documents: [{path, pages, tokens, reason}], tokens, unknown}`. */
export async function countDocuments(run, inputs) {
  const paths = inputs.slice(0, MAX_DOCUMENTS);
  const documents = paths.map((path) => ({ path, pages: null, tokens: null, reason: "" }));
  let next = 0;
  const work = async () => {
    while (next < paths.length) {
      const document = documents[next++];
      if (!mayHaveText(document.path)) document.reason = "It has no text.";
      else Object.assign(document, await fetchJson(apiUrl(`runs/${run}/document-info/input/${document.path}`)).catch((error) => ({ reason: error.message })));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const counted = documents.filter(({ tokens }) => tokens !== null);
  return { documents, tokens: counted.reduce((sum, { tokens }) => sum + tokens, 0), unknown: documents.length - counted.length + inputs.length - paths.length };
}

/** The documents as a foldable list. */
export function documentList({ documents, tokens, unknown }) {
  const rows = documents.map(({ path, pages, tokens: count, reason }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row", dir: "auto" }, decodePath(path)),
      h("td", {}, pages ? plural(pages, "page") : ""),
      h("td", { class: count === null ? "dim" : null, title: reason || null }, count === null ? reason || "not counted" : `≈ ${formatNumber(count)}`),
    ),
  );
  const rest = unknown ? `, ${plural(unknown, "file")} not counted` : "";
  return h(
    "details",
    { class: "pasted-documents" },
    h("summary", {}, h("i", { class: "key pasted" }), `Documents pasted into the prompt instead: ≈ ${plural(tokens, "token")}${rest}`),
    h("p", { class: "note" }, ESTIMATE_NOTE),
    h(
      "div",
      { class: "token-table" },
      h(
        "table",
        { class: "num" },
        h("thead", {}, h("tr", {}, ...["Document", "Pages", "Tokens"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, ...rows),
      ),
    ),
  );
}
