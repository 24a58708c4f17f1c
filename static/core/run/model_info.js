// What is known of the settings' model: its context, and what a page of a PDF takes in it.

import { apiUrl, currentRun } from "../event_stream.js";
import { fetchJson } from "../loading/fetch.js";
import { currentSettings } from "../preferences.js";

const FRESH_MS = 30_000;
const MAX_PAGES = { plain: 16, sandbox: 8 }; // as in agent/models/base.py and agent/runs/outputs/given_pictures.py

/** @typedef {{ contextTokens: number | null, pageTokens: number | null }} ModelInfo tokens; null if not known */
/** @type {ModelInfo} */
const UNKNOWN = { contextTokens: null, pageTokens: null };
let known = { key: "", at: 0, info: Promise.resolve(UNKNOWN) };

/** What is known of the settings' model. */
export function modelInfo() {
  const { base_url: entered, model } = currentSettings();
  if (entered?.includes("@")) return Promise.resolve(UNKNOWN); // it may have a password
  const baseUrl = entered?.split("?")[0]; // a query may have a secret, and passports are kept without it
  const query = new URLSearchParams({ ...(baseUrl ? { baseUrl } : {}), ...(model ? { model } : {}) });
  const key = query.toString();
  if (known.key !== key || Date.now() - known.at > FRESH_MS) known = { key, at: Date.now(), info: request(query) };
  return known.info;
}

async function request(query) {
  try {
    const { passport, pageTokens = null } = await fetchJson(apiUrl(`models/passport?${query}`));
    return { contextTokens: passport?.contextTokens ?? null, pageTokens };
  } catch {
    return UNKNOWN; // the run says so if the text is too long
  }
}

const modeOfMessage = () => (currentRun.started ? currentRun.mode : currentSettings().mode);

/** How the next message has PDFs, as the settings say: whether their `text`, and whether their `pages`. */
export function pdfsOfMessage(isScan = false) {
  const { pdfs = "auto" } = currentSettings();
  if (modeOfMessage() !== "plain") return { text: false, pages: false };
  return { text: pdfs !== "pages", pages: pdfs === "pages" || pdfs === "both" || (pdfs === "auto" && isScan) };
}

/** The tokens of a PDF's pages as pictures; 0 if they are not known. */
export const tokensOfPages = (pages, { pageTokens }) => Math.min(pages ?? 0, MAX_PAGES[modeOfMessage()] ?? 0) * (pageTokens ?? 0);
