// Rarely used files: hidden files and caches.

const CACHE = /(^|\/)(__pycache__|node_modules|\.ipynb_checkpoints|\.(pytest|mypy|ruff)_cache)(\/|$)/;

/** Whether a path is a cache or inside one. */
export const isCache = (path) => CACHE.test(path);

/** Whether the tree shows a path only with hidden files; matches the server's `name_search.is_hidden`. */
export const isHidden = (path) => /(^|\/)\./.test(path) || isCache(path);
