// Document statistics: pages, words and the tokens of pasting it into a prompt.

import { formatCount, fileKind, plural } from "../format.js";
import { runApiUrl } from "../event_stream.js";
import { fetchJson } from "../loading/fetch.js";

const cache = new Map();
const NO_TEXT =
  /\.(png|jpe?g|gif|webp|avif|bmp|tiff?|ico|svg|wav|mp3|ogg|opus|flac|m4a|midi?|mp4|webm|ogv|mov|zip|gz|tar|whl|7z|xz|tt[fc]|ot[fc]|woff2?|parquet|sqlite3?|db|bin|so|exe|pyc|o)$/i;

/** Whether a file with this name may contain countable text. */
export const mayHaveText = (name) => !NO_TEXT.test(name) && !["image", "audio", "video"].includes(fileKind(name));

/** Return `{pages, words, tokens, characters}` of a file; null values if it has no text. */
export function fetchDocumentInfo(path, version = "") {
  const address = runApiUrl(`document-info/${path}`);
  const key = `${address} ${version}`;
  if (!version || !cache.has(key))
    cache.set(
      key,
      fetchJson(address).catch((error) => (cache.delete(key), Promise.reject(error))),
    );
  return cache.get(key);
}

/** Whether the server found no text in a PDF. */
export const isScan = ({ reason }) => reason?.includes("it may be a scan") ?? false;

/** Return the statistics as text; empty if there are none. */
export function formatDocumentInfo({ pages, words, tokens, assumed_encoding: assumed }) {
  if (tokens === null || tokens === undefined) return "";
  const encoding = assumed ? `read as ${assumed}, which is assumed` : "";
  const parts = [pages ? plural(pages, "page") : "", words ? plural(words, "word") : ""];
  const cost = tokens < 1000 ? `≈ ${plural(tokens, "token")} if pasted` : `≈ ${formatCount(tokens)} tokens if pasted`;
  return [...parts, cost, encoding].filter(Boolean).join(" · ");
}
