// Converts dropped, chosen or pasted items to files with paths and empty folders.

/** A path as the server expects it: each name percent-encoded. */
const encoded = (path) => path.split("/").filter(Boolean).map((name) => encodeURIComponent(name.toWellFormed?.() ?? name)).join("/");

const joined = (folder, path) => [folder, encoded(path)].filter(Boolean).join("/");

/** Chosen files; those of a chosen folder have relative paths. */
export function fromFiles(files, folder) {
  const items = files.map((file) => ({ file, path: joined(folder, file.webkitRelativePath || file.name) }));
  return { items, folders: [], name: nameOf(files.map((file) => file.webkitRelativePath)) };
}

/**
 * The contents of a drop or the clipboard, including folders. Call it synchronously in the event
 * handler: the data is unavailable afterwards.
 */
export function fromTransfer(transfer, folder) {
  const entries = [];
  const files = [];
  for (const item of transfer.items) {
    if (item.kind !== "file") continue;
    const entry = item.webkitGetAsEntry?.();
    if (entry) entries.push(entry);
    else files.push(item.getAsFile());
  }
  const given = fromFiles(files.filter(Boolean), folder);
  return walked(entries, given, folder);
}

async function walked(entries, given, folder) {
  const waiting = [...entries].reverse();
  while (waiting.length) {
    const entry = waiting.pop();
    if (entry.isFile) {
      given.items.push({ file: await fileOf(entry), path: joined(folder, entry.fullPath) });
      continue;
    }
    const inside = await listed(entry.createReader());
    if (!inside.length) given.folders.push(joined(folder, entry.fullPath));
    waiting.push(...inside.reverse());
  }
  const dropped = entries.filter((entry) => entry.isDirectory);
  given.name = dropped.length === 1 && entries.length === 1 ? dropped[0].name : "";
  return given;
}

/** The file of an entry; null if unreadable, reported on upload. */
const fileOf = (entry) => new Promise((resolve) => entry.file(resolve, () => resolve(null)));

async function listed(reader) {
  const all = [];
  for (;;) {
    const some = await new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (!some.length) return all;
    all.push(...some);
  }
}

/** The common top folder of these paths. */
function nameOf(ways) {
  const first = ways[0]?.split("/")[0];
  return first && ways.every((way) => way.startsWith(`${first}/`)) ? first : "";
}

/**
 * Files and images of a paste event, which is handled if there are any. If the clipboard also has
 * text, the text is pasted.
 */
export function pastedFiles(event) {
  const { files, types } = event.clipboardData ?? {};
  if (event.defaultPrevented || !files?.length || types.includes("text/plain")) return [];
  event.preventDefault();
  return [...files].map(named);
}

let pasted = 0;

/** Pasted images have no name. */
function named(file) {
  if (!/^image\.\w+$/.test(file.name)) return file;
  return new File([file], `pasted-${++pasted}${file.name.slice(5)}`, { type: file.type });
}
