// The files of a report's run at any step: what the server answers about a workspace.

import { decodePath } from "../core/format.js";
import { isBelow, parentOf } from "../core/paths.js";
import { isHidden, isCache } from "../tree/hidden.js";

const TOP_FOLDERS = ["input", "output"];
const SEARCHED = ["", "output/", "input/"];
const { compare } = new Intl.Collator(undefined, { numeric: true });
const nameOf = (path) => path.slice(path.lastIndexOf("/") + 1);
const after = (step) => (step === null || step === undefined ? Infinity : Number(step));

export class RecordedFiles {
  /** `files` are { path, versions: [{ step, kind, size, content }] }, with the kind null where deleted; `contents` are { kind, type, lines } by id. */
  constructor(files, contents, began) {
    this.files = files;
    this.contents = contents;
    this.began = began; // of each step, in seconds; that of the run first
    this.byPath = new Map(files.map((each) => [each.path, each]));
  }

  /** The version of a path after a step; undefined if it was not there. */
  at(path, step) {
    const version = this.byPath.get(path)?.versions.findLast((each) => each.step <= after(step));
    return version?.kind ? version : undefined;
  }

  entry(path, step) {
    const version = this.at(path, step);
    return version ? this.row(path, version, step) : null;
  }

  row(path, { step, kind, size, target, not_kept: notKept }, asOf) {
    const about = asOf === null || asOf === undefined ? { modified: this.began[Math.min(step, this.began.length - 1)] } : {};
    return { name: decodePath(nameOf(path)), path, kind, size, step, ...about, ...(target && { target }), ...(notKept && { not_kept: notKept }) };
  }

  /** All rows after a step, with their folders, by path; those that come later are marked. */
  rows(step) {
    const rows = new Map();
    for (const { path, versions } of this.files) {
      const version = this.at(path, step);
      const later = version || step === null ? null : versions.find((each) => each.kind && each.step > after(step));
      if (!version && !(later && versions[0] === later)) continue;
      rows.set(path, { ...this.row(path, version ?? later, step), ...(version ? {} : { later: true }) });
      for (let folder = parentOf(path); folder; folder = parentOf(folder)) {
        const known = rows.get(folder) ?? { name: decodePath(nameOf(folder)), path: folder, kind: "folder", size: 0, step: 0, children: new Set() };
        known.children.add(path.slice(folder.length + 1).split("/")[0]);
        rows.set(folder, known);
      }
    }
    return rows;
  }

  /** Answer a request for a folder's rows, as `GET files`. */
  list(query) {
    const [folder, step, words] = [query.get("folder") ?? "", query.get("step"), query.get("filter")?.trim().toLowerCase()];
    const rows = this.rows(step);
    const inside = [...rows.values()].filter(({ path, name }) =>
      words ? isBelow(path, folder) && name.toLowerCase().includes(words) : parentOf(path) === folder,
    );
    const visible = inside.filter(({ path }) => query.has("hidden") || !isHidden(path.slice(folder && folder.length + 1)));
    const sorted = visible.sort(orderBy(query.get("sort") ?? "name"));
    const first = Number(query.get("from") ?? 0);
    const shown = ({ children, ...row }) => ({
      ...row,
      ...(children && { child_count: children.size }),
      ...(words && parentOf(row.path) !== folder && { location: decodePath(parentOf(row.path)) }),
    });
    const located = query.getAll("locate").map((path) => {
      const index = sorted.findIndex((each) => each.path === path);
      return [path, index < 0 ? null : { ...shown(sorted[index]), index }];
    });
    const prefix = query.get("seek")?.toLowerCase();
    const start = Number(query.get("start") ?? 0);
    const order = sorted.map((_, at) => (at + start) % sorted.length);
    return {
      folder,
      from: first,
      entries: sorted.slice(first, first + Number(query.get("count") ?? Infinity)).map(shown),
      total: sorted.length,
      hidden: inside.length - visible.length,
      located: Object.fromEntries(located),
      seek: prefix ? (order.find((at) => sorted[at].name.toLowerCase().startsWith(prefix)) ?? null) : null,
      truncated: false,
      recorded: this.files.length > 0,
      missing: Boolean(folder) && !rows.has(folder),
    };
  }

  versionsOf(path) {
    const known = this.byPath.get(path)?.versions ?? [];
    const rows = known.map(({ step, kind, size, content, by_user: byUser, not_kept: notKept = "" }, at) => ({
      step,
      kind,
      size: kind && size,
      by: byUser || !step ? "user" : "model",
      change: !kind ? "removed" : known[at - 1]?.kind ? "changed" : "added",
      not_kept: notKept,
      open: Boolean(content),
    }));
    return { path, total: rows.length, versions: rows.reverse() };
  }

  /** The files in output/ and input/ at the end. */
  results() {
    const below = (folder) => {
      const found = this.files.filter(({ path }) => isBelow(path, folder) && this.at(path)?.kind === "file" && !isHidden(path) && !isCache(path));
      const files = found.map(({ path }) => {
        const version = this.at(path);
        const { kind, lines } = this.contents[version.content] ?? { kind: "hex", lines: [] };
        return { ...this.row(path, version), name: decodePath(path.slice(folder.length + 1)), kind, lines };
      });
      return { files, more: 0, complete: true };
    };
    return { outputs: below("output"), inputs: below("input") };
  }

  /** The pictures and their versions, as `GET pictures`. */
  pictures() {
    const kindOf = (version) => this.contents[version.content]?.kind;
    const found = this.files.flatMap(({ path, versions }) => {
      const shown = versions.filter((each) => ["image", "svg"].includes(kindOf(each)));
      if (!shown.length || isHidden(path)) return [];
      const rows = shown.map(({ step, size, by_user: byUser }) => ({ step, size, by: byUser || !step ? "user" : "model" }));
      return [{ path, name: decodePath(path), kind: kindOf(shown[0]), versions: rows }];
    });
    return { files: found.sort((one, other) => one.versions[0].step - other.versions[0].step), more: 0 };
  }

  /** The paths of the files that words name. */
  links(words) {
    const names = new Map(this.files.filter(({ path }) => this.at(path)?.kind === "file").map(({ path }) => [decodePath(path), path]));
    const found = {};
    for (const word of words) {
      const bare = word.replace(/^\/workspace\//, "").replace(/^(\.\/)+/, "");
      const folder = SEARCHED.find((each) => (each === "" || !word.includes("/")) && names.has(each + bare));
      if (folder !== undefined) found[word] = names.get(folder + bare);
    }
    return found;
  }

  /** The preview of a file; `read(content)` returns what is shown of a content. */
  view(path, step, read) {
    const { content } = this.at(path, step) ?? {};
    if (!content) return { kind: "", error: "The report does not contain this file." };
    const { kind, error, ...view } = read(content);
    return error || kind === "hex" ? { kind: "", error: error ?? "A report has no preview of this kind of file." } : { kind, view };
  }
}

/** Compare rows: shared folders, other folders, files; then by name, or the newest or largest first. */
function orderBy(sort) {
  const group = ({ kind, path }) => (kind !== "folder" ? 2 : TOP_FOLDERS.includes(path) ? 0 : 1);
  const weight = { time: ({ step }) => step, size: ({ size }) => size }[sort] ?? (() => 0);
  return (one, other) =>
    group(one) - group(other) || (group(one) === 2 ? weight(other) - weight(one) : 0) || compare(one.name, other.name) || (one.path < other.path ? -1 : 1);
}
