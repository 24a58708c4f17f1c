// One run as the page knows it: its state, its listeners, the addresses of its API.

import { source } from "../loading/source.js";
import { SentPictures } from "./sent_pictures.js";

export const apiUrl = (path, query = {}) => source.url(path, query);

export class Run {
  #listeners = new Map();

  constructor(id = null) {
    this.offline = false; // whether the server is currently unreachable
    this.clockSkew = 0; // server clock minus browser clock, in seconds
    this.reset(id);
  }

  /** Be another run, of which nothing is known yet; null for none. */
  reset(id) {
    this.id = id;
    this.status = null;
    // state, totals, model: frequently changing values
    this.mode = "sandbox";
    this.network = undefined;
    this.limits = {};
    this.conversationTokens = 0; // of the last turn; 0 if it is not known
    this.passport = null;
    this.leftOut = [];
    this.started = false;
    this.canEdit = true;
    // whether this user may change the run
    this.elsewhere = false; // whether another process carries it out
    this.parent = null; // what it was made from: { run, step, kind }
    this.forked = null; // what a fork has copied: { step, totals }
    this.node = ""; // the cluster's node that its sandbox is on
    this.pictures = new SentPictures();
    this.imported = ""; // the format of the file that it comes from
    this.inputs = []; // the files that its task was given, below input/
    this.step = 0;
    // current or last step
    this.steering = null;
    // what the user has asked for, and what waits: { paused, approval, messages, waiting }
    this.moment = null;
    // the moment shown: { step, event, files, at }, or null for the run as it is now
  }

  get running() {
    return Boolean(this.status?.running);
  }

  /** The step whose files are shown, or null for the files as they are now. */
  get pastStep() {
    return this.moment?.files ?? null;
  }

  /** Whether this user may change the files that are shown. */
  get canEditFiles() {
    return this.canEdit && this.moment === null;
  }

  /** Show the run after `step`, or within it after the event with the index `event`, at its time `at`, with the files of the step `files`; null for now. */
  showMoment(moment) {
    this.moment = moment;
    this.emit("moment", moment);
  }

  /** The server's time, in seconds. */
  now() {
    return Date.now() / 1000 + this.clockSkew;
  }

  /** The time of what is shown: of the moment within a step, or now. */
  shownTime() {
    return this.moment?.at ?? this.now();
  }

  url(path, query = {}) {
    return apiUrl(`runs/${this.id}/${path}`, query);
  }

  on(name, listener) {
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener]);
  }

  emit(name, data) {
    for (const listener of this.#listeners.get(name) ?? []) listener(data);
  }

  /** Take in a message of the run's stream: its "state", events ("message"), or what the user may do ("read_only"; "editable" when taken over). */
  receive(kind, data) {
    if (kind === "state") this.#onState(data);
    else if (kind === "message") this.#onEvents(data);
    else if (kind === "workspace") this.emit("workspace", data);
    else if (kind === "steering") {
      this.steering = data;
      this.emit("steering");
    } else if (kind === "read_only") this.#setPermissions(false, data?.elsewhere);
    else if (kind === "editable" && !this.canEdit) this.#setPermissions(true);
  }

  #setPermissions(canEdit, elsewhere = false) {
    this.canEdit = canEdit;
    this.elsewhere = elsewhere;
    this.emit("permissions");
  }

  #onState({ now, title, state, parent = null, imported = "" }) {
    const last = state.rounds.at(-1);
    this.#updateStatus({ ...state, now, title, running: Boolean(last && last.status === null && !last.cut) });
    const { limits, mode, network } = state;
    this.started = state.rounds.length > 0;
    this.parent = parent;
    this.forked = state.forked;
    this.imported = imported;
    this.node = state.node ?? "";
    this.inputs = state.inputs ?? [];
    this.passport = state.passport ?? null;
    this.leftOut = state.left_out ?? [];
    this.limits = limits;
    this.mode = mode;
    this.network = network;
    this.conversationTokens = tokensOf(state.steps?.findLast(({ usage }) => usage)?.usage);
    this.pictures.reset(state.pictures?.all ?? [], state.rounds.length, state.steps?.at(-1)?.step);
    this.emit("state", state);
  }

  #onEvents({ status, events }) {
    this.#updateStatus(status);
    let looked = false;
    for (const event of events) {
      const { kind, limits, mode, network } = event;
      looked = this.pictures.apply(event) || looked;
      if (kind === "run_started") this.started = true;
      if (kind === "model_answered" && event.usage) this.conversationTokens = tokensOf(event.usage);
      if (kind === "summary_ended") this.conversationTokens = 0; // not known before the next answer
      if (kind === "run_started") this.inputs = event.inputs;
      if (kind === "run_started") this.limits = limits;
      if (kind === "run_started") this.mode = mode;
      if (kind === "run_started") this.network = network;
      if (kind === "run_started" || kind === "run_continued") this.#setPassport(event.passport ?? null);
      if (event.left_out?.length) this.#setLeftOut([...new Set([...this.leftOut, ...event.left_out])]);
      if (kind === "sandbox_ready") this.#setNode(event.node ?? "");
      if (kind === "run_continued" && limits?.steps) this.limits = limits;
    }
    this.emit("events", events);
    if (looked) this.emit("pictures");
  }

  #setPassport(passport) {
    if (passport === this.passport) return;
    this.passport = passport;
    this.emit("node");
  }

  #setLeftOut(names) {
    if (names.length === this.leftOut.length) return;
    this.leftOut = names;
    this.emit("node");
  }

  #setNode(node) {
    if (node === this.node) return;
    this.node = node;
    this.emit("node");
  }

  #updateStatus(status) {
    this.clockSkew = status.now - Date.now() / 1000;
    this.status = status;
  }
}

/** The tokens of the conversation after a turn. */
const tokensOf = (usage) => (usage ? usage.prompt + usage.generated : 0);
