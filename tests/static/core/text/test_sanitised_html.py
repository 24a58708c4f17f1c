"""Sanitised HTML in the page: what is kept, hostile HTML, a missing library."""

import re

import pytest
from playwright.sync_api import Request, expect

from tests.support.component.routes import LocalRoutes
from tests.support.component.stage import Stage

pytestmark = pytest.mark.component

INSERT = """async ({ insertHtml, loadSanitiser }, html) => {
    await loadSanitiser();
    let place = document.getElementById("place");
    if (!place) {
        place = Object.assign(document.createElement("div"), { id: "place" });
        document.body.prepend(place);
    }
    insertHtml(place, html);
    await new Promise((resolve) => setTimeout(resolve, 50)); // for what would run or load
    return place.innerHTML;
}"""

HOSTILE = [
    "<script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<img src='data:image/png;base64,AAAA' onerror=window.hacked=1 onload=window.hacked=1>",
    "<svg onload=window.hacked=1><script>window.hacked=1</script></svg>",
    "<svg><animate onbegin=window.hacked=1 attributeName=x dur=1s></svg>",
    "<details open ontoggle=window.hacked=1><summary>s</summary></details>",
    "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
    "<object data='javascript:window.hacked=1'></object><embed src=x><base href=//evil.example>",
    "<form action=/api/runs><input name=attributes><input name=id><button>b</button></form>",
    "<input type=image src=/api/usage onfocus=window.hacked=1 autofocus>",
    "<a href='javascript:window.hacked=1'>a</a><a href=' java\tscript:window.hacked=1'>a</a>",
    "<a href='data:text/html,<script>window.hacked=1</script>'>a</a>",
    "<math><mi href='javascript:window.hacked=1' xlink:href='javascript:window.hacked=1'>x</mi>"
    "<maction actiontype='statusline#http://evil.example' xlink:href='javascript:1'>y</maction>",
    # Mutation: the parser moves elements between namespaces when the HTML is parsed again.
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 "
    "onerror=window.hacked=1&gt;'>",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=window.hacked=1>",
    "<noscript><p title='</noscript><img src=x onerror=window.hacked=1>'></noscript>",
    "<template><img src=x onerror=window.hacked=1></template>",
    "<p style='background:url(/api/usage); position: fixed; text-align: center'>styled</p>",
    "<style>* { display: none }</style><link rel=stylesheet href=/ui/core/core.css>",
    "<p id=composer class='workspace hidden' data-anchor=x aria-hidden=true is=x-y slot=s>p</p>",
    "<img src=https://evil.example/p.png alt=far><img src=/api/usage srcset='/api/usage 2x'>",
    "<img src='data:image/svg+xml;base64,PHN2Zy8+' alt=drawing><video src=/api/usage poster=x>",
    "<table><td background=/api/usage colspan=9999999 rowspan=9999999>wide</td></table>",
    "<div>" * 5_000 + "deep",
    "<x-element onclick=window.hacked=1>own</x-element><custom:p>name</custom:p>\0<b\0>nul</b>",
]
ATTRIBUTES = (
    "data-anchor class href src alt target rel style type disabled checked aria-label colspan "
    "rowspan start loading"
)

LIBRARY = re.compile(r"/ui/.+[.]js$|^data:image/png")


def insert(stage: Stage, html: str) -> str:
    return str(stage.evaluate("core/text/sanitised_html.js", INSERT, html))


def test_hostile_html_runs_and_loads_nothing(stage: Stage) -> None:
    stage.mount()
    requests: list[Request] = []

    def record(request: Request) -> None:
        requests.append(request)

    stage.page.on("request", record)
    for html in HOSTILE:
        insert(stage, html)
        place = stage.page.locator("#place")
        place.evaluate("it => [...it.querySelectorAll('a, summary, input')].map(a => a.click())")
        assert stage.page.evaluate("window.hacked") is None, html
        assert stage.page.evaluate("location.href") == stage.url, html
        names: list[str] = place.evaluate(
            "it => [...it.querySelectorAll('*')].flatMap(each => each.getAttributeNames())"
        )
        assert set(names) <= set(ATTRIBUTES.split()), html
        elements = place.locator("script, style, svg, iframe, form, base, link, object, button")
        assert elements.count() == 0, html
    stage.page.remove_listener("request", record)
    assert [each.url for each in requests if not LIBRARY.search(each.url)] == []


KEPT = {
    "<table><td style='text-align: right; color: red'>1</td></table>":
        '<td style="text-align: right;">1</td>',
    "<span class='syn-keyword mine'>if</span>": '<span class="syn-keyword">if</span>',
    "<code class=tex>x</code>": '<code class="tex">x</code>',
    "<input type=checkbox checked>": 'checked=""',
    "<ol start=3><li>c</li></ol>": '<ol start="3">',
    '<math display="block"><mo stretchy="true" form="prefix">(</mo><mi>x</mi></math>':
        '<math display="block"><mo stretchy="true" form="prefix">(</mo><mi>x</mi></math>',
    "<a href=https://example.org/>w</a>": 'rel="noopener noreferrer nofollow"',
    "<img alt=dot src=data:image/gif;base64,R0lGODlhAQABAAAAACw=>": 'src="data:image/gif',
}  # fmt: skip


def test_readable_text_and_what_documents_need_is_kept_and_only_links_to_the_web(
    stage: Stage,
) -> None:
    stage.mount()
    text = "<p onclick=x>one <x-y>two</x-y> <b>three</b></p><center>four</center>"
    assert insert(stage, text) == "<p>one two <b>three</b></p>four"
    for html, kept in KEPT.items():
        assert kept in insert(stage, html)
    for address in ("javascript:1", "data:text/html,x", "file:///etc", "mailto:a@b.example", "/me"):
        link = insert(stage, f"<a href='{address}'>w</a>")
        assert "rel=" not in link, address
        assert "href=" not in link, address


def test_a_link_within_the_text_finds_a_name_that_the_document_also_has(stage: Stage) -> None:
    """A heading called “Links” is found, although ``document.links`` exists."""
    stage.mount()
    insert(stage, "<a href='#links'>go</a><div>" + "<br>" * 400 + "</div><h2 id=links>Links</h2>")
    stage.page.locator("#place a").click()
    expect(stage.page.locator("#place h2")).to_be_in_viewport()
    assert stage.page.evaluate("location.hash") == ""


def test_a_missing_library_is_named_with_the_way_to_install_it(stage: Stage) -> None:
    stage.expected_errors = ["dompurify"]
    stage.use_routes(LocalRoutes(stage.data))
    (stage.run.folder.workspace / "output" / "notes.md").write_text("# Title\n")
    stage.page.route("**/ui/vendor/dompurify.js*", lambda route: route.fulfill(status=404, body=""))
    stage.mount("timeline", "workspace", run=())
    stage.file("notes.md").click()
    canvas = stage.workspace.locator(".preview .canvas")
    expect(canvas).to_contain_text("The library dompurify is missing in this studio.")
    expect(canvas).to_contain_text("make vendor")
