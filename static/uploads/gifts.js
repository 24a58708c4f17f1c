// What was dropped, chosen or pasted, as files with their places and folders without files.

/** A path as the server takes it: each name percent-encoded. */
const encoded = (path) => path.split("/").filter(Boolean).map((name) => encodeURIComponent(name.toWellFormed?.() ?? name)).join("/");

const joined = (folder, path) => [folder, encoded(path)].filter(Boolean).join("/");

/** Chosen files; those of a chosen folder bring their way along. */
export function fromFiles(files, folder) {
  const items = files.map((file) => ({ file, path: joined(folder, file.webkitRelativePath || file.name) }));
  return { items, folders: [], name: nameOf(files.map((file) => file.webkitRelativePath)) };
}

/**
 * What a drop or the clipboard holds, folders with all that is in them. To be called in the
 * event itself: what it holds is gone afterwards.
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

/** The file of an entry; one that cannot be read is empty-handed and says so when it is sent. */
const fileOf = (entry) => new Promise((resolve) => entry.file(resolve, () => resolve(null)));

async function listed(reader) {
  const all = [];
  for (;;) {
    const some = await new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (!some.length) return all;
    all.push(...some);
  }
}

/** The folder that all of these ways begin with. */
function nameOf(ways) {
  const first = ways[0]?.split("/")[0];
  return first && ways.every((way) => way.startsWith(`${first}/`)) ? first : "";
}

let pasted = 0;

/** Pasted pictures come without a name of their own. */
export function named(file) {
  if (!/^image\.\w+$/.test(file.name)) return file;
  return new File([file], `pasted-${++pasted}${file.name.slice(5)}`, { type: file.type });
}
