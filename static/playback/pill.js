// In the header: which moment is shown, the way back to now, and a link to the moment.

import { h, waitForElement, copyText } from "../core/dom.js";
import { currentRun } from "../core/event_stream.js";
import { formatElapsed, formatNumber } from "../core/format.js";
import { singleUser } from "../core/instance.js";
import { openShareDialog } from "../core/run/share.js";

export class MomentPill {
  constructor(scrubber) {
    this.scrubber = scrubber;
    this.label = h("span", { class: "num" });
    this.pill = h("span", { class: "pill past", role: "status" }, this.label);
    this.live = h("button", { class: "quiet", title: "Show the run as it is now", onclick: () => scrubber.goLive() }, "Live");
    this.share = h("button", { class: "quiet share-moment hide-small", onclick: () => this.#share() }, "Share this moment");
    this.element = h("span", { class: "moment", hidden: true }, this.pill, this.live, this.share);
    waitForElement(".app-header .new").then((button) => button.before(this.element));
  }

  show(moment) {
    this.element.hidden = !moment;
    if (!moment) return;
    const { figures } = this.scrubber;
    const text = `step ${formatNumber(moment.step)} of ${formatNumber(figures.count)}`;
    this.label.replaceChildren(
      h("span", { class: "hide-small" }, moment.event === null ? "as of " : "within "),
      text,
      h("span", { class: "hide-small" }, ` · ${formatElapsed(figures.secondsUntil(moment.step))}`),
    );
  }

  /** Copy the address of the moment, or where there are other users offer a shared link to it. */
  #share() {
    const { hash, href } = this.scrubber.address();
    if (singleUser || !currentRun.canEdit) return copyText(href, this.share);
    return openShareDialog({ hash });
  }
}
