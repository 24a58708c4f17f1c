// What two texts or lists share at both ends.

/** Return how many items two arrays or strings share at the start and, of the rest, at the end. */
export function commonEnds(a, b) {
  const limit = Math.min(a.length, b.length);
  let head = 0;
  while (head < limit && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < limit - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return { head, tail };
}
