// The moments within a step that the keys go to.

const DELTAS = new Set(["reasoning_delta", "text_delta", "call_delta", "tool_output"]);

/** The indexes of the events to go to: of successive pieces of one text only the last, and not the end of the step, which is the step itself. */
export function momentsOf(events) {
  const moments = [];
  events.forEach((event, index) => {
    const next = events[index + 1];
    const goesOn = DELTAS.has(event.kind) && next?.kind === event.kind && next.call_id === event.call_id && next.index === event.index;
    if (next && !goesOn && event.kind !== "step_started") moments.push(index);
  });
  return moments;
}

/** The moment before or after an event's index in ascending moments; null beyond them. */
export function neighbour(moments, index, by) {
  const found = by > 0 ? moments.find((moment) => moment > index) : moments.findLast((moment) => moment < index);
  return found ?? null;
}

/** Whether the files of the step are there once these events have happened. */
export const hasFiles = (events) => events.some(({ kind }) => kind === "workspace_changed" || kind === "step_ended");
