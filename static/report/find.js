// Search in the run of a report, in the same places as the server's: agent/history/search.py.

const MAX_MATCHES = 1000;
const [BEFORE, AFTER] = [40, 80]; // characters around a match

/** The first match in each message, step and answer; `eventsOf(step)` returns a step's events. */
export function findMatches({ rounds, steps, pictures }, eventsOf, words) {
  const matches = [];
  const search = (place, texts) => {
    for (const text of texts) {
      const at = text.toLowerCase().indexOf(words.toLowerCase());
      if (at < 0) continue;
      const line = text.slice(Math.max(0, at - BEFORE), at + words.length + AFTER).replace(/\s+/g, " ");
      return void (matches.length < MAX_MATCHES && matches.push({ ...place, line }));
    }
  };
  for (const [at, { text, answer }] of rounds.entries()) {
    const round = at + 1;
    const shown = (pictures?.all ?? []).filter((each) => each.where === "message" && each.round === round);
    search({ part: "asked", round, step: 0 }, [text, ...shown.map(({ picture }) => picture.source)]);
    for (const { step } of steps.filter((each) => each.round === round)) search({ part: "step", round, step }, textsOf(eventsOf(step) ?? []));
    search({ part: "answer", round, step: 0 }, [answer]);
  }
  return matches;
}

function* textsOf(events) {
  for (const { kind, text, reasoning, arguments: values, observation, pictures = [] } of events) {
    if (kind === "model_answered") yield* [reasoning, text];
    else if (kind === "tool_started") yield* Object.values(values).filter((each) => typeof each === "string");
    else if (kind === "tool_output" || kind === "notice" || kind === "reminder" || kind === "message_delivered") yield text;
    else if (kind === "tool_ended") yield observation;
    if (kind !== "pictures_dropped") yield* pictures.map(({ source }) => source);
  }
}
