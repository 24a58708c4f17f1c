// An endpoint from pasted text: a curl command, lines of an .env file, or a Python or JavaScript snippet.

const MAX_LENGTH = 20_000;
const MAX_WORDS = 500;
const PATHS_OF_REQUESTS = /\/(?:chat\/completions|completions|responses|messages(?:\/count_tokens)?|models|embeddings)\/?$/;
/** An address without its scheme: of this machine, a network or the web, with a port or a path. */
const BARE_ADDRESS =
  /^(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:]{2,45}\]|[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})(?::\d{1,5}(?:\/|$)|\/)|^[\w-]{1,63}:\d{1,5}\//i;
const NEAR_HOST = /^(?:localhost|[\d.]+|\[.*\]|[\w-]+)(?=[:/]|$)/i; // reached without TLS
const KEY_HEADERS = new Set(["x-api-key", "api-key", "x-goog-api-key"]);
const DATA_OPTIONS = new Set(["-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json"]);
const OPTIONS_WITH_OTHER_URLS = new Set(["-x", "--proxy", "--preproxy", "-e", "--referer"]);
/** The names of variables; what is before them names the service. */
const VARIABLES = {
  baseUrl: /^(.*?)_?(?:API_?)?(?:BASE_?URL|API_?BASE|ENDPOINT|(?<=_)(?:URL|HOST))$/i,
  apiKey: /^(.*?)_?(?:API_?KEY|API_TOKEN|AUTH_TOKEN)$/i,
  model: /^(.*?)_?MODEL(?:_?NAME)?$/i,
};
const SDKS = [
  { pattern: /\b(?:Async)?OpenAI\(/, url: "https://api.openai.com/v1" },
  { pattern: /\b(?:Async)?Anthropic\(/, url: "https://api.anthropic.com/v1" },
];

/** The endpoint that a pasted text describes: `baseUrl`, `apiKey` and `model`, empty where missing; null for other texts, such as an ordinary URL. */
export function parsePastedEndpoint(pasted) {
  const text = pasted.slice(0, MAX_LENGTH).trim();
  const found = /^\$?\s*curl\b/.test(text) ? fromCurl(text) : (fromSnippet(text) ?? fromVariables(text));
  if (!found) return null;
  const { baseUrl = "", apiKey = "", model = "" } = found;
  const url = baseOf(baseUrl);
  return url || apiKey || model ? { baseUrl: url, apiKey: literal(apiKey), model: literal(model) } : null;
}

/** The URL below which an API has its paths; empty if it is not a URL of the web. */
function baseOf(written) {
  const address = BARE_ADDRESS.test(written) ? `${NEAR_HOST.test(written) ? "http" : "https"}://${written}` : written;
  if (!URL.canParse(address)) return "";
  const url = new URL(address);
  if (!/^https?:$/.test(url.protocol) || url.username || url.password) return "";
  const version = url.searchParams.get("api-version"); // Azure refuses requests without it
  const query = version ? `?${new URLSearchParams({ "api-version": version })}` : "";
  return `${url.origin}${url.pathname.replace(PATHS_OF_REQUESTS, "").replace(/\/$/, "")}${query}`;
}

/** A value as it is written; empty for a variable or a placeholder. */
const literal = (value) => (/^\$|^[<{[]|^(?:your|my|api)[-_ ]?.*key|\.\.\.|…/i.test(value) || value.length > 500 ? "" : value.trim());

function fromCurl(text) {
  const found = {};
  const words = shellWords(text).slice(1);
  for (let at = 0; at < words.length; at++) {
    const [option, joined] = words[at].startsWith("--") ? words[at].split(/=(.*)/s) : [words[at]];
    if (option === "-H" || option === "--header") Object.assign(found, fromHeader(joined ?? words[++at] ?? ""));
    else if (DATA_OPTIONS.has(option)) Object.assign(found, fromBody(joined ?? words[++at] ?? ""));
    else if (OPTIONS_WITH_OTHER_URLS.has(option)) at += joined === undefined ? 1 : 0;
    else if (!found.baseUrl && (/^https?:\/\//.test(words[at]) || BARE_ADDRESS.test(words[at]))) found.baseUrl = words[at];
  }
  return found;
}

function fromHeader(header) {
  const [, name, value] = header.match(/^([\w-]+):\s*(.*)$/s) ?? [];
  if (KEY_HEADERS.has(name?.toLowerCase())) return { apiKey: value };
  return name?.toLowerCase() === "authorization" ? { apiKey: value.replace(/^Bearer\s+/i, "") } : {};
}

function fromBody(body) {
  try {
    const { model } = JSON.parse(body);
    return typeof model === "string" ? { model } : {};
  } catch {
    return { model: body.match(/"model"\s*:\s*"([^"\\]{1,200})"/)?.[1] ?? "" }; // cut off, or with shell variables
  }
}

/** The words of a shell command; quotes and escapes are resolved, variables stay as they are. */
function shellWords(text) {
  const words = [];
  for (const [whole] of text.matchAll(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\[\s\S]|[^\s'"\\])+/g)) {
    if (words.length >= MAX_WORDS) break;
    const word = whole.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"|\\([\s\S])/g, (_, single, double, escaped) => {
      if (single !== undefined) return single;
      return double === undefined ? escaped.replace("\n", "") : double.replace(/\\(["\\$`\n])/g, (_part, each) => each.replace("\n", ""));
    });
    if (word) words.push(word);
  }
  return words;
}

function fromSnippet(written) {
  const text = written.replace(/^[ \t]*(?:#|\/\/).*$/gm, "");
  const sdk = SDKS.find(({ pattern }) => pattern.test(text));
  const value = (names) => text.match(new RegExp(`\\b(?:${names})["']?\\s*[=:]\\s*["'\`]([^"'\`\\n]{1,500})["'\`]`))?.[1] ?? "";
  const baseUrl = value("base_url|baseURL|baseUrl|api_base");
  if (!sdk && !baseUrl) return null;
  return { baseUrl: baseUrl || sdk.url, apiKey: value("api_key|apiKey"), model: value("model|model_name") };
}

/** The values of variables whose names begin alike, so that no other service's key goes to the endpoint. */
function fromVariables(text) {
  const byPrefix = new Map();
  for (const line of text.split("\n")) {
    if (!line.trim() || line.trim().startsWith("#")) continue;
    const [, name, value] = line.match(/^\s*(?:export\s+|set\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*;?\s*$/) ?? [];
    if (!name) return null;
    const written = withoutComment(value).replace(/^(["'])(.*)\1$/, "$2");
    const [field, pattern] = Object.entries(VARIABLES).find(([, each]) => each.test(name)) ?? [];
    if (!field || (field === "baseUrl" && !baseOf(written))) continue;
    const prefix = name.match(pattern)[1].toUpperCase();
    byPrefix.set(prefix, { [field]: written, ...byPrefix.get(prefix) });
  }
  const weight = ({ baseUrl, apiKey, model }) => Number(!!baseUrl) + 2 * Number(!!apiKey) + Number(!!model);
  const [best, next] = [...byPrefix.values()].sort((one, other) => weight(other) - weight(one));
  if (!best || (next?.apiKey && !best.baseUrl && weight(next) === weight(best))) return null; // whose key is it?
  return { ...byPrefix.get(""), ...best };
}

/** A value without the comment after it. */
function withoutComment(value) {
  const quote = /^["']/.exec(value)?.[0];
  const end = quote ? value.indexOf(quote, 1) + 1 : 0;
  const comment = value.slice(end).search(/\s#/);
  return comment < 0 ? value : value.slice(0, end + comment).trimEnd();
}
