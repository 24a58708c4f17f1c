// Messages that wait to be delivered, at the end of the thread.

import { emit } from "../core/event_stream.js";
import { h, hasChanged } from "../core/dom.js";
import { revokeMessage } from "./requests.js";

const WAITING = "Waits to be delivered with the next result";
const LEFT = "Not delivered: the round ended first. The model receives it with your next message";

export class MessageQueue {
  constructor(run) {
    this.run = run;
    this.element = h("div", { class: "message-queue", role: "group", "aria-label": "Messages that wait", hidden: true });
    for (const name of ["steering", "update", "moment", "permissions", "reset"]) run.on(name, () => this.update());
    run.on("events", (events) => {
      for (const event of events) if (event.kind === "message_delivered") this.#remove(event.message);
    });
  }

  /** A message that was delivered is shown in its step, before the stream says that it waits no more. */
  #remove(id) {
    const { steering } = this.run;
    if (steering) this.run.steering = { ...steering, messages: steering.messages.filter((each) => each.id !== id) };
    this.update();
  }

  update() {
    const { steering, running, moment, canEdit } = this.run;
    const messages = moment ? [] : (steering?.messages ?? []);
    if (!hasChanged(this, [messages.map(({ id }) => id), running, canEdit])) return;
    this.element.hidden = !messages.length;
    this.element.replaceChildren(...messages.map((message) => this.#message(message)));
  }

  #message({ id, text }) {
    const { running } = this.run;
    const button = (label, onclick) => h("button", { class: "owner-only", onclick }, label);
    return h(
      "div",
      { class: "task waiting" },
      h("p", { dir: "auto" }, text),
      h(
        "div",
        { class: "about" },
        h("span", {}, running ? WAITING : LEFT),
        running ? null : button("Send now", () => this.#sendNow(id, text)),
        button(running ? "Take back" : "Discard", () => revokeMessage(this.run, id)),
      ),
    );
  }

  async #sendNow(id, text) {
    if (await revokeMessage(this.run, id)) emit("send", { text });
  }
}
