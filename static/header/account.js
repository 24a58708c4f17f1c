// The current account (user or guest) and its API tokens.

import { copyText, h, loadStyles } from "../core/dom.js";
import { apiUrl, on, reported, currentRun } from "../core/event_stream.js";
import { singleUser } from "../core/instance.js";
import { fetchJson } from "../core/loading/fetch.js";

/** Show the current account in the header and the settings. */
export async function mountAccount(header, settings) {
  on("permissions", async () => {
    const { canEdit, elsewhere } = currentRun;
    if (!canEdit) await loadStyles("header/header.css");
    document.documentElement.toggleAttribute("data-shown", !currentRun.canEdit);
    document.documentElement.toggleAttribute("data-elsewhere", !canEdit && elsewhere);
  });
  if (singleUser) return;
  await loadStyles("header/header.css");
  const me = await fetchJson(apiUrl("me"));
  document.documentElement.toggleAttribute("data-guest", me.guest);
  if (me.guest) header.append(...(me.accounts ? [signInLink()] : []));
  else settings.append(new AccountSection(me).element);
}

const signInLink = () => h("a", { class: "sign-in", href: `login?back=${encodeURIComponent(location.search.slice(1))}` }, "Sign in");

/** The account section of the settings. */
class AccountSection {
  constructor(me) {
    this.list = h("ul", { class: "tokens" });
    this.label = h("input", { "aria-label": "Token name", placeholder: "for example, laptop", maxlength: "80" });
    this.created = h("div", { class: "new-token", role: "status" });
    const form = h("form", { onsubmit: (event) => this.create(event) }, this.label, h("button", { type: "submit" }, "Create token"));
    this.element = h(
      "section",
      { class: "access", "aria-labelledby": "access-title" },
      h("h3", { id: "access-title" }, "Account"),
      ...accountInfo(me),
      h(
        "p",
        { class: "about" },
        "Programs send a token instead of signing in: ",
        h("code", {}, "Authorization: Bearer studio_…"),
        ". A token has all of your permissions.",
      ),
      form,
      this.created,
      this.list,
    );
    this.load();
  }

  async load() {
    const { tokens } = await fetchJson(apiUrl("tokens"));
    this.list.replaceChildren(
      ...tokens.map((token) =>
        h(
          "li",
          {},
          h("b", {}, token.label),
          h("small", {}, `created ${new Date(1000 * token.created).toLocaleDateString()}`),
          h("button", { "aria-label": `Revoke ${token.label}`, onclick: () => this.revoke(token) }, "Revoke"),
        ),
      ),
    );
  }

  async create(event) {
    event.preventDefault();
    try {
      const { text } = await fetchJson(apiUrl("tokens"), { method: "POST", body: JSON.stringify({ label: this.label.value }) });
      const button = h("button", { onclick: () => copyText(text, button) }, "Copy");
      this.created.replaceChildren(h("p", {}, "Copy the token now. It will not be shown again."), h("code", { class: "token" }, text), button);
      this.label.value = "";
      await this.load();
    } catch (error) {
      this.created.replaceChildren(error.message);
    }
  }

  async revoke({ id }) {
    await reported(fetchJson(apiUrl(`tokens/${id}`), { method: "DELETE" }));
    this.created.replaceChildren();
    await this.load();
  }
}

function accountInfo({ name, operator, accounts }) {
  if (!accounts) return [h("p", {}, "Your runs belong to this browser. Nobody else can see them unless you share one.")];
  const signOut = h("form", { method: "post", action: "logout" }, h("button", { type: "submit" }, "Sign out"));
  return [h("div", { class: "identity" }, h("span", {}, "Signed in as ", h("b", {}, name), operator ? " (operator: sees all users' runs)" : ""), signOut)];
}
