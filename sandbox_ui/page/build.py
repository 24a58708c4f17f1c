"""Page layout: components and their event wiring, without logic."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, get_args

import gradio as gr
from gradio.components import Component

from agent import prompts
from agent.models.base import Effort, Verbosity
from agent.models.builtin.install import (
    BUILTIN_DESCRIPTION,
    BUILTIN_ID,
    BUILTIN_MISSING_MESSAGE,
    BUILTIN_NAME,
    find_files,
)
from agent.models.parameters import MAX_SEED
from agent.sandbox.network.policy import PACKAGE_HOSTS
from agent.settings import Settings
from sandbox_ui.page.components import (
    attachments,
    endpoint_test_result,
    endpoints,
    js_call,
    notice,
    page_header,
    timeline,
    workspace,
)
from sandbox_ui.page.handlers import ButtonHandlers
from sandbox_ui.page.modules import STATIC

# Gradio holds some 60 KB per visit and per call; the page stores nothing in it.
_MAX_SESSIONS = 50
_INLINED = ("core/loading/reload_guard.js", "core/idle.js")
_UNSET = "endpoint default"
_SHOW_HOSTS = "(network) => ({ __type__: 'update', visible: network === 'listed' })"
_SHOW_PDFS = "(mode) => ({ __type__: 'update', visible: mode === 'plain' })"
_SANS = ["ui-sans-serif", "system-ui", "Inter", "Segoe UI", "DejaVu Sans", "sans-serif"]
_MONO = ["ui-monospace", "SF Mono", "JetBrains Mono", "DejaVu Sans Mono", "monospace"]


def head(*, single_owner: bool, builtin: bool) -> str:
    """Return the HTML head, except modules and style sheets."""
    lines = [
        *(f"<script>{(STATIC / name).read_text()}</script>" for name in _INLINED),
        *(['<meta name="studio-single-owner">'] if single_owner else []),
        *([_builtin_meta_tag()] if builtin else []),
        '<link rel="icon" href="ui/icon.svg" type="image/svg+xml">',
    ]
    return "\n".join(lines)


def _builtin_meta_tag() -> str:
    installed = find_files() is not None
    text = escape(BUILTIN_DESCRIPTION if installed else BUILTIN_MISSING_MESSAGE)
    return f'<meta name="studio-builtin" content="{text}"{" data-installed" if installed else ""}>'


def theme() -> gr.themes.Base:
    """Return Gradio's plainest theme with system fonts; colours are in the CSS."""
    return gr.themes.Base(font=_SANS, font_mono=_MONO)


def build(
    handlers: ButtonHandlers, register: Sequence[Callable[[], None]], settings: Settings
) -> gr.Blocks:
    """Build the page's components, wire the event handlers, register the API functions."""
    page = gr.Blocks(title="LLM-in-Sandbox Studio", analytics_enabled=False)
    page.state_session_capacity = _MAX_SESSIONS
    with page:
        page_header(elem_id="header")
        with gr.Row(elem_id="studio"):
            with gr.Column(elem_id="conversation"):
                current_run = timeline(elem_id="timeline")
                with gr.Column(elem_id="composer"):
                    error_notice = notice(elem_id="notice")
                    task = gr.Textbox(
                        label="Task", show_label=False, container=False, lines=2, max_lines=8,
                        elem_id="task",
                        placeholder="What should the model do? Drop files anywhere",
                    )  # fmt: skip
                    with gr.Row(elem_id="actions"):
                        attached = attachments(elem_id="attachments")
                        gr.Button("Compare", elem_id="compare")
                        stop = gr.Button("Stop", elem_id="stop")
                        run = gr.Button("Run", elem_id="run", variant="primary")
            workspace(elem_id="workspace")
        with gr.Column(elem_id="settings"):
            fields, test, test_result, fill = _settings_drawer(settings)
            reset = gr.Button("Reset settings", elem_id="reset-settings")
            api_button = gr.Button("API", elem_id="api-page")

        handlers.labels = {name: str(field.label) for name, field in fields.items()}

        def entered(values: dict[Component, Any]) -> dict[str, Any]:
            return {name: values[component] for name, component in fields.items()}

        def send(values: dict[Component, Any], request: gr.Request) -> tuple[Any, ...]:
            message = values[task], values[current_run], values[attached]
            return handlers.send(*message, entered(values), request)

        async def test_endpoint(values: dict[Component, Any], request: gr.Request) -> Any:
            return await handlers.test_endpoint(entered(values), request)

        sent = run.click(
            send,
            {task, current_run, attached, *fields.values()},
            [current_run, error_notice, task],
            queue=False, show_progress="hidden", api_name="page_run", api_visibility="private",
        )  # fmt: skip
        sent.then(None, None, attached, js="() => null")  # a message may have a key of an endpoint
        stop.click(
            handlers.stop, current_run, None,
            queue=False, show_progress="hidden", api_name="page_stop", api_visibility="private",
        )  # fmt: skip
        test.click(None, None, test_result, js="() => ({ loading: true })")
        endpoint = [fields[name] for name in ("base_url", "api_key", "model", "api")]
        fill.click(None, None, endpoint, js=js_call("filledEndpoint", None))
        test.click(
            test_endpoint, {*fields.values()}, [fields["model"], test_result],
            queue=False, show_progress="hidden", api_visibility="private",
        )  # fmt: skip
        _store_options(page, fields, reset)
        # Opens Gradio's API page. Its own button is in the footer, which the page hides.
        api_button.click(None, js="() => { document.querySelector('footer .show-api').click(); }")
        for each in register:
            each()
    return page


def _store_options(page: gr.Blocks, fields: Mapping[str, Component], reset: gr.Button) -> None:
    """Store the user's options in the browser, except the API key."""
    by_name = {name: field for name, field in fields.items() if name != "api_key"}
    stored: list[Any] = list(by_name.values())
    descriptions = [
        {"name": name, "label": field.label, **_constraints(field)}
        for name, field in by_name.items()
    ]
    page.load(None, stored, stored, js=js_call("restoreSettings", descriptions))
    gr.on(
        [field.change for field in stored], None, stored, js=js_call("saveSettings", descriptions)
    )
    reset.click(None, None, [*stored, fields["api_key"]], js=js_call("resetSettings", descriptions))


def _constraints(field: Component) -> dict[str, Any]:
    """Return the constraints on a field's values, if any."""
    if isinstance(field, gr.Radio) or (
        isinstance(field, gr.Dropdown) and not field.allow_custom_value
    ):
        return {"choices": field.choices}
    if isinstance(field, gr.Number):
        step = "any" if field.precision is None else 1
        return {"minimum": field.minimum, "maximum": field.maximum, "step": step}
    return {}


def _settings_drawer(
    settings: Settings,
) -> tuple[Mapping[str, Component], gr.Button, gr.HTML, gr.Button]:
    """Build the settings drawer; its fields have the names of ``RunSpec``'s, and the key."""
    with gr.Column():
        fields, test, test_result = _endpoint_fields(settings)
        fill = gr.Button("Fill", elem_id="fill-endpoint")  # pressed by static/settings/endpoints.js
    with gr.Accordion("Run", open=True):
        fields |= _run_fields(settings)
    with gr.Accordion("Advanced", open=False, elem_id="advanced"):
        fields |= _parameter_fields(settings)
    return fields, test, test_result, fill


def _parameter_fields(settings: Settings) -> dict[str, Component]:
    """Build the fields of the request parameters."""
    api = gr.Dropdown(
        [("Automatic", "auto"), ("Chat Completions", "chat"), ("Responses", "responses"),
         ("Messages", "messages")],
        value=settings.api, label="API", filterable=False,
        info="Automatic: by address and model, or what the endpoint asks for",
    )  # fmt: skip
    effort = _choice("Reasoning effort", get_args(Effort))
    thinking = gr.Radio(
        [("Endpoint default", ""), ("On", "on"), ("Off", "off")], value="", label="Thinking"
    )
    verbosity = _choice("Verbosity", get_args(Verbosity))
    seed = gr.Number(
        None, label="Seed", precision=0, minimum=0, maximum=MAX_SEED, placeholder=_UNSET
    )
    temperature = _number("Temperature", 2)
    top_p = _number("Top p", 1)
    max_tokens = gr.Number(
        None, label="Maximum tokens of an answer", precision=0, minimum=1, placeholder=_UNSET
    )
    extra_body = gr.Textbox(
        label="Additional fields (JSON)", lines=2, placeholder='{"top_k": 20}',
        info="Sent with each request",
    )  # fmt: skip
    calls = gr.Radio(
        [("Native", "native"), ("Read from the text", "text")], value="native", label="Tool calls"
    )
    send_reasoning = gr.Checkbox(True, label="Send earlier reasoning to the model")
    images = gr.Radio(
        [("Automatic", "auto"), ("On", "on"), ("Off", "off")], value=settings.images,
        label="Pictures", info="Automatic: the model sees pictures if it is known to take them",
    )  # fmt: skip
    return {
        "api": api, "effort": effort, "thinking": thinking, "verbosity": verbosity, "seed": seed,
        "temperature": temperature, "top_p": top_p, "max_tokens": max_tokens,
        "extra_body": extra_body, "calls": calls, "send_reasoning": send_reasoning,
        "images": images,
    }  # fmt: skip


def _choice(label: str, values: Sequence[str]) -> gr.Dropdown:
    return gr.Dropdown(
        [("Endpoint default", ""), *((each.capitalize(), each) for each in values)],
        value="", label=label, filterable=False,
    )  # fmt: skip


def _endpoint_fields(
    settings: Settings,
) -> tuple[dict[str, Component], gr.Button, gr.HTML]:
    """Build the endpoint fields, the Test button and its result."""
    builtin = [(BUILTIN_NAME, BUILTIN_ID)] if settings.builtin and find_files() else []
    endpoints(elem_id="endpoints")
    empty = "Empty for the built-in model. " if builtin else ""
    base_url = gr.Textbox(
        settings.base_url, label="Endpoint", placeholder="https://…/v1", elem_id="endpoint",
        info=f"{empty}A curl command, an .env file or a Python snippet can be pasted here, too",
    )  # fmt: skip
    api_key = gr.Textbox(
        label="API key", type="password",
        info="Kept in memory only, for this page and this endpoint",
        html_attributes=gr.InputHTMLAttributes(autocomplete="off"), elem_id="key",
    )  # fmt: skip
    test = gr.Button("Test", elem_id="test")
    # Below the Test button: the list of models opens downwards and covers what follows.
    model = gr.Dropdown(
        [*([settings.model] if settings.model else []), *builtin], value=settings.model or None,
        label="Model", allow_custom_value=True, interactive=True,
        info="Press Test to list the endpoint's models, or type a name", elem_id="model",
    )  # fmt: skip
    test_result = endpoint_test_result(elem_id="test-result")
    return {"base_url": base_url, "api_key": api_key, "model": model}, test, test_result


def _run_fields(settings: Settings) -> dict[str, Component]:
    """Build the fields for mode, prompt, limits, network and approval."""
    mode = gr.Radio(
        [("With sandbox", "sandbox"), ("Without (documents in prompt)", "plain")],
        value="sandbox", label="Mode",
    )  # fmt: skip
    pdfs = gr.Radio(
        [("Automatic", "auto"), ("Text", "text"), ("Pages", "pages"), ("Both", "both")],
        value="auto", label="PDFs", visible=False,
        info="Automatic: their text; of scans the pages, as pictures, if the model takes them",
    )  # fmt: skip
    mode.change(None, mode, pdfs, js=_SHOW_PDFS)
    prompt = gr.Dropdown(
        prompts.list_names(), value="general", label="Prompt", interactive=True, filterable=False
    )
    steps = gr.Number(
        settings.limits().steps, label="Maximum steps", precision=0, minimum=1,
        maximum=settings.max_steps,
        info=f"1 to {settings.max_steps:,}; the operator sets the limit with STUDIO_STEPS",
    )  # fmt: skip
    network = gr.Radio(
        [("Open", "open"), ("Allowed hosts", "listed"), ("None", "none")], value="open",
        label="Network", info="HTTP and HTTPS only; never the server, its networks or other runs",
    )  # fmt: skip
    hosts = gr.Textbox(
        " ".join(PACKAGE_HOSTS), label="Allowed hosts", lines=2, elem_id="hosts", visible=False,
        info=".example.org includes all subdomains",
    )  # fmt: skip
    network.change(None, network, hosts, js=_SHOW_HOSTS)
    approve = gr.Radio(
        [("No calls", "off"), ("Risky ones", "risky"), ("Every call", "every")], value="off",
        label="Ask me before the model executes",
        info="Risky: reaches the network, deletes files, installs packages, or asks for more than "
        "two minutes. Can be changed while a run works",
    )  # fmt: skip
    summarise = gr.Checkbox(
        False, label="Summarise older steps near the context limit", elem_id="summarise",
        info="The model writes the summary and goes on with it in their place. The steps stay "
        "in the run. Otherwise only older outputs are removed",
    )  # fmt: skip
    return {
        "mode": mode, "pdfs": pdfs, "prompt": prompt, "max_steps": steps, "network": network,
        "hosts": hosts, "approve": approve, "summarise": summarise,
    }  # fmt: skip


def _number(label: str, maximum: float) -> gr.Number:
    return gr.Number(None, label=label, minimum=0, maximum=maximum, step=0.05, placeholder=_UNSET)
