// The current account (user or guest) and its API tokens.

import { copy, h, styled } from "../core/dom.js";
import { ask, api, emit, on, session } from "../core/session.js";

/** Whether this is a single-user instance, without accounts. */
export const alone = document.querySelector('meta[name="studio-alone"]') !== null;

/** Show the current account in the header (`masthead`) and the settings (`drawer`). */
export async function mountPeople(masthead, drawer) {
  on("owned", () => document.documentElement.toggleAttribute("data-shown", !session.owned));
  if (alone) return;
  await styled("header/header.css");
  const me = await ask(api("me"));
  document.documentElement.toggleAttribute("data-guest", me.guest);
  if (me.guest) masthead.append(...(me.accounts ? [entrance()] : []));
  else drawer.append(new Access(me).element);
}

const entrance = () => h("a", { class: "sign-in", href: `login?back=${encodeURIComponent(location.search.slice(1))}` }, "Sign in");

/** The account section of the settings. */
class Access {
  constructor(me) {
    this.list = h("ul", { class: "tokens" });
    this.label = h("input", { "aria-label": "Token name", placeholder: "for example, laptop", maxlength: "80" });
    this.fresh = h("div", { class: "fresh", role: "status" });
    const form = h("form", { onsubmit: (event) => this.make(event) }, this.label, h("button", { type: "submit" }, "Create token"));
    this.element = h("section", { class: "access", "aria-labelledby": "access-title" },
      h("h3", { id: "access-title" }, "Account"), ...who(me),
      h("p", { class: "about" }, "Programs send a token instead of signing in: ", h("code", {}, "Authorization: Bearer studio_…"), ". A token has all of your permissions."),
      form, this.fresh, this.list);
    this.show();
  }

  async show() {
    const { tokens } = await ask(api("tokens"));
    this.list.replaceChildren(...tokens.map((token) => h("li", {},
      h("b", {}, token.label), h("small", {}, `created ${new Date(1000 * token.made).toLocaleDateString()}`),
      h("button", { type: "button", "aria-label": `Revoke ${token.label}`, onclick: () => this.revoke(token) }, "Revoke"))));
  }

  async make(event) {
    event.preventDefault();
    try {
      const { text } = await ask(api("tokens"), { method: "POST", body: JSON.stringify({ label: this.label.value }) });
      const button = h("button", { type: "button", onclick: () => copy(text, button) }, "Copy");
      this.fresh.replaceChildren(h("p", {}, "Copy the token now. It will not be shown again."), h("code", { class: "token" }, text), button);
      this.label.value = "";
      await this.show();
    } catch (error) {
      this.fresh.replaceChildren(error.message);
    }
  }

  async revoke({ id }) {
    await ask(api(`tokens/${id}`), { method: "DELETE" }).catch((error) => emit("notice", { text: error.message }));
    this.fresh.replaceChildren();
    await this.show();
  }
}

function who({ name, operator, accounts }) {
  if (!accounts) return [h("p", {}, "Your runs belong to this browser. Nobody else can see them unless you share one.")];
  const out = h("form", { method: "post", action: "logout" }, h("button", { type: "submit" }, "Sign out"));
  return [h("div", { class: "who" }, h("span", {}, "Signed in as ", h("b", {}, name), operator ? " (operator: sees all users' runs)" : ""), out)];
}
