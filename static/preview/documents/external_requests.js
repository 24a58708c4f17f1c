// Lists the external requests of a page, with a button to allow them.

import { h } from "../../core/dom.js";
import { plural } from "../../core/format.js";
import { oncePerFrame, quietButton } from "../parts.js";

const MAX_ADDRESSES = 60;

export class ExternalRequests {
  constructor({ onAllow, addresses }) {
    this.onAllow = onAllow;
    this.addresses = new Set();
    this.allowed = false;
    this.summary = h("summary");
    this.list = h("ul");
    this.button = quietButton("", () => this.toggle());
    this.show = oncePerFrame(() => this.render());
    this.element = h("div", { class: "external-requests", role: "status", hidden: true }, h("details", {}, this.summary, this.list), this.button);
    this.add(addresses);
  }

  /** Add addresses, which are untrusted input from the page. */
  add(addresses) {
    for (const address of addresses) {
      if (this.addresses.size < MAX_ADDRESSES && hostOf(address)) this.addresses.add(new URL(address).href);
    }
    this.show();
  }

  toggle() {
    this.allowed = !this.allowed;
    this.addresses.clear();
    this.render();
    this.onAllow(this.allowed);
  }

  render() {
    const addresses = [...this.addresses];
    const hosts = [...new Set(addresses.map(hostOf))];
    this.element.hidden = !addresses.length && !this.allowed;
    this.element.classList.toggle("allowed", this.allowed);
    this.summary.textContent = this.allowed ? allowedText(hosts, addresses) : `${plural(addresses.length, "external request")} blocked: ${hosts.join(", ")}`;
    this.list.replaceChildren(...addresses.map((address) => h("li", {}, address, addressNote(address, this.allowed))));
    this.button.textContent = this.allowed ? "Block external access" : "Allow for this view";
    this.button.title = this.allowed ? "" : "Lets the page contact HTTPS hosts and send them anything in its own folder.";
  }
}

const allowedText = (hosts, addresses) =>
  addresses.length
    ? `External access is allowed in this view; still blocked: ${hosts.join(", ")}`
    : "External access is allowed in this view; the page can read only its own folder";

/** Return the host of an external address; empty for any other address. */
function hostOf(address) {
  try {
    const { protocol, host } = new URL(address);
    return /^(https?|wss?):$/.test(protocol) ? host : "";
  } catch {
    return "";
  }
}

function addressNote(address, allowed) {
  const url = new URL(address);
  if (url.host === location.host) return h("small", {}, " is on this server; use relative paths for files next to the page");
  if (url.protocol !== "https:") return h("small", {}, " is not HTTPS, always blocked");
  return allowed ? h("small", {}, " blocked") : null;
}
