"""axe-core, a judge of accessibility, on each page and on that of STOP ALL.

It runs where `.ci/run` could install the package.
"""

from functools import partial
from typing import Any

from hilgw.web.layout import PAGES
from tests.conftest import NODE_MODULES
from tests.e2e.running import Gateway, wait_until
from tests.web.pages.browser import Web, client_of, opened, wait_for

CONFIG = """
version: 1
adapters:
  uart0: {kind: uart, port: ./none, backend: mock, framing: slip, baudRate: 9600, channel: 1}
robots:
  judged:
    devices:
      tx: {node: Emitter, type: serial, channel: 1}
      ir: {node: Emitter, type: infra-red, channel: 2, range: 1, aperture: 1.5}
    position: [1, 0, 0]
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:1", backend: mock}
    safety: {armed: true}
  other: {devices: {rx: {node: Receiver, type: infra-red, channel: 2}}}
"""
NAME = "axe"
FILE = f"{NAME}.yaml"
# Serious and critical ones, each with the elements that it is about.
# Of what was judged already, the rules that depend on colours and places.
JUDGE = """async (again) => (await axe.run({resultTypes: ["violations"], ...again ? {runOnly:
    ["color-contrast", "scrollable-region-focusable", "target-size"]} : {}})).violations
    .filter((each) => ["serious", "critical"].includes(each.impact))
    .map((each) => [each.id,
        ...each.nodes.map((node) => node.html.slice(0, 200) + node.failureSummary)])"""

# What Tab has reached so far is kept; whether this one is new, and no place outside the page.
REACHED = """() => { const all = window.reached ??= new Set(), e = document.activeElement;
    return e != document.body && !all.has(e) && !!all.add(e); }"""
NOT_REACHED = """() => [...document.querySelectorAll("a[href],button,input,select,[tabindex='0']")]
    .filter((e) => e.checkVisibility() && !e.disabled && !e.closest("[aria-hidden=true]"))
    .filter((e) => ![...window.reached].some((each) => each.contains(e)))
    .map((e) => e.outerHTML.slice(0, 200))"""


def judge(page: Any, again: bool) -> Any:
    """What axe finds; again: in another form of a page that it has judged.

    Its script is not loaded by the page, whose policy refuses others."""
    if not page.evaluate("'axe' in window"):
        page.evaluate((NODE_MODULES / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    return page.evaluate(JUDGE, again)


def test_each_page_is_reached_by_tab_and_axe_finds_nothing_serious(
    web: Web, chromium: Any, gateway: Gateway
) -> None:
    """Axe judges it narrow and light, and wide and dark."""
    problems, nothing = {}, dict[str, Any]()
    for name in ("judged.tx", "judged.ir"):  # so that all tables have rows
        client_of(gateway).send(name, "hello")
    with opened(chromium, web.at("/")) as page:
        stop = page.locator("#stop form").get_attribute("action")
        for path, name, _ in (*PAGES, ("", "STOP ALL", None)):
            page.goto(web.at(path or stop, acts=False))
            if path:
                wait_for(page.get_by_role("heading", name=NAME).or_(page.locator(".tools")).first)
                wait_until(partial(walks, page), what=f"Tab through all of {name}")
                assert page.evaluate("window.reached.size") > len(PAGES)  # links, STOP ALL, more
            else:
                wait_for(page.get_by_role("button", name="STOP ALL"))
            for width, scheme in ((390, "light"), (1280, "dark")):
                page.set_viewport_size({"width": width, "height": 800})
                page.emulate_media(color_scheme=scheme)
                problems[name, width], nothing[name, width] = judge(page, width > 390), []
    assert problems == nothing


def walks(page: Any) -> bool:
    """Whether Tab reaches all from the top on; what came meanwhile is reached the next time."""
    page.evaluate("window.reached = new Set()")
    page.keyboard.press("Tab")
    while page.evaluate(REACHED):
        page.keyboard.press("Tab")
    return bool(page.evaluate(NOT_REACHED) == [])
