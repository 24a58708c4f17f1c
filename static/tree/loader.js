// Loads tree rows from the server, one request at a time per folder.

import { fetchJson, runApiUrl } from "../core/event_stream.js";
import { parentOf } from "./model.js";

export const PAGE = 1000; // rows per response
const MAX_PATH_LENGTH = 12_000; // characters of paths in one URL

export class TreeLoader {
  constructor(options) {
    this.options = options; // sort, hidden, words: the current view
  }

  /** Rows of a folder, with the positions of the paths `at`. */
  async rows(folder, first, count, at = []) {
    const [batch, ...others] = batches(at);
    const listing = await fetchJson(this.url(folder, { from: first, count }, batch));
    for (const each of listing.gone ? [] : others) {
      const more = await fetchJson(this.url(folder, { from: 0, count: 0 }, each));
      Object.assign(listing.at, more.at);
    }
    return listing;
  }

  /** All rows of a range, in as many requests as needed. */
  async entriesBetween(folder, first, last) {
    const known = [];
    for (let index = first; index <= last && folder.rows.has(index); index++) known.push(folder.rows.get(index));
    if (known.length > last - first) return known;
    const entries = [];
    for (let from = first; from <= last; from += PAGE) {
      entries.push(...(await this.rows(folder, from, Math.min(PAGE, last - from + 1))).entries);
    }
    return entries;
  }

  /** The position of the next name in a folder with a prefix; null if none. */
  async seek(folder, beginning, after) {
    return (await fetchJson(this.url(folder, { from: 0, count: 0, seek: beginning, after }))).seek;
  }

  url(folder, more, at = []) {
    const { sort, hidden, words } = this.options;
    const query = new URLSearchParams({ folder: folder.path, sort, ...more });
    if (hidden) query.set("hidden", "1");
    if (folder.filtered) query.set("filter", words);
    for (const path of at) query.append("at", path);
    return runApiUrl(`files?${query}`);
  }
}

/** Return the paths that no longer exist in the workspace. */
export async function findMissing(paths) {
  const loader = new TreeLoader({ sort: "name", hidden: true, words: "" });
  const gone = new Set();
  for (const [folder, inside] of Map.groupBy(paths, parentOf)) {
    const listing = await loader.rows({ path: folder }, 0, 0, inside);
    for (const path of inside) if (listing.gone || listing.at?.[path] === null) gone.add(path);
  }
  return gone;
}

function batches(paths) {
  const result = [[]];
  let size = 0;
  for (const path of paths) {
    size += path.length * 1.7; // a percent sign becomes three characters
    if (size > MAX_PATH_LENGTH) {
      result.push([]);
      size = path.length * 1.7;
    }
    result.at(-1).push(path);
  }
  return result;
}
