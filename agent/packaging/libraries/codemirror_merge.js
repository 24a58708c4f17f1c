// Views of two versions of a text, which jsdiff compares by line and word: within a time limit.
export { Change, Chunk, MergeView, goToNextChunk, goToPreviousChunk, unifiedMergeView } from "@codemirror/merge";
export { diffArrays, diffWordsWithSpace } from "diff";
