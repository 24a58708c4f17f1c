// The timeline of the run that the page shows, with what its user can do: send, steer, replay, export.

import { editMessageButton } from "../fork/actions.js";
import { iconButton } from "../core/dom.js";
import { showRun, startEventStream, emit, on, currentRun } from "../core/event_stream.js";
import { mountInspectorKey, openRequestInView } from "../inspector/open.js";
import { ReplayBanner } from "../replay/banner.js";
import { createExportButton } from "./export_menu.js";
import { mountOrigin } from "../core/run/origin.js";
import { closeMenu } from "../core/widgets/menu.js";
import { RunTimeline } from "./run_timeline.js";
import { mountApproval } from "../steering/approval.js";
import { mountObservationEdits } from "../steering/observation.js";
import { MessageQueue } from "../steering/queue.js";

class Timeline extends RunTimeline {
  /** `createWelcome` returns what is shown while there is no run. */
  constructor(root, createWelcome) {
    super(root);
    this.createWelcome = createWelcome;
    mountOrigin(root.querySelector(".origin"), currentRun);
    this.badge = root.querySelector(".badge");
    this.replay = new ReplayBanner(this.badge);
    this.latest = root.querySelector(".latest");
    this.latest.addEventListener("click", () => this.goToEnd());
    mountInspectorKey();
    const title = "Requests and settings (i)";
    this.expandButton.before(iconButton("request", "Requests and settings", openRequestInView, { class: "quiet", title, "aria-keyshortcuts": "i" }));
    this.expandButton.after(createExportButton());
    on("find", (text) => this.find(text));
    this.queue = new MessageQueue(currentRun);
    mountApproval(currentRun);
    mountObservationEdits(currentRun);
    this.reset();
  }

  reset() {
    super.reset();
    this.thread.append(this.queue.element);
    this.wantedText = null;
    this.badge.hidden = this.latest.hidden = true;
    closeMenu(false);
    if (currentRun.id) return;
    this.showWelcome();
    this.thread.scrollTop = 0;
  }

  showWelcome() {
    this.follow(false); // it grows while it loads, and is read from its top
    this.welcome = this.createWelcome();
    this.thread.prepend(this.welcome);
  }

  /** Search the run for a text, now or once it is loaded. */
  find(text) {
    if (this.messages.length) this.search.open(text);
    else this.wantedText = text;
  }

  showState(state) {
    const text = this.wantedText;
    if (!state.rounds.length) {
      this.reset();
      return this.showWelcome();
    }
    super.showState(state);
    return text ? this.find(text) : undefined;
  }

  addMessage(text, inputs) {
    this.welcome?.remove();
    this.welcome = null;
    this.lastMessage = text ?? "";
    super.addMessage(text, inputs);
  }

  messageActions(text, before) {
    return editMessageButton(currentRun, text, before);
  }

  failureActions() {
    return { onRetry: () => this.retry(), onSettings: () => emit("open-settings") };
  }

  /** Continue after a failure: repeat the message if nothing came of it, else continue the conversation. */
  retry() {
    const text = this.answered ? "Continue." : this.lastMessage;
    emit("send", { text, resume: !text, play: !currentRun.status.metered });
  }

  update() {
    const { status } = currentRun;
    this.badge.hidden = status.metered || !currentRun.started || Boolean(status.replay);
    this.replay.update();
    super.update();
  }

  offerLatest() {
    this.latest.hidden = this.follow.isFollowing() || !currentRun.running || currentRun.moment !== null;
  }
}

export function mountTimeline(createWelcome, element, props, watch) {
  new Timeline(element.querySelector(".timeline"), createWelcome);
  on("reset", () => (props.value = currentRun.id));
  watch("value", () => showRun(props.value || null));
  addEventListener("mounted", () => startEventStream(new URLSearchParams(location.search).get("run")), { once: true });
}
