// Parts of every CodeMirror view, in the editor and in diffs: colours, line numbers, marks, search.

import { h, loadStyles } from "../../core/dom.js";
import { loadLibrary } from "../../core/loading/libraries.js";
import { INVISIBLE, invisibleMark } from "./rows.js";

const MAX_SHEBANG_LENGTH = 80; // characters
const LONG_LINE = /[^\n]{100000}/; // takes seconds to wrap
const FOLD_MARKS = { true: "▾", false: "▸" }; // an open section, a folded one

const PHRASES = {
  next: "Next",
  previous: "Previous",
  all: "Select all",
  "match case": "Match case",
  regexp: "Regular expression",
  "by word": "Whole words",
  replace: "Replace",
  "replace all": "Replace all",
  close: "Close search",
  Replace: "Replace with",
};

/** Load CodeMirror and its style sheet; throws an Error with a message for the user. */
export async function loadCodeMirror() {
  const [library] = await Promise.all([loadLibrary("codemirror"), loadStyles("preview/text/code_view.css")]);
  return library;
}

/** Whether all lines of a text are short enough to be wrapped. */
export const canWrap = (text) => !LONG_LINE.test(text);

/** Extensions of any view: `label` names it for screen readers, `wrap` wraps lines, `language` is a compartment for `loadLanguage`. */
export function viewExtensions(library, { label, wrap, language }) {
  const { EditorState, EditorView } = library;
  return [
    library.lineNumbers(),
    library.highlightSpecialChars({ specialChars: INVISIBLE, render: invisibleMark }),
    library.syntaxHighlighting(highlighter(library)),
    library.search({ top: true }),
    library.keymap.of(library.searchKeymap),
    EditorState.tabSize.of(4),
    EditorState.phrases.of(PHRASES),
    EditorView.contentAttributes.of({ "aria-label": label }),
    wrap ? EditorView.lineWrapping : [],
    language.of([]),
  ];
}

/** Further extensions of a view whose text can be changed. */
export function editingExtensions(library) {
  const { defaultKeymap, foldKeymap, historyKeymap, indentWithTab } = library;
  return [
    library.history(),
    library.foldGutter({ markerDOM: (open) => h("span", { class: "fold", title: open ? "Fold" : "Unfold" }, FOLD_MARKS[open]) }),
    library.codeFolding({ placeholderText: "⋯" }),
    library.bracketMatching(),
    library.highlightSelectionMatches(),
    library.indentOnInput(),
    library.keymap.of([...historyKeymap, indentWithTab, ...foldKeymap, ...defaultKeymap]),
  ];
}

/** Colour a view's text once the language of the file `name` is loaded; unknown ones stay plain. */
export async function loadLanguage({ LanguageDescription, languages }, name, compartment, ...views) {
  const { doc } = views[0].state;
  const [, ...program] = /^#!(.*)/.exec(doc.sliceString(0, MAX_SHEBANG_LENGTH))?.[0].split(/[\s/!]+/) ?? [];
  const found =
    LanguageDescription.matchFilename(languages, name) ??
    program.map((word) => LanguageDescription.matchLanguageName(languages, word.replace(/[\d.]+$/, ""), false)).find(Boolean);
  const support = await found?.load().catch(() => null); // without a connection, the text stays plain
  if (support) for (const view of views) view.dispatch({ effects: compartment.reconfigure(support) });
}

/** Maps the parts of a language to the classes of core.css and text.css. */
function highlighter({ tagHighlighter, tags: t }) {
  return tagHighlighter(
    Object.entries({
      "syn-keyword": [t.keyword, t.operatorKeyword, t.modifier, t.tagName, t.self, t.null, t.bool, t.atom],
      "syn-string": [t.string, t.character, t.regexp, t.escape, t.special(t.string), t.url, t.monospace],
      "syn-number": [t.number, t.color, t.unit],
      "syn-option": [t.function(t.variableName), t.function(t.propertyName), t.definition(t.className), t.className, t.typeName, t.macroName],
      "syn-variable": [t.propertyName, t.attributeName, t.meta, t.annotation, t.special(t.variableName), t.labelName],
      "syn-comment": [t.comment, t.quote],
      heading: [t.heading],
      strong: [t.strong],
      emphasis: [t.emphasis],
      link: [t.link],
      add: [t.inserted],
      del: [t.deleted],
      bad: [t.invalid],
    }).flatMap(([name, all]) => all.map((tag) => ({ tag, class: name }))),
  );
}
