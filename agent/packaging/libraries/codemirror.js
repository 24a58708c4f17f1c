// Text editor: colours, search and replace, folding and undo in files of megabytes. Each language is a lazy chunk.
export { defaultKeymap, history, historyKeymap, indentWithTab, selectAll } from "@codemirror/commands";
export {
  LanguageDescription,
  bracketMatching,
  codeFolding,
  foldGutter,
  foldKeymap,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
export { languages } from "@codemirror/language-data";
export { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
export { Compartment, EditorState, Text } from "@codemirror/state";
export { EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
export { tagHighlighter, tags } from "@lezer/highlight";
