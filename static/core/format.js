// Formatting of numbers and names.

const integer = new Intl.NumberFormat("en");

export const formatNumber = (n) => integer.format(n);

export function formatCount(n) {
  if (n < 1000) return String(n);
  if (n < 99_950) return `${(n / 1000).toFixed(1).replace(/\.0$/, "")}k`;
  return n < 999_500 ? `${Math.round(n / 1000)}k` : `${(n / 1e6).toFixed(1)}M`;
}

export function formatBytes(n) {
  if (n < 1024) return `${n} B`;
  const units = ["KB", "MB", "GB", "TB"];
  let unit = -1;
  do n /= 1024;
  while (++unit < 3 && n >= 1000);
  return `${n < 10 ? n.toFixed(1).replace(/\.0$/, "") : Math.round(n)} ${units[unit]}`;
}

export function formatSeconds(s) {
  if (s < 0.0995) return `${Math.round(s * 1000)} ms`;
  if (s < 59.95) return `${s.toFixed(1)} s`;
  const rounded = Math.round(s);
  return rounded < 3600 ? `${Math.floor(rounded / 60)} min ${rounded % 60} s` : `${(s / 3600).toFixed(1)} h`;
}

/** A time that goes on, in whole seconds; `formatSeconds` is for one that is over. */
export const formatElapsed = (s) => (s < 60 ? `${Math.max(0, Math.floor(s))} s` : formatSeconds(Math.floor(s)));

/** A place in a recording of sound or pictures. */
export function formatClock(s) {
  const t = Math.max(0, Math.floor(s));
  const two = (n) => String(n).padStart(2, "0");
  const minutes = Math.floor(t / 60);
  if (minutes < 60) return `${minutes}:${two(t % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(t % 60)}`;
}

export function formatAge(s) {
  if (s < 10) return "just now";
  if (s < 59.5) return `${Math.round(s)} s ago`;
  if (s < 3570) return `${Math.round(s / 60)} min ago`;
  return s < 84_600 ? `${Math.round(s / 3600)} h ago` : `${plural(Math.round(s / 86_400), "day")} ago`;
}

export const plural = (n, one, many = `${one}s`) => `${formatNumber(n)} ${n === 1 ? one : many}`;

/** At most so many characters of a text. */
export const shortened = (text, limit) => (text.length > limit ? `${text.slice(0, limit - 1)}…` : text);

export const firstLine = (text, limit = 90) => shortened(text.trim().split("\n", 1)[0].trim(), limit);

/** Return a line of Markdown without the marks of headings, emphasis and code. */
export const stripMarkdown = (text) =>
  text
    .trim()
    .split("\n", 1)[0]
    .replace(/^#{1,6}\s+/, "")
    .replace(/(\*{1,3}|`+)(?=\S)(.+?)(?<=\S)\1/g, "$2");

const KINDS = {
  image: ["png", "jpg", "jpeg", "gif", "webp", "avif", "bmp", "svg"],
  audio: ["wav", "mp3", "ogg", "opus", "flac", "m4a"],
  video: ["mp4", "webm"],
  code: ["py", "js", "c", "h", "cpp", "sh", "html", "css", "json", "rs", "go", "tex", "sql"],
};

/** Return image, audio, video, code or file, by file extension. */
export function fileKind(name) {
  const end = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return Object.keys(KINDS).find((kind) => KINDS[kind].includes(end)) ?? "file";
}

/** Return permission bits as in chmod, such as 644. */
export const formatMode = (mode) => mode.toString(8).padStart(3, "0");

export const decodePath = (path) => {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
};
