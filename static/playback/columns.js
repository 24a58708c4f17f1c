// The columns of a track: what each shows of its steps.

export const MAX_COLUMNS = 240;
const CAPABILITIES = ["external", "compute", "file"]; // the first one that a step used colours its cell

/** How many steps a column stands for, so that there are at most MAX_COLUMNS. */
export function stepsPerColumn(count) {
  let steps = 1;
  while (count > MAX_COLUMNS * steps) steps *= 2;
  return steps;
}

/** What a column shows of its steps ({ seconds, used, failed }): the longest one's height, the strongest use, and whether one failed. */
export function columnOf(steps) {
  return {
    height: Math.sqrt(Math.max(0, ...steps.map(({ seconds }) => seconds || 0))),
    used: CAPABILITIES.find((key) => steps.some(({ used }) => used?.[key])) ?? "",
    failed: steps.some(({ failed }) => failed),
  };
}

/** The step, from 1, at a share (0 to 1) of the track's width. */
export const stepAt = (share, count) => Math.max(1, Math.min(count, Math.floor(share * count) + 1));

/** The step to which a key of a slider moves; null if the key moves nothing. */
export function stepForKey(key, step, count) {
  const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -count, End: count };
  return Object.hasOwn(moves, key) ? Math.max(1, Math.min(count, step + moves[key])) : null;
}
