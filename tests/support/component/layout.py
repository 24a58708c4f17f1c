"""The page's layout as plain HTML, from what Gradio makes of it."""

import json
import re
from collections.abc import Iterator
from html import escape
from typing import Any


def bare_page(page: str) -> str:
    """Return the page's layout, as plain HTML: Gradio's style sheet, elements and templates."""
    found = re.search(r"window\.gradio_config = (\{.*?\});\s*(?:window|</script>)", page, re.S)
    assert found
    config = json.loads(found[1])
    by_id = {each["id"]: each for each in config["components"]}
    for component, setting in _settings(config["dependencies"]):
        by_id[component]["setting"] = setting | {"value": by_id[component]["props"].get("value")}
    gradio = re.search(r"assets/index-[\w-]+\.css", page)  # what it applies to all elements
    assert gradio
    link = f'<link rel="stylesheet" href="ui/gradio/{gradio[0]}">'
    body = "\n".join(_elements(config["layout"]["children"], by_id))
    return "\n".join([link, "<!-- body -->", body, ""])


def _settings(dependencies: list[Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the component of each setting that the browser stores, and its description."""
    (stored,) = (each for each in dependencies if ".restoreSettings(" in (each["js"] or ""))
    found = re.search(r"\.restoreSettings\((.*), values\)", stored["js"])
    assert found
    return zip(stored["inputs"], json.loads(found[1]), strict=True)


def _elements(nodes: list[Any], by_id: dict[int, Any]) -> Iterator[str]:
    for node in nodes:
        component = by_id[node["id"]]
        props, kind = component["props"], component["type"]
        name = f' id="{props["elem_id"]}"' if props.get("elem_id") else ""
        label = escape(str(props.get("label") or ""))
        if kind in ("row", "column", "form", "accordion"):
            yield f'<div{name} class="{kind}">'
            yield from _elements(node.get("children", ()), by_id)
            yield "</div>"
        elif kind == "html":
            template = f"<div>{props['html_template'].strip()}</div>"
            yield f'<div{name} class="block"><div class="html-container">{template}</div></div>'
        elif kind == "button":
            yield f'<button{name} class="{props["variant"]}">{escape(props["value"])}</button>'
        elif kind in ("textbox", "number", "dropdown", "radio", "checkbox"):
            attributes = f'aria-label="{label}"'
            if "setting" in component:
                attributes += f' data-setting="{escape(json.dumps(component["setting"]))}"'
            field = _field(kind, props, attributes)
            yield f'<div{name} class="block"><label>{field}</label></div>'
        else:
            assert kind == "api", kind  # a function for programs has no element


def _field(kind: str, props: dict[str, Any], attributes: str) -> str:
    attributes += f' placeholder="{escape(props.get("placeholder") or "")}"'
    if kind == "textbox" and props["type"] == "text":
        return f"<textarea {attributes}></textarea>"
    type_ = "password" if kind == "textbox" else "checkbox" if kind == "checkbox" else "text"
    return f'<input type="{type_}" {attributes}>'
