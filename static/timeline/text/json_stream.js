// Streaming parser of tool call arguments: incomplete JSON.

/** Whether the arguments are a JSON object, as required. */
export function isObject(json) {
  try {
    const value = JSON.parse(json);
    return value !== null && typeof value === "object" && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Reads the string fields of a JSON object from chunks, each character once. `onText(name, text)` receives the text appended to a field. */
export class ArgumentReader {
  constructor(onText) {
    this.onText = onText;
    this.depth = 0;
    this.inString = false;
    this.escape = "";
    this.string = "";
    this.name = null; // of the field being read; null while a name is expected
    this.isName = false;
  }

  feed(piece) {
    let added = "";
    for (const char of piece) {
      const text = this.inString ? this.insideString(char) : this.outsideString(char);
      if (text !== null) added += text;
      if (!this.inString && added) added = this.emit(added);
    }
    if (added) this.emit(added);
  }

  emit(text) {
    if (this.isName) this.string += text;
    else if (this.depth === 1 && this.name !== null) this.onText(this.name, text);
    return "";
  }

  insideString(char) {
    if (this.escape) return this.unescape(char);
    if (char === "\\") return (this.escape = char), null;
    if (char !== '"') return char;
    this.inString = false;
    return null;
  }

  unescape(char) {
    this.escape += char;
    if (this.escape[1] === "u" && this.escape.length < 6) return null;
    const sequence = this.escape;
    this.escape = "";
    try {
      return JSON.parse(`"${sequence}"`);
    } catch {
      return sequence;
    }
  }

  outsideString(char) {
    if (char === '"') {
      this.inString = true;
      this.isName = this.depth === 1 && this.name === null;
      if (this.isName) this.string = "";
    } else if (char === ":" && this.depth === 1) this.name = this.string;
    else if (char === "," && this.depth === 1) this.name = null;
    else if (char === "{" || char === "[") this.depth++;
    else if (char === "}" || char === "]") this.depth--;
    if (char === ":") this.isName = false;
    return null;
  }
}
