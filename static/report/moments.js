// The moments of a report's playback, in order: where each part of a step appears and is complete.

/**
 * The moments of the items of a conversation. An item is a step or the end of a round:
 * { step, from, isEnd, parts: [{ from, to, typed }] }, times in seconds. A moment is
 * { time, item, parts, typing }: the item's index, the number of its parts that have begun, and
 * the index of the part that is being written until the next moment, or null.
 */
export function momentsOf(items) {
  const moments = [];
  items.forEach(({ from, parts }, item) => {
    moments.push({ time: from, item, parts: 0, typing: null });
    parts.forEach(({ from: begin, to, typed }, at) => {
      moments.push({ time: begin, item, parts: at + 1, typing: typed && to > begin ? at : null });
      if (typed && to > begin) moments.push({ time: to, item, parts: at + 1, typing: null });
    });
  });
  return moments;
}

/** The index of the last moment of a step: all of it has happened; the first moment without one. */
export function endOfStep(moments, items, step) {
  const at = moments.findLastIndex(({ item }) => items[item].step <= step && !items[item].isEnd);
  return Math.max(0, at);
}
