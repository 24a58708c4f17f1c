// Asking the server for rows: a folder at a time, one request at a time for each.

import { ask, runApi } from "../session.js";

export const PAGE = 1000; // rows that the server gives at once
const ADDRESS = 12_000; // characters of paths in one address

export class Shelf {
  constructor(options) {
    this.options = options; // sort, hidden, words: what is shown now
  }

  /** Rows of a folder, with the places of the paths `at`. */
  async rows(folder, first, count, at = []) {
    const [some, ...others] = batches(at);
    const listing = await ask(this.address(folder, { from: first, count }, some));
    for (const each of others) {
      const more = await ask(this.address(folder, { from: 0, count: 0 }, each));
      Object.assign(listing.at, more.at);
    }
    return listing;
  }

  /** All rows from one to another, however many there are. */
  async between(folder, first, last) {
    const known = [];
    for (let index = first; index <= last && folder.rows.has(index); index++) known.push(folder.rows.get(index));
    if (known.length > last - first) return known;
    const entries = [];
    for (let from = first; from <= last; from += PAGE) {
      entries.push(...(await this.rows(folder, from, Math.min(PAGE, last - from + 1))).entries);
    }
    return entries;
  }

  /** The place of the next name in a folder that begins so; null where there is none. */
  async seek(folder, beginning, after) {
    return (await ask(this.address(folder, { from: 0, count: 0, seek: beginning, after }))).seek;
  }

  address(folder, more, at = []) {
    const { sort, hidden, words } = this.options;
    const query = new URLSearchParams({ folder: folder.path, sort, ...more });
    if (hidden) query.set("hidden", "1");
    if (folder.filtered) query.set("filter", words);
    for (const path of at) query.append("at", path);
    return runApi(`files?${query}`);
  }
}

function batches(paths) {
  const made = [[]];
  let size = 0;
  for (const path of paths) {
    size += path.length * 1.7; // a percent sign becomes three characters
    if (size > ADDRESS) {
      made.push([]);
      size = path.length * 1.7;
    }
    made.at(-1).push(path);
  }
  return made;
}
