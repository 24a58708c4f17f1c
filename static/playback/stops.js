// The moments within a step at which the slider and the keys stop.

const DELTAS = new Set(["reasoning_delta", "text_delta", "call_delta", "tool_output"]);

/**
 * The indexes of the events to stop at: of successive pieces of one text only the last, and not
 * the end of the step, which is the step itself.
 */
export function stopsOf(events) {
  const stops = [];
  events.forEach((event, index) => {
    const next = events[index + 1];
    const goesOn = DELTAS.has(event.kind) && next?.kind === event.kind && next.call_id === event.call_id && next.index === event.index;
    if (next && !goesOn && event.kind !== "step_started") stops.push(index);
  });
  return stops;
}

/** The stop before or after an event's index in ascending stops; null beyond them. */
export function neighbour(stops, index, by) {
  const found = by > 0 ? stops.find((stop) => stop > index) : stops.findLast((stop) => stop < index);
  return found ?? null;
}

/** Whether the files of the step are there once these events have happened. */
export const hasFiles = (events) => events.some(({ kind }) => kind === "workspace_changed" || kind === "step_ended");
