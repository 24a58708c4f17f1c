// Removes hard line breaks from paragraphs that were wrapped at a fixed width.

const NARROWEST = 50; // characters: shorter lines are broken on purpose
const NEARLY = 0.85; // models break lines without counting
const BLOCK = /^(\s|[-*+•>|#]|\d+[.)]\s|\$\$|\\\[)|\S( {2,}|\t)|\\$/; // a list, table, heading, formula, columns, or a break that Markdown keeps
const MID_SENTENCE = /[^.:;!?\s]\n\p{Ll}/u;

/** Join the lines of each paragraph that was broken at a width; lists, code and verses stay. */
export function joinWrappedLines(text) {
  if (/```|~~~/.test(text)) return text;
  return text.replaceAll(/[^\n]+(\n[^\n]+)+/g, (paragraph) => (isWrapped(paragraph) ? paragraph.replaceAll("\n", " ") : paragraph));
}

/** Whether each line ends about where the next word would have exceeded the longest line. */
function isWrapped(paragraph) {
  const lines = paragraph.split("\n");
  const width = Math.max(...lines.map(({ length }) => length));
  if (width < NARROWEST || !MID_SENTENCE.test(paragraph) || lines.some((line) => BLOCK.test(line))) return false;
  return lines.every((line, index) => index === lines.length - 1 || line.length + 1 + lines[index + 1].split(" ", 1)[0].length > width * NEARLY);
}
