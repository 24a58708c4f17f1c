// Font preview: its name and a sample text in the font, and all characters.

import { h } from "../../core/dom.js";
import { formatNumber, plural } from "../../core/format.js";
import { fetchWithRetry } from "../../core/loading/fetch.js";
import { quietButton } from "../parts.js";

const SIZES = [72, 48, 32, 24, 18, 14];
const MAX_CHARACTERS = 600; // characters shown; more on demand
const PANGRAMS = [
  ["The quick brown fox jumps over the lazy dog", "a"],
  ["Ξεσκεπάζω την ψυχοφθόρα βδελυγμία", "ξ"],
  ["Съешь же ещё этих мягких французских булок", "ж"],
  ["نص حكيم له سر قاطع وذو شأن عظيم", "ن"],
  ["דג סקרן שט בים מאוכזב ולפתע מצא לו חברה", "ד"],
  ["ऋषियों को सताने वाले दुष्ट राक्षसों के राजा", "ऋ"],
  ["いろはにほへと ちりぬるを", "い"],
  ["키스의 고유조건은 입술끼리 만나야 하고", "키"],
  ["天地玄黄 宇宙洪荒 日月盈昃", "天"],
];
const ROWS = ["ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789", "!?&@#%$€£§*()[]{}/|\\<>+−=«»„“”‘’.,:;…–—"];
const AXES = { wght: "Weight", wdth: "Width", slnt: "Slant", ital: "Italic", opsz: "Optical size" };
let fontCount = 0;

class FontPreview {
  constructor(file) {
    this.file = file;
    this.element = h("article", { class: "specimen" });
    this.family = `preview-font-${++fontCount}`;
    this.member = 0; // index within a collection
  }

  /** Show a new version of the file; in a collection, the same font of it. */
  async update(first) {
    const isSame = this.member && this.member < first.fonts.length;
    if (!isSame) this.member = 0;
    await this.show(isSame ? await this.file.ask({ font: this.member }) : first);
  }

  async show(first) {
    this.first = first;
    const parts = [[first.family, first.style].filter(Boolean).join(" "), first.format, plural(first.glyphs, "glyph")];
    this.file.setDetails(parts.filter(Boolean).join(" · "));
    const face = new FontFace(this.family, await this.bytes());
    try {
      await face.load();
    } catch {
      this.element.replaceChildren(h("p", { class: "refused", role: "alert" }, "The browser cannot display this font. The file may be corrupt."), this.facts());
      return;
    }
    if (this.closed) return;
    if (this.face) document.fonts.delete(this.face);
    document.fonts.add((this.face = face));
    this.render();
  }

  async bytes() {
    const isCollection = this.first.fonts.length > 0; // which browsers cannot read
    const answer = await fetchWithRetry(isCollection ? this.file.view({ font: this.member, content: 1 }) : this.file.address("files", {}));
    if (!answer.ok) throw new Error("The font could not be loaded.");
    return answer.arrayBuffer();
  }

  has(character) {
    const code = character.codePointAt(0);
    return this.first.ranges.some(([from, to]) => code >= from && code <= to);
  }

  /** The characters of a text that the font supports. */
  supported(text) {
    return [...text].filter((each) => this.has(each)).join("");
  }

  /** Its name if the font can render it, else some of its characters. */
  get title() {
    const name = this.first.family.replace(/_/g, " ");
    return name && this.supported(name.replace(/\s/g, "")) === name.replace(/\s/g, "") ? name : this.sampleCharacters(12);
  }

  render() {
    const typed = this.field?.value;
    const samples = PANGRAMS.filter(([, letter]) => this.has(letter)).map(([text]) => text);
    const sample = typed ?? samples[0] ?? this.sampleCharacters(40);
    this.lines = SIZES.map((size) => h("p", { class: "face line", style: `font-size: ${size}px`, dir: "auto" }));
    this.missing = h("small", { class: "missing", role: "status" });
    this.field = h("input", { type: "text", "aria-label": "Sample text", value: sample, oninput: () => this.updateSample(), spellcheck: "false", dir: "auto" });
    const rows = ROWS.map((row) => this.supported(row))
      .filter(Boolean)
      .map((row) => h("p", { class: "face row" }, row));
    this.element.replaceChildren(
      ...this.memberList(),
      h("h2", { class: "face" }, this.title),
      ...this.sliders(),
      h("label", { class: "sample" }, h("span", {}, "Sample"), this.field),
      this.missing,
      h("div", { class: "lines" }, ...this.lines),
      h("div", { class: "others", hidden: samples.length < 2 }, ...samples.slice(1).map((text) => h("p", { class: "face", dir: "auto" }, text))),
      h("div", { class: "rows", hidden: !rows.length }, ...rows),
      this.facts(),
      this.grid(),
    );
    this.updateSample();
  }

  /** A choice of the fonts in a collection. */
  memberList() {
    if (!this.first.fonts.length) return [];
    const options = this.first.fonts.map((name, at) => h("option", { value: at, selected: at === this.member }, name));
    const show = async () => {
      this.member = select.selectedIndex;
      await this.show(await this.file.ask({ font: this.member }));
    };
    const select = h("select", { onchange: show }, ...options);
    return [h("label", { class: "axis" }, h("span", {}, "Font"), select)];
  }

  facts() {
    const { first } = this;
    /** @type {[string, any[]][]} */
    const rows = [
      ["Style", [first.style.toLowerCase(), first.weight, first.italic && "italic", first.monospaced && "monospaced"]],
      ["Characters", [formatNumber(first.characters)]],
      ["Version", [first.version.replace(/^Version /, "")]],
      ["Designer", [first.designer]],
      ["Copyright", [first.copyright]],
      ["Licence", [first.licence]],
    ];
    const filled = rows.map(([name, parts]) => [name, [...new Set(parts.filter(Boolean))].join(", ")]).filter(([, text]) => text);
    return h("dl", {}, ...filled.flatMap(([name, text]) => [h("dt", {}, name), h("dd", text.length > 120 ? { tabindex: "0" } : {}, text)]));
  }

  /** Some of its characters, for fonts without letters. */
  sampleCharacters(count) {
    const characters = [];
    for (const [from, to] of this.first.ranges) {
      for (let code = Math.max(from, 33); code <= to && characters.length < count; code++) characters.push(String.fromCodePoint(code));
    }
    return characters.join("");
  }

  sliders() {
    const settings = new Map();
    return this.first.axes
      .filter(([, low, , high]) => high > low)
      .map(([tag, low, initial, high]) => {
        const value = h("output", { class: "num" }, formatNumber(initial));
        const slider = h("input", { type: "range", min: low, max: high, step: (high - low) / 200, value: initial, "aria-label": AXES[tag] ?? tag });
        slider.addEventListener("input", () => {
          settings.set(tag, slider.value);
          value.textContent = formatNumber(Math.round(slider.value * 10) / 10);
          this.element.style.setProperty("--varied", [...settings].map(([name, value]) => `"${name.replace(/["\\]/g, "")}" ${value}`).join(", "));
        });
        return h("label", { class: "axis" }, h("span", {}, AXES[tag] ?? tag), slider, value);
      });
  }

  updateSample() {
    const text = this.field.value;
    for (const line of this.lines) line.textContent = text;
    const missing = [...new Set(text.replace(/\s/g, ""))].filter((each) => !this.has(each));
    this.missing.textContent = missing.length ? `Not in this font, shown in a fallback font: ${missing.join(" ")}` : "";
    this.element.style.setProperty("--face", `"${this.family}"`);
  }

  grid(limit = MAX_CHARACTERS) {
    const all = h("div", { class: "grid face", role: "img", "aria-label": "Characters" });
    let left = limit;
    for (const [from, to] of this.first.ranges) {
      for (let code = from; code <= to && left > 0; code++) {
        if (code < 33 || (code >= 0x7f && code <= 0xa0) || (code >= 0xd800 && code <= 0xdfff)) continue;
        left -= 1;
        const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
        all.append(h("span", { title: name }, String.fromCodePoint(code)));
      }
    }
    const { characters } = this.first;
    const more = characters > limit ? quietButton(`Show more of ${formatNumber(characters)} characters`, () => block.replaceWith(this.grid(limit * 4))) : null;
    const block = h("div", { class: "all" }, all, more);
    return block;
  }

  close() {
    this.closed = true;
    if (this.face) document.fonts.delete(this.face);
  }
}

export async function open(file, first) {
  const specimen = new FontPreview(file);
  await specimen.show(first);
  return specimen;
}
