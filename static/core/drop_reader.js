// Converts dropped, chosen or pasted items to files with paths and empty folders.

/** A path as the server expects it: each name percent-encoded. */
const encodePath = (path) =>
  path
    .split("/")
    .filter(Boolean)
    .map((name) => encodeURIComponent(name.toWellFormed?.() ?? name))
    .join("/");

const joinPath = (folder, path) => [folder, encodePath(path)].filter(Boolean).join("/");

/** Chosen files; those of a chosen folder have relative paths. */
export function fromFiles(files, folder) {
  const items = files.map((file) => ({ file, path: joinPath(folder, file.webkitRelativePath || file.name) }));
  return { items, folders: [], name: commonFolder(files.map((file) => file.webkitRelativePath)) };
}

/** The contents of a drop or the clipboard, including folders. Call it synchronously in the event handler: the data is unavailable afterwards. */
export function fromTransfer(transfer, folder) {
  const folders = [];
  const files = [];
  for (const item of transfer.items) {
    if (item.kind !== "file") continue;
    const entry = item.webkitGetAsEntry?.();
    if (entry?.isDirectory) folders.push(entry);
    else files.push(item.getAsFile()); // WebKit's entry of a file that is not on the disk cannot be read
  }
  const result = fromFiles(files.filter(Boolean), folder);
  return readFolders(folders, result, folder);
}

async function readFolders(folders, result, folder) {
  result.name = folders.length === 1 && !result.items.length ? folders[0].name : "";
  const waiting = [...folders].reverse();
  while (waiting.length) {
    const entry = waiting.pop();
    if (entry.isFile) {
      result.items.push({ file: await fileOf(entry), path: joinPath(folder, entry.fullPath) });
      continue;
    }
    const children = await readDirectory(entry.createReader());
    if (!children.length) result.folders.push(joinPath(folder, entry.fullPath));
    waiting.push(...children.reverse());
  }
  return result;
}

/** The file of an entry; null if unreadable, reported on upload. */
const fileOf = (entry) => new Promise((resolve) => entry.file(resolve, () => resolve(null)));

async function readDirectory(reader) {
  const all = [];
  for (;;) {
    const batch = await new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (!batch.length) return all;
    all.push(...batch);
  }
}

/** The common top folder of these paths. */
function commonFolder(paths) {
  const first = paths[0]?.split("/")[0];
  return first && paths.every((path) => path.startsWith(`${first}/`)) ? first : "";
}

/** Files and images of a paste event, which is handled if there are any. If the clipboard also has text, the text is pasted. */
export function pastedFiles(event) {
  const { files, types } = event.clipboardData ?? {};
  if (event.defaultPrevented || !files?.length || types.includes("text/plain")) return [];
  event.preventDefault();
  return [...files].map(withName);
}

let pastedCount = 0;

/** Pasted images have no name. */
function withName(file) {
  if (!/^image\.\w+$/.test(file.name)) return file;
  return new File([file], `pasted-${++pastedCount}${file.name.slice(5)}`, { type: file.type });
}
