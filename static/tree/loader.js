// Loads tree rows from the server, one request at a time per folder.

import { runApiUrl } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { parentOf } from "../core/paths.js";

export const PAGE = 1000; // rows per response
const MAX_PATH_LENGTH = 12_000; // characters of paths in one URL

export class TreeLoader {
  constructor(options) {
    this.options = options; // sort, hidden, words, step: the current view
  }

  /** Rows of a folder, with the positions of the paths to locate. */
  async rows(folder, first, count, located = []) {
    const [batch, ...others] = batches(located);
    const listing = await fetchJson(this.url(folder, { from: first, count }, batch));
    for (const each of listing.missing ? [] : others) {
      const more = await fetchJson(this.url(folder, { from: 0, count: 0 }, each));
      Object.assign(listing.located, more.located);
    }
    return listing;
  }

  /** All rows of a range, in as many requests as needed. */
  async entriesBetween(folder, first, last) {
    const loaded = [];
    for (let index = first; index <= last && folder.rows.has(index); index++) loaded.push(folder.rows.get(index));
    if (loaded.length > last - first) return loaded;
    const entries = [];
    for (let from = first; from <= last; from += PAGE) {
      entries.push(...(await this.rows(folder, from, Math.min(PAGE, last - from + 1))).entries);
    }
    return entries;
  }

  /** The position of the next name in a folder with a prefix; null if none. */
  async seek(folder, prefix, start) {
    return (await fetchJson(this.url(folder, { from: 0, count: 0, seek: prefix, start }))).seek;
  }

  url(folder, range, located = []) {
    const { sort, hidden, words, step = null } = this.options;
    const query = new URLSearchParams({ folder: folder.path, sort, ...range });
    if (hidden) query.set("hidden", "1");
    if (step !== null) query.set("step", step);
    if (folder.filtered) query.set("filter", words);
    for (const path of located) query.append("locate", path);
    return runApiUrl(`files?${query}`);
  }
}

/** Return the paths that no longer exist in the workspace. */
export async function findMissing(paths) {
  const loader = new TreeLoader({ sort: "name", hidden: true, words: "" });
  const missing = new Set();
  for (const [folder, inside] of Map.groupBy(paths, parentOf)) {
    const listing = await loader.rows({ path: folder }, 0, 0, inside);
    for (const path of inside) if (listing.missing || listing.located?.[path] === null) missing.add(path);
  }
  return missing;
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
