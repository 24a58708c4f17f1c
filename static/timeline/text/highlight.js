// Syntax highlighting of commands and programs: text split into pieces with kinds.

const MAX_HIGHLIGHTED = 10_000; // characters; the rest stays plain

const SHELL_WORDS = "if then elif else fi for while until do done case esac in function return exit local export set unset source";
const PYTHON_WORDS =
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield";
const anyOf = (words) => `\\b(?:${words.split(" ").join("|")})\\b`;
const pattern = (rules) =>
  new RegExp(
    Object.entries(rules)
      .map(([kind, rule]) => `(?<${kind}>${rule})`)
      .join("|"),
    "gm",
  );

const PATTERNS = {
  shell: pattern({
    comment: "(?<=^|\\s)#[^\\n]*",
    string: `\\$?'[^']*'|"(?:\\\\[^]|[^"\\\\])*"`,
    variable: "\\$(?:\\{[^}\\n]{1,200}\\}|\\w+|[?#@*!$-])|^[ \\t]*\\w+(?==)",
    option: "(?<=\\s)--?[A-Za-z][\\w-]*",
    keyword: `(?<![-./\\w])${anyOf(SHELL_WORDS)}(?![-./=\\w])`,
    number: "(?<![-./\\w])\\d+(?:\\.\\d+)?(?![-./\\w])",
  }),
  python: pattern({
    comment: "#[^\\n]*",
    string: `(?:\\b[rRbBfFuU]{1,2})?(?:"""[^]*?"""|'''[^]*?'''|"(?:\\\\[^]|[^"\\\\\\n])*"|'(?:\\\\[^]|[^'\\\\\\n])*')`,
    keyword: anyOf(PYTHON_WORDS),
    variable: "^[ \\t]*@[\\w.]+",
    number: "(?<![\\w.])(?:0[xX][\\da-fA-F]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][-+]?\\d+)?)j?\\b",
  }),
};
const HEREDOC = /<<-?[ \t]*(["']?)(\w+)\1[^\n]*\n/;
const RUNS_PYTHON = /\bpython[\d.]*\b|\.py\b/;

/** A shell command's pieces as [text, kind]; embedded Python is highlighted as Python. */
export function* highlightCommand(text) {
  yield* limited(text, tokenizeShell);
}

/** A file's pieces, by file extension. */
export function* highlightFile(text, path = "") {
  const kind = { py: "python", sh: "shell", bash: "shell" }[path.slice(path.lastIndexOf(".") + 1)];
  yield* limited(text, (part) => (kind ? tokenize(part, kind) : [[part, ""]]));
}

function* limited(text, tokenizer) {
  yield* tokenizer(text.slice(0, MAX_HIGHLIGHTED));
  if (text.length > MAX_HIGHLIGHTED) yield [text.slice(MAX_HIGHLIGHTED), ""];
}

function* tokenizeShell(text) {
  const heredoc = HEREDOC.exec(text);
  if (!heredoc) return yield* tokenize(text, "shell");
  const begin = heredoc.index + heredoc[0].length;
  const line = text.slice(text.lastIndexOf("\n", heredoc.index) + 1, begin);
  const after = text.slice(begin).match(new RegExp(`^\\t*${heredoc[2]}$`, "m"));
  const end = after ? begin + after.index : text.length;
  yield* tokenize(text.slice(0, begin), "shell");
  if (RUNS_PYTHON.test(line)) yield* tokenize(text.slice(begin, end), "python");
  else yield [text.slice(begin, end), ""];
  if (end < text.length) yield* tokenizeShell(text.slice(end));
}

function* tokenize(text, language) {
  let position = 0;
  for (const match of text.matchAll(PATTERNS[language])) {
    if (match.index > position) yield [text.slice(position, match.index), ""];
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    yield [match[0], `syn-${kind}`];
    position = match.index + match[0].length;
  }
  if (position < text.length) yield [text.slice(position), ""];
}
