// Marks for characters that a reader does not see, or takes for others; as agent/util/text.py makes them.

// Characters without a shape, and those that change the order of others.
const UNSEEN =
  "\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\u{e0000}-\\u{e0fff}";
const SPACES = "\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000";
const CONTROLS = "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\ud800-\\udfff";
// Characters that look like ASCII's wherever they stand.
const LOOKALIKES = "\\u01c3\\u037e\\u0589\\u05c3\\u2024\\u2044\\u2215\\u29f8\\ua789\\uff01-\\uff5e\\u{1d400}-\\u{1d7ff}";
// Letters of Cyrillic and Greek that look like Latin ones.
const LATIN_LOOKING = "аеікорсухһјѕԁԛԝѵАВЕІЈКМНОРСТУХЅαινορυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ";

const ALWAYS = new RegExp(`[${UNSEEN}${SPACES}${CONTROLS}${LOOKALIKES}]`, "gu");
const LOOKS_LATIN = new RegExp(`[${LATIN_LOOKING}]`, "gu");
const OTHER_SCRIPT = new RegExp(`(?=[\\u0370-\\u03ff\\u0400-\\u052f])[^${LATIN_LOOKING}]`, "u");
const LATIN = /[A-Za-z]/;
const MIXED_WORD = new RegExp(`[A-Za-z${LATIN_LOOKING}]+`, "gu");
const NOT_ASCII = /[^\t\n\x20-\x7e]/;

const markOf = (character) => `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** The positions of hidden characters in a text, with the mark of each, in their order. */
function* hiddenCharacters(text) {
  let start = 0;
  for (const line of text.split("\n")) {
    const found = new Map();
    for (const { 0: character, index } of [...line.matchAll(ALWAYS), ...latinLooking(line)]) found.set(index, character);
    for (const [index, character] of [...found].sort(([a], [b]) => a - b)) yield { at: start + index, character };
    start += line.length + 1;
  }
}

function* latinLooking(line) {
  if (LATIN.test(line) && !OTHER_SCRIPT.test(line)) return yield* line.matchAll(LOOKS_LATIN);
  for (const { 0: word, index } of line.matchAll(MIXED_WORD)) {
    if (!LATIN.test(word)) continue;
    for (const match of word.matchAll(LOOKS_LATIN)) yield { 0: match[0], index: index + match.index };
  }
  return undefined;
}

/** Pieces of [text, kind] with the mark of each hidden character as a piece of the kind "hidden-character". */
export function* markHidden(pieces) {
  const shown = [...pieces];
  const text = shown.map(([piece]) => piece).join("");
  const hidden = NOT_ASCII.test(text) ? hiddenCharacters(text) : [][Symbol.iterator]();
  let next = hidden.next().value;
  let start = 0;
  for (const [piece, kind] of shown) {
    let from = 0;
    while (next && next.at < start + piece.length) {
      if (next.at > start + from) yield [piece.slice(from, next.at - start), kind];
      yield [markOf(next.character), "hidden-character"];
      from = next.at - start + next.character.length;
      next = hidden.next().value;
    }
    if (from < piece.length) yield [piece.slice(from), kind];
    start += piece.length;
  }
}

/** A text with the marks of its hidden characters. */
export const withHiddenMarked = (text) => [...markHidden([[text, ""]])].map(([piece]) => piece).join("");
