// Paths in the workspace.

export const parentOf = (path) => path.slice(0, Math.max(0, path.lastIndexOf("/")));

export const isBelow = (path, folder) => !folder || path.startsWith(`${folder}/`);
